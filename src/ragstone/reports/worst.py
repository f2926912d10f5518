"""Which rows of a run to look at: the worst, those that miss a threshold, a short excerpt."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from ragstone._internal.text import one_line
from ragstone.reports.format import CAUSES, LABELS, decimal
from ragstone.results.metric_summary import FAILED, SCORED
from ragstone.results.outcomes import Outcome
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.gate import Gate, reaches
from ragstone.types.row import LazyRows, Row, find_row
from ragstone.types.score import MetricInfo, Score

WORST, MAX_CLAIM = 3, 200  # samples, and characters of a failing claim: the reason needs room
EXCERPT, RANKING_EXCERPT = 10_000, 1000  # rows, and queries, in an HTML page or a JUnit file


@dataclass(frozen=True)
class WorstSample:
    """A sample with a bad score, or one that failed (None)."""

    id: str
    query: str
    value: float | None
    why: str  # the first failing claim, or the reason
    evidence: str = ""  # the first quote for its verdict
    imputed: bool = False
    row: Row | None = None


def focus_metric(run: Run) -> str | None:
    """Return the metric of a failed gate, of any gate, of the verdict, or the first judged one."""
    by_result = [gate.metric for gate in sorted(run.gates(), key=lambda gate: bool(gate.passed))]
    by_kind = sorted(run.metrics, key=lambda name: not run.counts.scores[name].judged)
    names = (*by_result, run.verdict.metric, *by_kind)
    return next((name for name in names if name in run.metrics), None)


def main_metrics(run: Run, most: int, among: Collection[str]) -> list[str]:
    """Return the metrics with gates, of the verdict, then the judged ones, in the run's order."""
    gated = {gate.metric for gate in run.gates()}

    def rank(name: str) -> tuple[bool, bool, bool]:
        return name not in gated, name != run.verdict.metric, not run.counts.scores[name].judged

    chosen = sorted((name for name in run.metrics if name in among), key=rank)[:most]
    return [name for name in run.metrics if name in chosen]


def worst_samples(run: Run, name: str, most: int | None = WORST) -> tuple[WorstSample, ...]:
    """Return the samples with the worst scores that are not perfect, then the first that failed."""
    info, counts = run.metrics[name], run.counts.scores[name]
    best = info.high if info.higher_is_better else info.low

    def samples() -> Iterator[WorstSample]:
        decides = name == run.verdict.metric and info.higher_is_better
        right = run.verdict.rows_with(Outcome.RIGHT) if decides else frozenset[int]()
        for placed in counts.worst(higher_is_better=info.higher_is_better):
            if placed.value == best or placed.place in right:
                continue
            if (row := find_row(run.rows, placed.place)) is not None:
                sample, score = row.sample, row.scores[name]
                why = failing_claim(score) or score.reason or ""
                quotes = [each.quote for claim in failing(score)[:1] for each in claim.evidence]
                quote = quotes[0] if quotes else ""
                yield WorstSample(
                    *(sample.id, sample.query, score.value, why, quote, score.fallback), row
                )
        for cause, first in sorted(counts.failed.items(), key=lambda item: item[1]):
            if (row := find_row(run.rows, first.place)) is not None:
                why = f"failed, {CAUSES[cause]}: {first.words}"
                yield WorstSample(row.sample.id, row.sample.query, None, why)

    return tuple(islice(samples(), most))


def worst_documents(run: Run) -> dict[str, list[dict[str, object]]]:
    """Return the worst scored samples of each judged metric, even perfect ones, as plain data."""
    found: dict[str, list[dict[str, object]]] = {}
    fields = {"value", "passed", "reason", "latency_ms", "truths"}
    for name, info in run.metrics.items():
        worst = run.counts.scores[name].worst(higher_is_better=info.higher_is_better)
        for placed in worst[:WORST] if info.calls else ():
            listed = found.setdefault(name, [])
            if row := find_row(run.rows, placed.place):
                score = row.scores[name]
                document = {"id": row.sample.id, **score.model_dump(mode="json", include=fields)}
                listed.append({**document, "explanation": score.detail.get("explanation")})
    return found


def failing(score: Score) -> list[JudgedClaim]:
    return [claim for claim in score.claims if claim.label is not Label.SUPPORTED]


def failing_claim(score: Score) -> str:
    if not (claims := failing(score)):
        return ""
    first = claims[0]
    why = f" ({first.reason})" if first.reason else ""
    more = f"; and {len(claims) - 1} more" if len(claims) > 1 else ""
    against = "" if first.against == "contexts" else f", checked against the {first.against}"
    return f"{LABELS[first.label]}{against}: {one_line(first.text, MAX_CLAIM)}{why}{more}"


def threshold_metrics(run: Run) -> tuple[str, ...]:
    counts, gated = run.counts.scores, {gate.metric for gate in run.manifest.plan.gates}
    return tuple(
        name for name in run.metrics if counts[name].threshold is not None or name in gated
    )


def checked_metrics(run: Run) -> tuple[str, ...]:
    return threshold_metrics(run) or tuple(run.metrics)


def shortfall(score: Score, info: MetricInfo, gates: Sequence[Gate]) -> str | None:
    """Return which threshold a score misses, if any: its own, else that of a gate on the mean."""
    if score.value is None:
        return None
    value = decimal(score.value)
    if score.passed is not None:
        sign = ">=" if info.higher_is_better else "<="
        mark = "" if score.threshold is None else f": {value} is not {sign} {score.threshold:g}"
        not_measured = score.reason if "why" in score.detail else None
        return None if score.passed else not_measured or f"threshold missed{mark}"
    for gate in gates:
        if gate.of != "scored" and not reaches(score.value, gate.threshold, gate.op):
            demand = f"{gate.op} {gate.threshold:g}"
            what = "corrected mean" if gate.of == "corrected" else gate.of
            return f"{value} is not {demand}, the threshold of the gate on the {what}"
    return None


def excerpt(run: Run, most: int | None = None) -> tuple[Run, str | None]:
    """Return a run with its `most` worst rows and all counts, and a notice; or as it is."""
    rows = run.rows
    most = most or (EXCERPT if run.columns is None else RANKING_EXCERPT)
    if len(rows) <= most:
        return run, None

    if run.columns is None:  # grouping also puts the counts in the order of the rows
        assert run.counts.grouping.rows == len(rows)
    best_rank = np.full(len(rows), len(rows))  # by any metric, the worst row first
    for name, info in run.metrics.items():
        if run.columns is not None:
            numbers, states = run.columns.column(name)
        else:
            states = np.frombuffer(run.counts.scores[name].row_states, np.int8)
            numbers = np.zeros(states.size)
            numbers[states == SCORED] = run.counts.scores[name].values
        missing = np.where(states == FAILED, -np.inf, np.inf)
        values = numbers if info.higher_is_better else -numbers
        order = np.argsort(np.where(states == SCORED, values, missing), kind="stable")
        best_rank[order] = np.minimum(best_rank[order], np.arange(len(rows)))
    places = np.sort(np.argsort(best_rank, kind="stable")[:most])
    notice = (
        f"{most:,} of {len(rows):,} {'rows' if run.columns is None else 'queries'} that failed or "
        "scored worst on a metric; use --rows FILE for all of them"
    )
    return replace(run, rows=_SelectedRows(rows, places.tolist()), known_counts=run.counts), notice


@dataclass(frozen=True)
class _SelectedRows(LazyRows):
    rows: Sequence[Row]
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def at(self, place: int) -> Row:
        return self.rows[self.places[place]]
