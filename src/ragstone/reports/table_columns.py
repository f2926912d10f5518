"""Columns of the flat tables: a row's, and a judged claim's."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

from ragstone.ranked_values import RankingRows
from ragstone.reports.claim_lines import ClaimLine, claim_lines
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.score_tally import SCORED

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
