"""Ranking files: TREC, JSON Lines, Parquet, Arrow and BEIR, read in blocks of queries."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ragstone.datasets.rankings import arrow as columnar
from ragstone.datasets.rankings import jsonl, qrels, trec
from ragstone.datasets.rankings.byte_arrays import GrowingArray
from ragstone.datasets.rankings.join import Batch, TieRule, gathered, matched
from ragstone.datasets.rankings.qrels import Judgments, query_texts
from ragstone.datasets.rankings.source import OnRead, Problems, check_names, text_parts

__all__ = [
    "Batch",
    "GrowingArray",
    "Judgments",
    "OnRead",
    "Problems",
    "TieRule",
    "check_names",
    "gathered",
    "matched",
    "problems_of",
    "query_texts",
    "ranking_parts",
    "read_judgments",
    "read_ranking",
]

_LINES = (".jsonl", ".ndjson")
_PACKED = (".gz", ".zst", ".zstd")


def read_judgments(path: Path, columns: Mapping[str, str]) -> Judgments:
    """Read qrels of any format; `columns` is field -> its name in the file.

    A folder is read as BEIR, and a file with an unknown suffix as TREC.
    """
    if path.is_dir():
        path = qrels.qrels_in(path)
    problems = problems_of(path)
    match _suffix(path):
        case ".tsv":
            return qrels.read_qrels(path, problems)
        case suffix if suffix in _LINES:
            return jsonl.read_qrels(path, problems, columns)
        case suffix if suffix in columnar.SUFFIXES:
            return columnar.read_qrels(path, problems, columns)
        case _:
            return trec.read_qrels(path, problems)


def problems_of(path: Path) -> Problems:
    return Problems(path, "row" if _suffix(path) in columnar.SUFFIXES else "line")


def read_ranking(
    path: Path,
    problems: Problems,
    columns: Mapping[str, str],
    on_read: OnRead | None = None,
    *,
    part: range | None = None,
) -> Iterator[Batch]:
    """Read a ranking of any format, or one of its `ranking_parts`, some whole queries at a time.

    A query whose lines are not contiguous comes in parts; `gathered` joins them.
    """
    suffix = _suffix(path)
    if suffix in _LINES:
        batches = jsonl.read_ranking(path, problems, columns, on_read, part)
    elif suffix in columnar.SUFFIXES:
        batches = columnar.read_ranking(path, problems, columns, on_read, part)
    else:
        batches = trec.read_ranking(path, problems, on_read, part)
    for batch in batches:
        problems.hold(len(batch.queries), "queries")
        yield batch


def ranking_parts(path: Path, columns: Mapping[str, str], size: int) -> Sequence[range]:
    """Cut a ranking between queries, into parts of about `size` bytes.

    Parts are bytes of a text file, or rows of a table. A compressed file has none.
    """
    suffix = _suffix(path)
    if suffix in columnar.SUFFIXES:
        return columnar.parts(path, columns, size)
    if suffix in _LINES:
        return text_parts(path, size, lambda lines: 0 if lines else None)
    return text_parts(path, size, trec.second_query)


def _suffix(path: Path) -> str:
    name = Path(path.name.lower())
    return name.with_suffix("").suffix if name.suffix in _PACKED else name.suffix
