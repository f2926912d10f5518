"""Facts: what a reader of a run's numbers must know about it, in words every report shares."""

import re
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragstone.claims import Label
from ragstone.errors import Cause
from ragstone.messages import count
from ragstone.metrics import catalogue
from ragstone.reports.figures import decimal, milliseconds, percent
from ragstone.reports.judge_facts import (
    blame_lines,
    cascade_lines,
    coverage,
    made_up,
    mark_lines,
    score_notes,
    usage_lines,
)
from ragstone.run import Run
from ragstone.scores import MetricInfo, Summary

SHOWN = 3
"""Reasons and notes that are told one by one; the rest are counted."""
LONGEST = 300
"""Characters told of one reason; servers answer with whole pages."""

CAUSES: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.REFUSAL: "refused",
        Cause.TRUNCATED: "cut off",
        Cause.MALFORMED: "not readable",
        Cause.COUNT_MISMATCH: "not one answer each",
        Cause.TIMEOUT: "timed out",
        Cause.RATE_LIMITED: "too many requests",
        Cause.UNREACHABLE: "no answer",
        Cause.BUDGET: "over budget",
        Cause.METRIC_ERROR: "the metric itself failed",
    }
)
LABELS: Mapping[Label, str] = MappingProxyType(
    {
        Label.SUPPORTED: "supported",
        Label.PARTIALLY_SUPPORTED: "supported in part",
        Label.CONTRADICTED: "contradicted",
        Label.NOT_ENOUGH_INFO: "not stated",
    }
)


@dataclass(frozen=True)
class Fact:
    """One thing to know: what it is about, and the words; may hold text from outside."""

    about: str
    words: str
    alarming: bool = False


def facts(run: Run, names: Sequence[str]) -> tuple[Fact, ...]:
    """Return what the numbers of those metrics were made from and how, and how the gates went."""
    manifest = run.manifest
    source = manifest.source
    families = {run.metrics[name].family for name in names}
    return (
        Fact("Data set", f"{source.name} ({count(len(run.rows), 'row')} evaluated)"),
        Fact("Target", _target(run)),
        *_ranked(run, [name for name in names if "ranking" in run.metrics[name].needs]),
        *(_judged(run, names) if "generation" in families else ()),
        *(Fact("Not run", f"{name}: {why}") for name, why in _not_run(run, families)),
        *_gates(run),
        *(Fact("Note", note) for note in (*source.notes, *_row_notes(run))),
        *(Fact("Note", note) for name in names for note in score_notes(run, name)),
        *(Fact("Made up", said, alarming=True) for name in names for said in made_up(run, name)),
    )


def titles(metrics: Mapping[str, MetricInfo]) -> dict[str, str]:
    """Return each metric's label by its name, and the name itself where labels are alike."""
    labels = Counter(info.label for info in metrics.values())
    return {name: info.label if labels[info.label] == 1 else name for name, info in metrics.items()}


def cutoff(run: Run, name: str) -> int:
    """Return the rank a metric cuts at: the one that its name says, else the plan's."""
    match = re.search(r"@(\d+)", name)
    return int(match[1]) if match else max(run.manifest.plan.cutoffs)


def partial_notice(run: Run) -> str:
    """Say that a run was stopped early and what its numbers are over."""
    return (
        f"the run was stopped before every row was finished{_why_stopped(run)}; "
        f"these numbers are over {len(run.rows):,} of {count(run.manifest.source.rows, 'row')}"
    )


def _why_stopped(run: Run) -> str:
    return f": {run.stopped}" if run.stopped else ""


def why_undefined(run: Run, name: str) -> str:
    """Say why scores of that metric are undefined, the commonest reason first; "" if none is."""
    reasons = run.tally.scores[name].undefined
    told = [f"{reason} ({number:,})" for reason, number in reasons.most_common(SHOWN)]
    return _listed(told, len(reasons), "other reason")


