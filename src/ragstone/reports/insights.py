"""What to look at in a run: the worst samples, missed thresholds, a short excerpt, a next step."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count, one_line
from ragstone.errors import Cause
from ragstone.judges.spec import is_model, split_names
from ragstone.reports.facts import CAUSES, LABELS
from ragstone.reports.format import decimal
from ragstone.results.metric_summary import FAILED, SCORED
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.config import ORIGIN
from ragstone.types.gate import Gate, reaches
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import MetricInfo, Score

WORST = 3
"""Samples listed as the worst."""
MAX_CLAIM = 200
"""Characters of a failing claim, so that there is room for the reason."""
EXCERPT, RANKING_EXCERPT = 10_000, 1000
"""Rows, and queries of a ranking, that an HTML page or a JUnit file contains."""
GOAL = 0.05
"""Desired margin of a mean, as a share of the metric's range."""
WIDE = 0.1
"""Margin above which more samples are recommended."""
ENOUGH = math.ceil((1.96 * 0.5 / GOAL) ** 2)
"""Samples that bring any metric within GOAL; half 0 and half 1 varies the most."""


@dataclass(frozen=True)
class WorstSample:
    """A sample with a bad score; `value` is None if the score failed.

    `why` is the first failing claim or the reason, or "", and `evidence` the first quote for its
    verdict, or "". All texts come from outside.
    """

    id: str
    query: str
    value: float | None
    why: str
    evidence: str = ""


def focus_metric(run: Run) -> str | None:
    judged = {name: run.counts.scores[name].judged for name in run.metrics}
    return focus_of(((gate.metric, bool(gate.passed)) for gate in run.gates()), judged)


def focus_of(gates: Iterable[tuple[str, bool]], judged: Mapping[str, bool]) -> str | None:
    """Return the metric of a failed gate, of any gate, the first judged one, or the first.

    `gates` are metrics and whether they passed; `judged` is metric -> whether a judge scored it.
    """
    by_result = [metric for metric, _ in sorted(gates, key=lambda gate: gate[1])]
    by_kind = sorted(judged, key=lambda name: not judged[name])
    return next((name for name in (*by_result, *by_kind) if name in judged), None)


def worst_rows(run: Run, name: str) -> Iterator[Row]:
    info = run.metrics[name]
    best = info.high if info.higher_is_better else info.low
    for placed in run.counts.scores[name].worst(higher_is_better=info.higher_is_better):
        if placed.value != best and (row := row_at(run.rows, placed.place)) is not None:
            yield row


def worst_samples(run: Run, name: str, most: int = WORST) -> tuple[WorstSample, ...]:
    def found() -> Iterator[WorstSample]:
        for row in worst_rows(run, name):
            score = row.scores[name]
            why = failing_claim(score) or score.reason or ""
            failing = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
            quotes = [each.quote for each in failing[0].evidence] if failing else []
            evidence = quotes[0] if quotes else ""
            yield WorstSample(row.sample.id, row.sample.query, score.value, why, evidence)
        failed = run.counts.scores[name].failed
        for cause, first in sorted(failed.items(), key=lambda item: item[1]):
            if (row := row_at(run.rows, first.place)) is not None:
                why = f"failed, {CAUSES[cause]}: {first.words}"
                yield WorstSample(row.sample.id, row.sample.query, None, why)

    return tuple(islice(found(), most))


def worst_documents(run: Run) -> dict[str, list[dict[str, object]]]:
    """Return the samples with the worst scores of each judged metric as plain data.

    Unlike `worst_samples`, perfect scores are included and failed ones are not.
    """
    found: dict[str, list[dict[str, object]]] = {}
    for name, info in run.metrics.items():
        worst = run.counts.scores[name].worst(higher_is_better=info.higher_is_better)
        rows = [row_at(run.rows, placed.place) for placed in worst[:WORST] if info.calls]
        found |= {name: [_worst_document(row, name) for row in rows if row]} if rows else {}
    return found


