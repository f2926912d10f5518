"""Writing summaries, rows and claims: JSON, JSON lines, CSV or Parquet, by the file extension."""

import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, TextIO

from ragstone._internal.files import write_file, write_text
from ragstone._internal.plugins import check_extra
from ragstone._internal.text import MARK, one_line, strip_controls
from ragstone.datasets.frames import Typed, frame_in, library_of
from ragstone.errors import Cause
from ragstone.reports.format import finite
from ragstone.reports.view import outcome_word
from ragstone.reports.worst import worst_documents
from ragstone.results.metric_summary import SCORED
from ragstone.results.ranking_run import REASONS, RankingRows, RankingScores
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim
from ragstone.types.row import Row
from ragstone.types.score import Score

STDOUT = Path("-")  # standard output; other files are written completely or not at all


def write_output(text: str, path: Path) -> None:
    if path == STDOUT:
        sys.stdout.write(text)
    else:
        write_text(path, text)


_INT64 = range(-(2**63), 2**63)
_SURROGATES = re.compile("[\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\n", "＝", "＋", "－", "＠")  # a CR is a newline by then

Cell = str | int | float | bool | None
CellType = type[str] | type[int] | type[float] | type[bool]

BATCH, BATCH_CHARACTERS = 1000, 8_000_000  # most lines and characters in a batch


class Column(NamedTuple):
    """A column's name, and the type of its cells; None if only the cells determine it."""

    name: str
    type: CellType | None


@dataclass(frozen=True)
class Table:
    """Columns, and batches of rows that can be read once: a sequence of cells per column."""

    columns: Sequence[Column]
    batches: Iterator[Sequence[Sequence[Cell]]]

    @property
    def lines(self) -> Iterator[Sequence[Cell]]:
        return (line for batch in self.batches for line in zip(*batch, strict=True))


def batches(lines: Iterable[Sequence[Cell]]) -> Iterator[Sequence[Sequence[Cell]]]:
    batch: list[Sequence[Cell]] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += sum(len(cell) for cell in line if isinstance(cell, str))
        if len(batch) >= BATCH or size >= BATCH_CHARACTERS:
            yield list(zip(*batch, strict=True))
            batch, size = [], 0
    if batch:
        yield list(zip(*batch, strict=True))


def _count(items: Sequence[object] | None) -> int | None:
    return None if items is None else len(items)


_SAMPLE_COLUMNS: Sequence[tuple[Column, Callable[[Row], Cell]]] = (
    (Column("id", str), lambda row: row.sample.id),
    (Column("query", str), lambda row: row.sample.query),
    (Column("response", str), lambda row: row.sample.response),
    (Column("reference", str), lambda row: row.sample.reference_cell),
    (Column("contexts", int), lambda row: _count(row.sample.contexts)),
    (Column("ranking", int), lambda row: _count(row.sample.ranking)),
    (Column("latency_ms", float), lambda row: row.latency_ms),
    (Column("judge_calls", int), lambda row: row.usage.calls),
    (Column("cost_usd", float), lambda row: row.usage.cost_usd),
)
_SCORE_COLUMNS: Mapping[str, CellType] = {
    "value": float,
    "state": str,
    "passed": bool,
    "reason": str,
    "cause": str,
    "fallback": bool,
}


_OUTCOME = ("outcome", "found")


def _outcome(run: Run, row: Row) -> dict[str, str]:
    if (known := run.verdict.outcome_of(row)) is None:
        return {}
    outcome, found = known
    return {"outcome": outcome_word(outcome, run.verdict), "found": found.value}


def samples_table(run: Run) -> Table:
    if (rows := run.columns) is not None:
        names = [Column(f"scores.{name}.value", float) for name in rows.metrics]
        blocks = (
            [block.ids, block.queries, *(_values(block, name) for name in rows.metrics)]
            for block in rows.blocks()
        )
        return Table([Column("id", str), Column("query", str), *names], blocks)
    tags, metrics = tuple(run.counts.tags), tuple(run.metrics)
    columns = [column for column, _ in _SAMPLE_COLUMNS]
    judged = [*_OUTCOME] if run.verdict.cells else []
    columns += [Column(name, str) for name in judged]
    columns += [Column(f"tags.{tag}", None) for tag in tags]
    cells = [(name, *cell) for name in metrics for cell in _score_cells(run, name)]
    columns += [Column(f"scores.{name}.{field}", type_) for name, field, type_, _ in cells]
    lines = (
        [
            *(value(row) for _, value in _SAMPLE_COLUMNS),
            *(_outcome(run, row).get(name) for name in judged),
            *(row.sample.tags.get(tag) for tag in tags),
            *(value(row.scores[name]) for name, _, _, value in cells),
        ]
        for row in run.rows
    )
    return Table(columns, batches(lines))