def why_failed(run: Run, name: str) -> str:
    """Say why scores of that metric failed, each cause with its first row; "" if none did."""
    tally = run.tally.scores[name]
    return "; ".join(
        f"{CAUSES[cause]} ({number:,}, first {tally.failed[cause]})"
        for cause, number in tally.causes.most_common()
    )


def had_all_scored(summary: Summary) -> str:
    """Say where the mean would lie if what failed had scored worst, and best; "" if none did."""
    if not summary.failed or summary.bounds is None or summary.mean is None:
        return ""
    worst, best = map(decimal, summary.bounds)
    return f"the mean would be {worst} if all that failed were the worst, {best} if the best"


def why_no_mean(summary: Summary) -> str:
    """Say why there is no mean."""
    if not summary.n:
        return "there are no rows"
    return f"nothing was scored: {summary.undefined:,} undefined, {summary.failed:,} failed"


def _target(run: Run) -> str:
    health = run.tally.health()
    name = run.manifest.target
    if health is None:
        return f"{name}: not asked" if name else "none was asked"
    return (
        f"{name or 'unnamed'}: {count(sum(health.asked.values()), 'call')}, "
        f"{sum(health.failed.values()):,} failed ({percent(health.error_rate)}), "
        f"latency p50 {milliseconds(health.p50_ms)}, p95 {milliseconds(health.p95_ms)}"
    )


def _ranked(run: Run, names: Sequence[str]) -> list[Fact]:
    """Say in how many rows the contexts were taken for the ranking."""
    rows = max((run.tally.scores[name].unranked for name in names), default=0)
    said = (
        f"the contexts, in {count(rows, 'row')} without a ranking of its own, or without its texts"
    )
    return [Fact("Ranked", said)] if rows else []


def _not_run(run: Run, families: Container[str]) -> list[tuple[str, str]]:
    """Return what was not run and why, of these families; all, where none was run."""
    known = catalogue()
    return [
        (name, why)
        for name, why in run.manifest.not_run.items()
        if not families
        or (bare := re.split("[@:,]", name)[0]) not in known
        or known[bare].family in families
    ]


def _judged(run: Run, names: Sequence[str]) -> list[Fact]:
    manifest = run.manifest
    note = f": {manifest.judge_note}" if manifest.judge_note else ""
    judge = f"{manifest.judge}{note}" if manifest.judge else "none was asked"
    marks = [Fact("Pass mark", said) for name in names for said in mark_lines(run, name)]
    usage = [Fact("Usage", said) for said in usage_lines(run)]
    usage += [Fact("Cascade", said) for said in cascade_lines(run)]
    usage += [Fact("Judge test", manifest.judge_test)] if manifest.judge_test else []
    policy = [Fact("Policy", ", ".join(run.policies))] if run.policies else []
    blame = [Fact("Blame", said) for said in blame_lines(run)]
    lower = [name for name in names if not run.metrics[name].higher_is_better]
    sense = [Fact("Lower is better", ", ".join(lower))] if lower else []
    return [Fact("Judge", judge), *usage, *policy, *sense, *marks, *blame]


def _gates(run: Run) -> list[Fact]:
    summaries = run.summary()
    words = {True: "passed", False: "FAILED", None: "NOT TOLD"}
    return [
        Fact(
            "Gate",
            f"{words[result.passed]}: {result} ({coverage(summaries[result.metric])})",
            alarming=result.passed is not True or run.partial,
        )
        for result in run.gates()
    ]


def _row_notes(run: Run) -> list[str]:
    notes = run.tally.notes
    told = [f"{note} ({count(number, 'row')})" for note, number in notes.most_common(SHOWN)]
    if (rest := len(notes) - len(told)) > 0:
        told.append(f"and {count(rest, 'other note')} in the rows")
    return told


def _listed(told: Sequence[str], of: int, noun: str) -> str:
    rest = of - len(told)
    return "; ".join([*told, f"and {count(rest, noun)}"] if rest else told)