def _worst_document(row: Row, name: str) -> dict[str, object]:
    score = row.scores[name]
    explanation = {"explanation": score.detail.get("explanation")}
    fields = {"value", "passed", "reason", "latency_ms", "truths"}
    return {"id": row.sample.id, **score.model_dump(mode="json", include=fields), **explanation}


def failing_claim(score: Score) -> str:
    failing = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
    if not failing:
        return ""
    claim = failing[0]
    why = f" ({claim.reason})" if claim.reason else ""
    more = f"; and {len(failing) - 1} more" if len(failing) > 1 else ""
    against = "" if claim.against == "contexts" else f", checked against the {claim.against}"
    return f"{LABELS[claim.label]}{against}: {one_line(claim.text, MAX_CLAIM)}{why}{more}"


def row_at(rows: Sequence[Row], place: int) -> Row | None:
    """Return the row at a place of the data set; None if it is missing.

    Rows are ordered by place. Few are read, because a row's position is at most its place, and
    smaller by at most the number of missing rows.
    """
    if place < len(rows) and (row := rows[place]).index == place:
        return row
    if not rows:
        return None
    missing = rows[-1].index + 1 - len(rows)
    end = min(place, len(rows))
    start = min(max(place - missing, 0), end)
    found = bisect_left(rows, place, start, end, key=lambda row: row.index)
    return row if found < end and (row := rows[found]).index == place else None


def threshold_metrics(run: Run) -> tuple[str, ...]:
    gated = {gate.metric for gate in run.manifest.plan.gates}
    counts = run.counts.scores
    return tuple(
        name for name in run.metrics if name in gated or counts[name].threshold is not None
    )


def checked_metrics(run: Run) -> tuple[str, ...]:
    return threshold_metrics(run) or tuple(run.metrics)


def shortfall(score: Score, info: MetricInfo, gates: Sequence[Gate]) -> str | None:
    """Return which threshold a score misses; None if it misses none or has no value.

    Its own threshold decides. Without one, gates on the mean or its interval do; a gate on the
    share of scored rows does not apply to one sample.
    """
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
    """Return a run with its worst rows only, and a notice; unchanged if it has at most `most`.

    Selected are the rows that failed or did worst by any metric. Summaries still cover all rows.
    """
    rows = run.rows
    most = most or (EXCERPT if run.columns is None else RANKING_EXCERPT)
    if len(rows) <= most:
        return run, None

    def column(name: str) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        if run.columns is not None:
            return run.columns.column(name)
        assert run.counts.grouping.rows == len(rows)  # which also puts the counts in this order
        counts = run.counts.scores[name]
        states = np.frombuffer(counts.row_states, np.int8)
        numbers = np.zeros(states.size)
        numbers[states == SCORED] = counts.values
        return numbers, states

    def order(name: str, *, higher: bool) -> NDArray[np.int64]:
        numbers, states = column(name)
        missing = np.where(states == FAILED, -np.inf, np.inf)
        worst_first = np.where(states == SCORED, numbers if higher else -numbers, missing)
        ranks = np.empty(len(rows), dtype=np.int64)
        ranks[np.argsort(worst_first, kind="stable")] = np.arange(len(rows))
        return ranks

    orders = [order(name, higher=info.higher_is_better) for name, info in run.metrics.items()]
    best_rank = np.minimum.reduce(orders)
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


def next_step(run: Run, *, first: bool = False) -> str | None:
    """Return what to do next; None if there is no useful advice.

    `first`: the run is the first in its store. How to resume a stopped run is printed elsewhere.
    """
    if run.partial or run.stopped or not run.metrics:
        return None
    name = run.manifest.run_id
    limit = run.manifest.plan.max_failure_rate
    failures = _failure_advice(run)
    summaries = run.summary().values()
    if failures and any(each.failed > limit * (each.scored + each.failed) for each in summaries):
        return failures
    if any(gate.passed is False for gate in run.gates()):
        if not run.stored:
            return "inspect the samples behind the gate: run again with --html report.html"
        return (
            "inspect the samples behind the gate: "
            f"`ragstone report {name} --html report.html`, or `ragstone view {name}`"
        )
    if advice := failures or _sample_size_advice(run):
        return advice
    if not (first and run.stored):
        return None
    return (
        f"`ragstone runs tag {name} baseline` saves this run as your baseline; "
        "after a change, run `ragstone compare baseline last`"
    )