def _score_cells(run: Run, name: str) -> Iterator[tuple[str, CellType, Callable[[Score], Cell]]]:
    counts = run.counts.scores[name]
    for field, type_ in _SCORE_COLUMNS.items():
        yield field, type_, attrgetter(field)
    if counts.latencies:
        yield "latency_ms", float, attrgetter("latency_ms")
    if "explanation" in counts.details:
        yield "explanation", str, lambda score: score.detail.get("explanation")
    if counts.has_truths:
        yield "truths", str, lambda score: "\n".join(score.truths) or None


class ClaimLine(NamedTuple):
    """A judged claim in one line; `number` and the first quote's `context` count from 1."""

    id: str
    metric: str
    against: str
    number: int
    claim: str
    label: str
    reason: str | None
    confidence: float | None
    quotes: int
    quote: str | None
    context: int | None
    verified: bool | None
    judge: str | None


# the fields that are not texts
_CLAIM_TYPES = {"number": int, "confidence": float, "quotes": int, "context": int, "verified": bool}


def claim_lines(run: Run, names: Sequence[str]) -> Iterator[ClaimLine]:
    judged = [name for name in names if run.counts.scores[name].judged]
    for row in run.rows if judged else ():
        for name in judged:
            for number, claim in enumerate(row.scores[name].claims, start=1):
                first = claim.evidence[0] if claim.evidence else None
                yield ClaimLine(
                    id=row.sample.id,
                    metric=name,
                    against=claim.against,
                    number=number,
                    claim=claim.text,
                    label=claim.label.value,
                    reason=claim.reason,
                    confidence=claim.confidence,
                    quotes=len(claim.evidence),
                    quote=first and first.quote,
                    context=None if first is None else first.context + 1,
                    verified=None if first is None else first.verified,
                    judge=claim.judge,
                )


def claims_table(run: Run) -> Table:
    columns = [Column(name, _CLAIM_TYPES.get(name, str)) for name in ClaimLine._fields]
    return Table(columns, batches(claim_lines(run, tuple(run.metrics))))


def frame_columns(table: Table) -> dict[str, Typed]:
    columns = [_TypedColumn(column) for column in table.columns]
    lists = [*zip(*table.lines, strict=True)] or [()] * len(columns)
    made: dict[str, Typed] = {}
    for column, cells in zip(columns, lists, strict=True):
        texts = column.convert(cells)
        made[column.name] = column.type, texts if column.type is str else cells
    return made


def samples_frame(run: Run, library: str, *, details: bool) -> Any:
    """Return a row per sample: its fields, its tags, the value of each metric; or all columns."""
    found = frame_columns(samples_table(run))
    for field in ("contexts", "ranking") if run.columns is None else ():
        ids = field == "ranking"
        texts = [
            None if some is None else [_encodable((ids and one.id) or one.text) for one in some]
            for some in (getattr(row.sample, field) for row in run.rows)
        ]
        found[field] = list[str], texts
    shown = ("id", "query", "response", "reference", "contexts", "ranking")
    short = {n: n for n in shown} | {f"scores.{name}.value": name for name in run.metrics}
    taken = {*short.values(), *(found if details else ())}
    given: Any = run.given if library_of(run.given) == library else None
    columns: dict[str, Typed] = {}
    for column, typed in found.items():
        name = column.removeprefix("tags.")
        if name != column:
            typed = (None, given[name]) if given is not None and name in given.columns else typed
            while name in taken:
                name += "_given"
            taken.add(name)
            columns[name] = typed
        elif details or column in short:
            columns[short.get(column, column)] = typed
    frame: Any = frame_in(library, columns)
    if library == "pandas":
        frame.index = found["id"][1] if given is None else given.index
    return frame


def describe_claim(claim: JudgedClaim) -> str:
    against = "" if claim.against == "contexts" else f", checked against the {claim.against}"
    words = f"{claim.label}{against}: {claim.text}" + (f" ({claim.reason})" if claim.reason else "")
    return " ".join(words.split())


def value_documents(rows: RankingRows) -> Iterator[dict[str, object]]:
    for block in rows.blocks():
        columns = [_values(block, name) for name in block.metrics]
        failures = [block.failures(name) for name in block.metrics]
        reasons = (None, *REASONS, None)
        for place, (name, query) in enumerate(zip(block.ids, block.queries, strict=True)):
            reason = reasons[int(block.why[place])]
            state = {"state": "undefined" if reason else "scored", "reason": reason}
            scores: dict[str, object] = {}
            for metric, column, failed in zip(block.metrics, columns, failures, strict=True):
                score = {"value": column[place], **state}
                if place in failed:
                    cause = Cause.METRIC_ERROR.value
                    score |= {"state": "failed", "reason": failed[place], "cause": cause}
                scores[metric] = score
            yield {"id": name, "query": query, "scores": scores}


def _values(block: RankingScores, metric: str) -> list[float | None]:
    numbers, states = block.column(metric)
    scored = (states == SCORED).tolist()
    return [value if known else None for value, known in zip(numbers.tolist(), scored, strict=True)]


