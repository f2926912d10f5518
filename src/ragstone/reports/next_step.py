"""Next step: what to do after a run, in one line, from what happened in it."""

import math
from collections import Counter
from collections.abc import Mapping

from ragstone.errors import Cause
from ragstone.judge_names import is_model, split_names
from ragstone.messages import count
from ragstone.reports.facts import CAUSES
from ragstone.reports.worst import focus
from ragstone.rescoring import ORIGIN
from ragstone.run import Run

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
    limit = run.manifest.plan.max_failed
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
