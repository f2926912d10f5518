"""Next step: what to do after a run, in one line, from what happened in it."""

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.text import count, one_line
from ragstone.errors import Cause
from ragstone.evaluation.rescore import ORIGIN
from ragstone.judges.spec import is_model, split_names
from ragstone.reports.facts import CAUSES, LABELS
from ragstone.reports.format import decimal
from ragstone.results.metric_summary import FAILED, SCORED
from ragstone.results.ranking_run import RankingRows
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.gate import Gate, reaches
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import MetricInfo, Score

# Worst samples: those that did worst by the metric that matters most, and why, in words.

SHOWN = 3
LONGEST = 200
"""Characters told of a claim, so that there is room for the reason."""


@dataclass(frozen=True)
class WorstSample:
    """A sample that did badly by a metric; `value` is None if the score failed.

    `why` is the first failing claim, or the reason; "" if there is none. All is from outside.
    """

    id: str
    query: str
    value: float | None
    why: str


def focus(run: Run) -> str | None:
    """Return the metric to look at first: of a gate that did not pass, of a gate, a judged one.

    The first metric where none of them is there; None where no metric was run.
    """
    gates = run.gates()
    candidates = (
        *(gate.metric for gate in gates if not gate.passed),
        *(gate.metric for gate in gates),
        *(name for name in run.metrics if run.tally.scores[name].judged),
        *run.metrics,
    )
    return next((name for name in candidates if name in run.metrics), None)


def worst(run: Run, name: str) -> tuple[WorstSample, ...]:
    """Return the samples that did worst by a metric, at most SHOWN, then the first that failed.

    Those that could not have scored better are not among them. No other rows are read.
    """
    return tuple(islice(_worst(run, name), SHOWN))


def _worst(run: Run, name: str) -> Iterator[WorstSample]:
    tally, info = run.tally.scores[name], run.metrics[name]
    best = info.high if info.higher_is_better else info.low
    for placed in tally.worst(higher_is_better=info.higher_is_better):
        if placed.value != best and (row := row_at(run.rows, placed.place)) is not None:
            why = failing_claim(row.scores[name]) or row.scores[name].reason or ""
            yield WorstSample(row.sample.id, row.sample.query, placed.value, why)
    for cause, first in sorted(tally.failed.items(), key=lambda item: item[1]):
        if (row := row_at(run.rows, first.place)) is not None:
            why = f"failed, {CAUSES[cause]}: {first.words}"
            yield WorstSample(row.sample.id, row.sample.query, None, why)


def failing_claim(score: Score) -> str:
    """Say what the first failing claim of a score is, and why; "" if none failed."""
    failing = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
    if not failing:
        return ""
    claim = failing[0]
    why = f" ({claim.reason})" if claim.reason else ""
    more = f"; and {len(failing) - 1} more" if len(failing) > 1 else ""
    return f"{LABELS[claim.label]}: {one_line(claim.text, LONGEST)}{why}{more}"


def row_at(rows: Sequence[Row], place: int) -> Row | None:
    """Return the row at a place of the data set; None if it is not there.

    The rows stand ordered by place. A row is no further on than its place, and no further back
    than there are rows missing, so of stored ones few are read.
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


GOAL = 0.05
"""How near a mean should be known, as a share of the metric's range."""
WIDE = 0.1
"""How wide, to either side, an interval is that says too little."""
ENOUGH = math.ceil((1.96 * 0.5 / GOAL) ** 2)
"""Samples that bring any metric within GOAL: no scores vary more than half 0 and half 1."""


def next_step(run: Run, *, first: bool = False) -> str | None:
    """Return what to do next; None where there is nothing useful to say.

    `first` tells that the run is the first of its store. Of a run that was stopped, whoever
    stopped it says how it goes on.
    """
    if run.partial or run.stopped or not run.metrics:
        return None
    failures = _failures(run)
    if failures and _too_many_failed(run):
        return failures
    if any(gate.passed is False for gate in run.gates()):
        return _look(run)
    return failures or _more_samples(run) or (_baseline(run) if first else None)


def _too_many_failed(run: Run) -> bool:
    limit = run.manifest.plan.max_failure_rate
    summaries = run.summary().values()
    return any(each.failed > limit * (each.scored + each.failed) for each in summaries)


def _look(run: Run) -> str:
    name = run.manifest.run_id
    if not run.stored:
        return "look at the samples behind the gate: run it again with --html report.html"
    return (
        "look at the samples behind the gate: "
        f"`ragstone report {name} --html report.html`, or `ragstone view {name}`"
    )


def _failures(run: Run) -> str | None:
    """Say what to do about the commonest cause for which scores failed."""
    before = run.tally.failed_before
    causes = Counter[Cause]()
    for tally in run.tally.scores.values():
        causes.update(tally.causes)
    if not causes:
        return None
    [(cause, number)] = (causes - before).most_common(1) or [(None, 0)]
    if cause is None or before.total() > number:
        return _failed_before(run)
    health = run.tally.health()
    if cause is Cause.MALFORMED and health is not None and health.failed:
        return None  # it may be the target's reply that was not readable, or the judge's
    cure = _cures(run).get(cause)
    return cure and f"{count(number, 'score')} failed ({CAUSES[cause]}): {cure}"


def _failed_before(run: Run) -> str:
    """Say what helps where calls had failed before: to score their rows again asks nobody."""
    number, named = run.tally.failed_before.total(), run.manifest.source.name
    return (
        f"{count(number, 'score')} failed as calls had failed before, by what {named} says: "
        "collect these answers again, or fix the file; then run it again"
    )