def check_table(path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        check_extra("polars", f"writing {path}", "parquet")


def write_json(document: object, path: Path) -> None:
    if isinstance(document, Run):
        document = document.to_dict() | {"worst": worst_documents(document)}
    _write_json([document], path, indent=2)


def write_rows(run: Run, path: Path) -> None:
    if path.suffix.lower() in _FLAT:
        write_table(samples_table(run), path)
    elif run.columns is not None:
        _write_json(value_documents(run.columns), path)
    else:
        _write_json((row.to_dict() | _outcome(run, row) for row in run.rows), path)


def write_claims(run: Run, path: Path) -> None:
    write_table(claims_table(run), path)


def write_table(table: Table, path: Path) -> None:
    if fill := _FLAT.get(path.suffix.lower()):
        check_table(path)
        write_file(path, partial(fill, table=table))
        return
    names = [column.name for column in table.columns]
    _write_json((dict(zip(names, line, strict=True)) for line in table.lines), path)


def csv_safe(text: str) -> str:
    safe = strip_controls(text)
    return f"'{safe}" if safe.startswith(_FORMULA) else safe


def _write_json(documents: Iterable[object], path: Path, *, indent: int | None = None) -> None:
    # ASCII with escapes, because a lone surrogate has no UTF-8
    dump = partial(json.dumps, ensure_ascii=True, allow_nan=False, indent=indent)

    def write(stream: TextIO) -> None:
        for document in documents:
            try:
                line = dump(document)
            except (TypeError, ValueError):  # `finite` is slow, and few documents need it
                line = dump(finite(document))
            stream.write(f"{line}\n")

    def fill(path: Path) -> None:
        with path.open("w", encoding="ascii", newline="\n") as stream:
            write(stream)

    if path == STDOUT:
        write(sys.stdout)
    else:
        write_file(path, fill)


def _fill_csv(path: Path, table: Table) -> None:
    def written(cell: Cell) -> Cell:
        if isinstance(cell, bool):
            return f"{cell}".lower()
        return csv_safe(cell) if isinstance(cell, str) else cell

    # Excel needs the byte order mark
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(csv_safe(column.name) for column in table.columns)
        writer.writerows(map(written, line) for line in table.lines)


def _fill_parquet(path: Path, table: Table) -> None:
    import polars as pl
    from polars.exceptions import ComputeError

    types = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean, None: pl.String}
    columns = [_TypedColumn(column) for column in table.columns]
    # numbered, because polars reads some names as patterns
    schema = {f"{number}": types[each.type] for number, each in enumerate(table.columns)}
    try:
        with TemporaryDirectory(dir=path.parent, prefix=".ragstone-") as folder:
            parts: list[Path] = []
            largest = 1
            for batch in table.batches:
                cells = [each.convert(cells) for each, cells in zip(columns, batch, strict=True)]
                frame = pl.DataFrame(dict(zip(schema, cells, strict=True)), schema=schema)
                parts.append(Path(folder, f"{len(parts)}.parquet"))
                frame.write_parquet(parts[-1])
                largest = max(largest, frame.height)
            joined = pl.scan_parquet(parts) if parts else pl.LazyFrame(schema=schema)
            typed: list[pl.Expr] = []
            for number, column in zip(schema, columns, strict=True):
                cells = pl.col(number)
                if column.is_open and column.type is not str:
                    is_bool = column.type is bool
                    cells = cells == "true" if is_bool else cells.cast(types[column.type])
                typed.append(cells.alias(column.name))
            joined.select(typed).sink_parquet(path, row_group_size=largest)
    except ComputeError as error:  # the disk is full
        raise OSError(one_line(str(error), 300)) from error


_FLAT = {".csv": _fill_csv, ".parquet": _fill_parquet}


class _TypedColumn:
    """A column while its cells are collected; if its type is open, they become texts first."""

    def __init__(self, column: Column) -> None:
        self.name, self._type, self.is_open = _encodable(column.name), column.type, not column.type
        self._found: set[CellType] = set()

    def convert(self, cells: Sequence[Cell]) -> Sequence[Cell]:
        if self._type is str:
            return [_encodable(cell) if isinstance(cell, str) else cell for cell in cells]
        if self._type:
            return cells
        texts: list[Cell] = []
        for cell in cells:
            if cell is not None:
                too_long = isinstance(cell, int) and cell not in _INT64
                self._found.add(str if too_long else type(cell))
            if isinstance(cell, bool):
                texts.append(f"{cell}".lower())
            elif isinstance(cell, int | float):
                texts.append(repr(cell))
            else:
                texts.append(cell and _encodable(cell))
        return texts

    @property
    def type(self) -> CellType:
        """The type if known, else numbers or booleans if all cells so far are."""
        if self._type:
            return self._type
        if len(self._found) == 1:
            return next(iter(self._found))
        return float if self._found == {int, float} else str


def _encodable(text: str) -> str:
    return _SURROGATES.sub(MARK, text)
