"""The rows of tables: samples, judged claims, and the values of rankings."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from types import MappingProxyType

from ragstone.errors import Cause
from ragstone.results.metric_summary import SCORED
from ragstone.results.ranking_run import REASONS, RankingRows, RankingScores
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim
from ragstone.types.row import Row

Cell = str | int | float | bool | None

BATCH = 1000
"""Lines in one batch, at most."""
BATCH_CHARACTERS = 8_000_000
"""Characters with which a batch is full."""


@dataclass(frozen=True)
class Column:
    """A column's name, and the type of its cells; None if only the cells determine it."""

    name: str
    type: type[str] | type[int] | type[float] | type[bool] | None


@dataclass(frozen=True)
class Table:
    """Columns, and batches of rows that can be read once: a sequence of cells per column."""

    columns: Sequence[Column]
    batches: Iterator[Sequence[Sequence[Cell]]]

    @property
    def lines(self) -> Iterator[Sequence[Cell]]:
        """The lines of all batches, with a cell for each column."""
        return (line for batch in self.batches for line in zip(*batch, strict=True))


def _batches(lines: Iterable[Sequence[Cell]]) -> Iterator[Sequence[Sequence[Cell]]]:
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


def count_or_none(things: Sequence[object] | None) -> int | None:
    """Return how many there are; None if that is unknown."""
    return None if things is None else len(things)


_SAMPLE_COLUMNS: Sequence[tuple[Column, Callable[[Row], Cell]]] = (
    (Column("id", str), lambda row: row.sample.id),
    (Column("query", str), lambda row: row.sample.query),
    (Column("response", str), lambda row: row.sample.response),
    (Column("reference", str), lambda row: row.sample.reference),
    (Column("contexts", int), lambda row: count_or_none(row.sample.contexts)),
    (Column("latency_ms", float), lambda row: row.latency_ms),
    (Column("judge_calls", int), lambda row: row.usage.calls),
    (Column("cost_usd", float), lambda row: row.usage.cost_usd),
)
_SCORE_COLUMNS = MappingProxyType(
    {"value": float, "state": str, "passed": bool, "reason": str, "cause": str, "fallback": bool}
)


def samples_table(run: Run) -> Table:
    """Return a line per sample: its texts, `tags.NAME`, `scores.METRIC.value` and so on.

    Of a ranking there are the queries' ids, texts and values only.
    """
    if (rows := run.columns) is not None:
        names = [Column(f"scores.{name}.value", float) for name in rows.metrics]
        batches = (
            [block.ids, block.queries, *(_values(block, name) for name in rows.metrics)]
            for block in rows.blocks()
        )
        return Table([Column("id", str), Column("query", str), *names], batches)
    tags, metrics = tuple(run.tally.tags), tuple(run.metrics)
    columns = [column for column, _ in _SAMPLE_COLUMNS]
    columns += [Column(f"tags.{tag}", None) for tag in tags]
    columns += [
        Column(f"scores.{name}.{field}", type_)
        for name in metrics
        for field, type_ in _SCORE_COLUMNS.items()
    ]
    lines = (
        [
            *(value(row) for _, value in _SAMPLE_COLUMNS),
            *(row.sample.tags.get(tag) for tag in tags),
            *(getattr(row.scores[name], field) for name in metrics for field in _SCORE_COLUMNS),
        ]
        for row in run.rows
    )
    return Table(columns, _batches(lines))


@dataclass(frozen=True)
class ClaimLine:
    """A judged claim in one line; `against` names the texts it was compared with.

    `number` and `context` count from 1. The context is that of the first of the `quotes`. `judge`
    gave the verdict, if several judges share the work.
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


_CLAIM_TYPES = MappingProxyType(
    {"number": int, "confidence": float, "quotes": int, "context": int, "verified": bool}
)
"""Field -> its type; all others are texts."""


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


def claims_table(run: Run) -> Table:
    """Return a line per judged claim, sample by sample."""
    names = [field.name for field in fields(ClaimLine)]
    columns = [Column(name, _CLAIM_TYPES.get(name, str)) for name in names]
    lines = claim_lines(run, tuple(run.metrics))
    return Table(columns, _batches([getattr(line, name) for name in names] for line in lines))


def describe_claim(claim: JudgedClaim) -> str:
    """Return a claim in one line: the label, the claim, and why."""
    against = "" if claim.against == "contexts" else f", checked against the {claim.against}"
    words = f"{claim.label}{against}: {claim.text}" + (f" ({claim.reason})" if claim.reason else "")
    return " ".join(words.split())


def value_documents(rows: RankingRows) -> Iterator[dict[str, object]]:
    """Yield the queries of a ranking in the format of `--rows`; building rows would take longer."""
    for block in rows.blocks():
        columns = [_values(block, name) for name in block.metrics]
        failures = [block.failures(name) for name in block.metrics]
        for place, (name, query) in enumerate(zip(block.ids, block.queries, strict=True)):
            why = int(block.why[place])
            state: Mapping[str, object] = {"state": "scored", "reason": None}
            if why:
                state = {"state": "undefined", "reason": REASONS[why - 1]}
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
