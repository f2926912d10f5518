"""Ranking files: TREC, JSON Lines, Parquet, Arrow and BEIR, read in blocks of queries."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from ragstone.datasets.rankings import arrow as columnar
from ragstone.datasets.rankings import beir, jsonl, trec
from ragstone.datasets.rankings.byte_arrays import Growing
from ragstone.datasets.rankings.join import Batch, TieRule, gathered, matched
from ragstone.datasets.rankings.qrels import Judgements
from ragstone.datasets.rankings.source import OnRead, Problems, check_names

__all__ = [
    "Batch",
    "Growing",
    "Judgements",
    "OnRead",
    "Problems",
    "TieRule",
    "check_names",
    "gathered",
    "matched",
    "problems_of",
    "query_texts",
    "read_judgements",
    "read_ranking",
]

_LINES = (".jsonl", ".ndjson")
_PACKED = (".gz", ".zst", ".zstd")


def read_judgements(path: Path, columns: Mapping[str, str]) -> Judgements:
    """Read qrels of any of the formats; `columns` is our field -> the name in the file.

    A folder is one of BEIR; a file with an unknown suffix is TREC's.

    Raises:
        UsageError: there is no such file or column, or an extra is not installed.
        InputError: its content is wrong; it holds every problem, up to a bound.
    """
    if path.is_dir():
        path = beir.qrels_in(path)
    problems = problems_of(path)
    match _suffix(path):
        case ".tsv":
            return beir.read_qrels(path, problems)
        case suffix if suffix in _LINES:
            return jsonl.read_qrels(path, problems, columns)
        case suffix if suffix in columnar.SUFFIXES:
            return columnar.read_qrels(path, problems, columns)
        case _:
            return trec.read_qrels(path, problems)


def problems_of(path: Path) -> Problems:
    """Return what gathers the problems of a file."""
    return Problems(path, "row" if _suffix(path) in columnar.SUFFIXES else "line")


def read_ranking(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None = None,
) -> Iterator[Batch]:
    """Read a ranking of any of the formats, some whole queries at once.

    A query whose lines are not contiguous is returned in parts; `gathered` joins them.

    Raises:
        UsageError: there is no such file or column, or an extra is not installed.
        InputError: it is damaged, or too much is wrong with it to go on.
    """
    suffix = _suffix(path)
    if suffix in _LINES:
        return jsonl.read_ranking(path, problems, columns, on_read)
    if suffix in columnar.SUFFIXES:
        return columnar.read_ranking(path, problems, columns, on_read)
    return trec.read_ranking(path, problems, on_read)


def query_texts(path: Path) -> Mapping[str, str]:
    """Return query id -> its text, where the qrels' folder is one of BEIR; else nothing.

    Raises:
        InputError: its queries cannot be read.
    """
    folder = path if path.is_dir() else path.parent.parent
    if not path.is_dir() and path.parent.name != "qrels":
        return {}
    return beir.query_texts(folder, Problems(folder / "queries.jsonl"))


def _suffix(path: Path) -> str:
    name = Path(path.name.lower())
    return name.with_suffix("").suffix if name.suffix in _PACKED else name.suffix
