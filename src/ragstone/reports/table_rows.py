"""Columns of the flat tables: a row's, and a judged claim's."""

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TextIO, cast

from ragstone._internal.files import write_file
from ragstone.errors import Cause
from ragstone.results.metric_summary import SCORED
from ragstone.results.ranking_run import REASONS, RankingRows, RankingScores
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim
from ragstone.types.row import Row

# A judged claim in one line: in words, and flat, as tables and workbooks list it.


@dataclass(frozen=True)
class ClaimLine:
    """A claim and the verdict on it; `against` names the texts it was held against.

    `number` and `context` count from 1; the context is that of the first quote, of whose
    `quotes` there may be more. `judge` gave the verdict, where several share the work.
    """

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


def claim_lines(run: Run, names: Sequence[str]) -> Iterator[ClaimLine]:
    """Yield the claims of those metrics, sample by sample."""
    judged = [name for name in names if run.tally.scores[name].judged]
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


def claim_in_words(claim: JudgedClaim) -> str:
    """Write a claim in one line: the label, the claim, and why."""
    held = "" if claim.against == "contexts" else f", held against the {claim.against}"
    words = f"{claim.label}{held}: {claim.text}" + (f" ({claim.reason})" if claim.reason else "")
    return " ".join(words.split())


Cell = str | int | float | bool | None
AT_ONCE = 1000
"""Lines in one batch, at most."""
MOST = 8_000_000
"""Characters after which a batch gets no more lines."""


@dataclass(frozen=True)
class Column:
    """A column's name, and the type of its cells; None where only they can tell."""

    name: str
    type: type[str] | type[int] | type[float] | type[bool] | None


@dataclass(frozen=True)
class Table:
    """Columns and batches of lines, which can be read once.

    Attributes:
        batches: for each batch one sequence of cells per column.
    """

    columns: Sequence[Column]
    batches: Iterator[Sequence[Sequence[Cell]]]

    @classmethod
    def of(cls, columns: Sequence[Column], lines: Iterable[Sequence[Cell]]) -> "Table":
        """Make a table of lines with a cell for each column."""
        return cls(columns, _batches(lines))

    @property
    def lines(self) -> Iterator[Sequence[Cell]]:
        """The lines of the batches."""
        return (line for batch in self.batches for line in zip(*batch, strict=True))


_OF_ROW: Sequence[tuple[Column, Callable[[Row], Cell]]] = (
    (Column("id", str), lambda row: row.sample.id),
    (Column("query", str), lambda row: row.sample.query),
    (Column("response", str), lambda row: row.sample.response),
    (Column("reference", str), lambda row: row.sample.reference),
    (Column("contexts", int), lambda row: _count(row.sample.contexts)),
    (Column("latency_ms", float), lambda row: row.latency_ms),
    (Column("judge_calls", int), lambda row: row.usage.calls),
    (Column("cost_usd", float), lambda row: row.usage.cost_usd),
)
_OF_SCORE = MappingProxyType(
    {"value": float, "state": str, "passed": bool, "reason": str, "cause": str, "fallback": bool}
)
_OF_CLAIM = MappingProxyType(
    {"number": int, "confidence": float, "quotes": int, "context": int, "verified": bool}
)
"""Field -> its type; the others are texts."""


def rows_table(run: Run) -> Table:
    """Return one line per sample: its texts, `tags.NAME`, `scores.METRIC.value` and so on.

    For a ranking's run these are the query's id and text, and its value by each metric.
    """
    if (rows := run.columns) is not None:
        names = [Column(f"scores.{name}.value", float) for name in rows.metrics]
        batches = (
            [block.ids, block.queries, *(scored_values(block, name) for name in rows.metrics)]
            for block in rows.blocks()
        )
        return Table([Column("id", str), Column("query", str), *names], batches)
    tags = tuple(run.tally.tags)
    columns = [
        *(column for column, _ in _OF_ROW),
        *(Column(f"tags.{tag}", None) for tag in tags),
        *(
            Column(f"scores.{name}.{field}", type_)
            for name in run.metrics
            for field, type_ in _OF_SCORE.items()
        ),
    ]
    return Table.of(columns, (_cells(row, tags, tuple(run.metrics)) for row in run.rows))


def scored_values(rows: RankingRows, metric: str) -> list[float | None]:
    """Return each query's value by one metric; None if it is not scored."""
    numbers, states = rows.column(metric)
    scored: list[bool] = (states == SCORED).tolist()
    return [value if known else None for value, known in zip(numbers.tolist(), scored, strict=True)]