def _cures(run: Run) -> Mapping[Cause, str]:
    manifest = run.manifest
    plan = manifest.plan
    again = "run it again"
    if run.stored and run.columns is not None:
        again = "evaluate the file again with `ragstone rank`"
    elif run.stored and manifest.source.path is not None and ORIGIN not in manifest.identity:
        again = f"`ragstone resume {manifest.run_id} --retry-failed`"
    smaller = "" if plan.verify == "each" else ", or --verify each, which asks for less at once"
    return {
        Cause.TIMEOUT: f"{again}; if that times out too, a run with --timeout {2 * plan.timeout:g}",
        Cause.RATE_LIMITED: f"{again}; if that is refused too, a run with --rpm, or with a lower "
        f"--concurrency than {plan.concurrency}",
        Cause.UNREACHABLE: f"see that the service answers, then {again}",
        Cause.REFUSAL: "another --model may answer what this one refuses",
        Cause.TRUNCATED: _longer(run),
        Cause.MALFORMED: f"a run with another --model{smaller}",
        Cause.COUNT_MISMATCH: f"a run with another --model{smaller}",
        Cause.METRIC_ERROR: f"fix the metric, then {again}",
    }


def _longer(run: Run) -> str:
    """Say what lets replies end, or, where no LLM writes any, claims fit."""
    plan, health = run.manifest.plan, run.tally.health()
    of_target = health is not None and health.failed
    if not of_target and not any(map(is_model, split_names(plan.judge))):
        return (
            "a run with a larger length= of the local judge, if its model takes more, or with "
            "shorter claims"
        )
    return f"a run with --max-tokens {2 * plan.max_tokens} lets replies end"


def _more_samples(run: Run) -> str | None:
    """Say how many samples would make the interval narrow, where it is wide."""
    name = focus(run)
    if name is None:
        return None
    summary, info = run.summary()[name], run.metrics[name]
    span = info.high - info.low
    if summary.interval is None or not 0 < span < math.inf:
        return None
    half = (summary.interval[1] - summary.interval[0]) / 2
    if half <= WIDE * span:
        return None
    needed = summary.scored * (half / (GOAL * span)) ** 2
    if run.manifest.plan.cluster is None:  # rows that belong together vary as one
        needed = min(needed, ENOUGH)
    return (
        f"{name} is known to ±{half:.2g} only, from {summary.scored:,} scored: "
        f"about {math.ceil(needed / 10) * 10:,} such samples would bring it to ±{GOAL * span:.2g}"
    )


def _baseline(run: Run) -> str | None:
    if not run.stored:
        return None
    name = run.manifest.run_id
    return (
        f"`ragstone runs tag {name} baseline` makes this run the one to beat; "
        "after a change, `ragstone compare baseline last`"
    )


# Marks: what scores are held against, and which of them fall short.


def marked(run: Run) -> tuple[str, ...]:
    """Return the metrics that have a gate or a pass mark."""
    gated = {gate.metric for gate in run.manifest.plan.gates}
    tallies = run.tally.scores
    return tuple(
        name for name in run.metrics if name in gated or tallies[name].threshold is not None
    )


def held(run: Run) -> tuple[str, ...]:
    """Return the metrics that have a gate or a pass mark; where none has, all of them."""
    return marked(run) or tuple(run.metrics)


def shortfall(score: Score, info: MetricInfo, gates: Sequence[Gate]) -> str | None:
    """Say which mark a score falls short of; None where it does not, or there is no number.

    Its own pass mark decides where it has one. Else the marks of those gates do that are on the
    metric's mean or the interval of it; a share of scored rows says nothing of one sample.
    """
    if score.value is None:
        return None
    value = decimal(score.value)
    if score.passed is not None:
        sign = ">=" if info.higher_is_better else "<="
        mark = "" if score.threshold is None else f", {sign} {score.threshold:g}"
        return None if score.passed else f"{value} does not reach the threshold{mark}"
    for gate in gates:
        if gate.of != "scored" and not reaches(score.value, gate.threshold, gate.op):
            limit = f"{gate.op} {gate.threshold:g}"
            return f"{value} is not {limit}, the threshold of the gate on the {gate.of}"
    return None


# Excerpt: the queries of a ranking's run that a report tells, where all are too many.

MOST = 1000
"""Queries that a page, or a report of tests, tells one by one."""


@dataclass(frozen=True)
class _Few(LazyRows):
    """The rows at some places of others."""

    rows: Sequence[Row]
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def at(self, place: int) -> Row:
        """Return the row at one of the places."""
        return self.rows[self.places[place]]


def excerpt(run: Run, most: int = MOST) -> tuple[Run, str | None]:
    """Return a run with at most so many rows, and in words which; None where it has all.

    Of a ranking's run these are the queries on which any of its metrics failed, or that did worst
    by any; all other runs stay as they are. What the run came to stays that of all rows.
    """
    rows = run.columns
    if rows is None or len(rows) <= most:
        return run, None
    orders = [
        _order(rows, name, higher=info.higher_is_better) for name, info in run.metrics.items()
    ]
    nearest = np.minimum.reduce(orders)
    places = np.sort(np.argsort(nearest, kind="stable")[:most])
    said = (
        f"{most:,} of {len(rows):,} queries, those that failed or did worst by one metric or "
        "another; --rows FILE writes all"
    )
    return replace(run, rows=_Few(rows, places.tolist()), counted=run.tally), said


def _order(rows: RankingRows, metric: str, *, higher: bool) -> NDArray[np.int64]:
    """Return int64[Q]: 0 for the query that failed or did worst, then 1 ...; undefined last."""
    numbers, states = rows.column(metric)
    none = np.where(states == FAILED, -np.inf, np.inf)
    worst_first = np.where(states == SCORED, numbers if higher else -numbers, none)
    order = np.empty(len(rows), dtype=np.int64)
    order[np.argsort(worst_first, kind="stable")] = np.arange(len(rows))
    return order
