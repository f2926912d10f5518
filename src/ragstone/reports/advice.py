"""What to do next with a run, in one sentence."""

import math
from collections import Counter

from ragstone._internal.text import count
from ragstone.errors import Cause
from ragstone.judges.spec import is_model, split_names
from ragstone.reports.format import CAUSES
from ragstone.reports.worst import focus_metric
from ragstone.results.run import Run
from ragstone.types.config import ORIGIN

GOAL = 0.05
"""Desired margin of a mean, as a share of the metric's range."""
WIDE = 0.1
"""Margin above which more samples are recommended."""
ENOUGH = math.ceil((1.96 * 0.5 / GOAL) ** 2)
"""Samples that bring any metric within GOAL; half 0 and half 1 varies the most."""


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