def claims_table(run: Run) -> Table:
    """Return a line a judged claim, sample by sample."""
    names = [field.name for field in fields(ClaimLine)]
    columns = [Column(name, _OF_CLAIM.get(name, str)) for name in names]
    lines = claim_lines(run, tuple(run.metrics))
    return Table.of(columns, ([getattr(line, name) for name in names] for line in lines))


def _cells(row: Row, tags: Iterable[str], metrics: Iterable[str]) -> list[Cell]:
    return [
        *(value(row) for _, value in _OF_ROW),
        *(row.sample.tags.get(tag) for tag in tags),
        *(getattr(row.scores[name], field) for name in metrics for field in _OF_SCORE),
    ]


def _count(things: Sequence[object] | None) -> int | None:
    return None if things is None else len(things)


def _batches(lines: Iterable[Sequence[Cell]]) -> Iterator[Sequence[Sequence[Cell]]]:
    batch: list[Sequence[Cell]] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += sum(len(cell) for cell in line if isinstance(cell, str))
        if len(batch) >= AT_ONCE or size >= MOST:
            yield list(zip(*batch, strict=True))
            batch, size = [], 0
    if batch:
        yield list(zip(*batch, strict=True))


# Rows and the summary as JSON, for machines: the stable shapes of `--rows` and `--json`.

STDOUT = Path("-")

_SCORED: Mapping[str, str | None] = MappingProxyType({"state": "scored", "reason": None})

Destination = Path | TextIO
"""A file, written whole or not at all; a stream; or `-`, standard output."""


def write_rows(run: Run, destination: Destination) -> None:
    """Write one line of JSON per row, in the order of the data set.

    A line of a ranking's run has the query's id, its text and its scores.

    Raises:
        UsageError: the file cannot be written.
    """
    if run.columns is not None:
        documents = (each for block in run.columns.blocks() for each in _queries(block))
    else:
        documents = (row.to_dict() for row in run.rows)
    _write(destination, documents, indent=None)


def write_json(run: Run, destination: Destination) -> None:
    """Write the summary as one JSON object.

    Raises:
        UsageError: the file cannot be written.
    """
    write_document(run.to_dict(), destination)


def write_document(document: Mapping[str, object], destination: Destination) -> None:
    """Write one JSON object.

    Raises:
        UsageError: the file cannot be written.
    """
    _write(destination, iter([document]), indent=2)


def finite(value: object) -> object:
    """Return plain data with null for each number that JSON does not have: NaN and infinity."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {key: finite(item) for key, item in pairs}
    if isinstance(value, list | tuple):
        return [finite(item) for item in cast("list[object]", value)]
    return value


def _write(
    destination: Destination, documents: Iterator[Mapping[str, object]], indent: int | None
) -> None:
    if isinstance(destination, Path) and destination != STDOUT:
        write_file(destination, partial(_write_path, documents=documents, indent=indent))
    else:
        stream = sys.stdout if isinstance(destination, Path) else destination
        _write_stream(stream, documents, indent)


def _write_path(path: Path, documents: Iterator[Mapping[str, object]], indent: int | None) -> None:
    with path.open("w", encoding="ascii", newline="\n") as stream:
        _write_stream(stream, documents, indent)


def _write_stream(
    stream: TextIO, documents: Iterator[Mapping[str, object]], indent: int | None
) -> None:
    # ASCII with escapes, because a lone surrogate in the data has no UTF-8
    for document in documents:
        try:
            line = json.dumps(document, ensure_ascii=True, allow_nan=False, indent=indent)
        except (TypeError, ValueError):  # `finite` takes longer, and few documents need it
            line = json.dumps(finite(document), ensure_ascii=True, allow_nan=False, indent=indent)
        stream.write(line + "\n")


def _queries(block: RankingScores) -> Iterator[Mapping[str, object]]:
    """Yield the queries of a ranking's run, without making their rows, which takes longer."""
    columns = [(name, scored_values(block, name), block.failures(name)) for name in block.metrics]
    for place, (query, text) in enumerate(zip(block.ids, block.queries, strict=True)):
        why = int(block.why[place])
        state = {"state": "undefined", "reason": REASONS[why - 1]} if why else _SCORED
        scores = {
            metric: {"value": values[place], **state}
            if place not in failures
            else {
                "value": None,
                "state": "failed",
                "reason": failures[place],
                "cause": Cause.METRIC_ERROR.value,
            }
            for metric, values, failures in columns
        }
        yield {"id": query, "query": text, "scores": scores}