def _failure_advice(run: Run) -> str | None:
    manifest, plan, health = run.manifest, run.manifest.plan, run.counts.health()
    causes = Counter[Cause]()
    for counts in run.counts.scores.values():
        causes.update(counts.causes)
    if not causes:
        return None
    before = run.counts.failed_before
    failed = causes - before
    if before.total() > max(failed.values(), default=0):
        return (
            f"{count(before.total(), 'score')} failed because {manifest.source.name} records "
            "failed calls: collect these responses again or fix the file, then run again"
        )
    target_failed = health is not None and bool(health.failed)
    again, set_to = "run again", "set"
    if run.stored and run.columns is not None:
        again = "evaluate the file again with `ragstone rank`"
    elif run.stored and manifest.source.path is not None and ORIGIN not in manifest.identity:
        again = f"`ragstone resume {manifest.run_id} --retry-failed`"
        set_to = "start a new run with"  # a resumed run has its stored settings
    other_model = "try another --model"
    if plan.verify != "each":
        other_model += ", or --verify each for shorter replies"
    longer = f"allow longer replies with --max-tokens {2 * plan.max_tokens}"
    if not target_failed and not any(map(is_model, split_names(plan.judge))):
        longer = "set a larger length= for the local judge, if the model allows it, or use shorter"
        longer += " claims"
    reasons = {
        counts.failed[Cause.UNREACHABLE].words
        for counts in run.counts.scores.values()
        if Cause.UNREACHABLE in counts.failed
    }
    unreachable = f"check that the service is running, then {again}"
    if target_failed and any(" returned 404" in each for each in reasons):
        unreachable = "the API has no such path; describe its paths in a target file (--target)"
    advice: dict[Cause, str] = {
        Cause.TIMEOUT: f"{again}; if it times out again, {set_to} --timeout {2 * plan.timeout:g}",
        Cause.RATE_LIMITED: f"{again}; if it is limited again, {set_to} --rpm, or a --concurrency "
        f"below {plan.concurrency}",
        Cause.UNREACHABLE: unreachable,
        Cause.REJECTED: "read the reply in the failed rows, and change what is sent",
        Cause.REFUSAL: "try another --model, which may answer",
        Cause.TRUNCATED: longer,
        # whose reply it was is not known
        Cause.MALFORMED: "read the replies in the failed rows" if target_failed else other_model,
        Cause.COUNT_MISMATCH: other_model,
        Cause.METRIC_ERROR: f"fix the metric, then {again}",
        Cause.JUDGE_ERROR: f"fix the judge, then {again}",
        Cause.TARGET_ERROR: f"fix the target, then {again}",
    }
    known = [(cause, number) for cause, number in failed.most_common() if advice.get(cause)]
    if not known:
        return None
    cause, number = known[0]
    others = [f"{times:,} {CAUSES[each]}" for each, times in failed.items() if each is not cause]
    more = f". Others failed for other reasons: {', '.join(others)}" if others else ""
    return f"{count(number, 'score')} failed ({CAUSES[cause]}): {advice[cause]}{more}"


def _sample_size_advice(run: Run) -> str | None:
    name = focus_metric(run)
    if name is None:
        return None
    summary, info = run.summary()[name], run.metrics[name]
    span = info.high - info.low
    if summary.interval is None or not 0 < span < math.inf:
        return None
    margin = (summary.interval[1] - summary.interval[0]) / 2
    if margin <= WIDE * span:
        return None
    needed = summary.scored * (margin / (GOAL * span)) ** 2
    if not run.counts.grouping.by:  # rows of a cluster vary together
        needed = min(needed, ENOUGH)
    return (
        f"{name} is only accurate to ±{margin:.2g} ({count(summary.scored, 'row')}); "
        f"about {math.ceil(needed / 10) * 10:,} rows would give ±{GOAL * span:.2g}"
    )
