"""Facts: what a reader of a run's numbers must know about it, in words every report shares."""

import re
from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import cast

from ragstone._internal.text import count
from ragstone.errors import Cause
from ragstone.metrics import catalogue
from ragstone.reports.format import decimal, dollars, milliseconds, percent
from ragstone.results.run import Run
from ragstone.results.stats.histograms import Share
from ragstone.types.claim import ClaimIssue, Label
from ragstone.types.config import Plan
from ragstone.types.score import MetricInfo, Summary

# What a reader must know of the judge: what it took, who reached the mark, what to look at.

BLAMES: Mapping[ClaimIssue, str] = MappingProxyType(
    {
        ClaimIssue.NOT_RETRIEVED: "missing (not retrieved)",
        ClaimIssue.IGNORED: "missing (retrieved and ignored)",
        ClaimIssue.CONTRADICTED: "contradicted by the contexts",
        ClaimIssue.MEMORY: "in no context (from the model's memory)",
    }
)


def usage_lines(run: Run) -> Iterator[str]:
    """Say what the judge took, if it took anything."""
    usage, latency = run.usage(), run.tally.judge_latency()
    if usage.local_calls:
        calls = count(usage.local_calls, "call")
        yield (
            f"{calls} of a model on this machine, {usage.local_tokens:,} tokens; nothing to pay, "
            "and no part of a limit"
        )
    if not usage.prompt_tokens and not usage.retries and not usage.cached:
        return
    again = f" ({usage.retries:,} of them again after a failure)" if usage.retries else ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    silent = f" ({usage.reasoning_tokens:,} of them reasoning)" if usage.reasoning_tokens else ""
    replies = "1 reply" if usage.cached == 1 else f"{usage.cached:,} replies"
    if not usage.calls:
        if usage.local_calls and not usage.cached:
            return
        asked = "no service was asked" if usage.local_calls else "nothing was asked"
        yield f"{asked}: {replies} came from the cache"
        return
    saved = ""
    if run.tally.calls_saved:
        saved = f" ({run.tally.calls_saved:,} saved, as metrics that ask the same ask once)"
    cost = "no price is known"
    if usage.cost_usd is not None:
        cost = f"about {dollars(usage.cost_usd)}, by list prices"
    yield (
        f"{count(usage.calls, 'call')}{again}{saved}, {replies} from the cache; "
        f"{usage.prompt_tokens:,} prompt tokens{cached}, "
        f"{usage.completion_tokens:,} completion tokens{silent}; {cost}; "
        f"answers took p50 {milliseconds(latency['p50_ms'])}, "
        f"p95 {milliseconds(latency['p95_ms'])}"
    )


def cascade_lines(run: Run) -> Iterator[str]:
    """Say how many verdicts went up to the dear judge, and how far it agreed with the cheap one."""
    told = run.tally.cascade
    if told is None:
        return
    if told.unanswered:
        claims = count(told.unanswered, "claim")
        failed = "what hangs on it is failed, or by the policy"
        yield f"{claims} went up and came back unanswered: {failed}"
    if not told.verdicts:
        return
    yield (
        f"{told.escalated:,} of {count(told.verdicts, 'verdict')} "
        f"({percent(told.escalated / told.verdicts)}) went up to the second judge; "
        f"it was spared {count(told.saved, 'call')} or more"
    )
    if told.audited:
        yield (
            f"of the sure verdicts, {told.audited:,} were asked of both as a control; whether the "
            f"claim is supported, both agreed on {Share(told.agreed_supported, told.audited)}; on "
            f"{told.agreed_label:,} on the very label"
        )
    else:
        yield "no verdict was asked of both: how far the two agree is not known"


def mark_lines(run: Run, name: str) -> Iterator[str]:
    """Say how many scores reached their mark, if they have one."""
    tally = run.tally.scores[name]
    if tally.threshold is not None:
        sign = ">=" if run.metrics[name].higher_is_better else "<="
        yield (
            f"{name} {sign} {tally.threshold:g}: reached by {tally.passed:,} of {tally.marked:,} "
            f"scored ({percent(tally.passed / tally.marked)})"
        )


def blame_lines(run: Run) -> Iterator[str]:
    """Say how many claims went wrong, and in which way."""
    found = run.tally.blame
    parts = [f"{found[blame]:,} {words}" for blame, words in BLAMES.items() if found.get(blame)]
    if parts:
        yield f"{count(sum(found.values()), 'claim')} went wrong: {'; '.join(parts)}"


def coverage(summary: Summary) -> str:
    """Say how many rows a mean is over, and how many of them nobody judged."""
    flagged = f", {summary.flagged:,} of them made up by the policy" if summary.flagged else ""
    return f"{summary.scored:,} of {summary.n:,} scored{flagged}"


def score_notes(run: Run, name: str) -> Iterator[str]:
    """Say of how many scores something should be known, and what it is of the first."""
    tally = run.tally.scores[name]
    if tally.note:
        yield f"{name}: {count(tally.noted, 'score')} with a note, first {tally.note}"


def made_up(run: Run, name: str) -> Iterator[str]:
    """Say how many numbers the policy made up, and why it did the first."""
    tally = run.tally.scores[name]
    if tally.made_up:
        yield f"{name}: {count(tally.flagged, 'score')}, by the policy; first {tally.made_up}"


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
    words = {True: "passed", False: "FAILED", None: "UNDETERMINED"}
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


# Settings: what a run was told beside its metrics, judge and target, in words.

_TOLD_ELSEWHERE = frozenset({"metrics", "gates", "judge", "target", "fallback_target"})
"""Options that are facts of their own in every report."""


def settings(
    options: Mapping[str, object], *, but: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the options that are not at their default, as names and words; `but` some."""
    usual = _usual()
    return tuple(
        (name.replace("_", " "), _words(value))
        for name, value in options.items()
        if name not in _TOLD_ELSEWHERE and name not in but and value != usual.get(name)
    )


@cache
def _usual() -> Mapping[str, object]:
    return Plan().model_dump(mode="json")


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return ", ".join(f"{name}={said}" for name, said in pairs)
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, cast("Sequence[object]", value)))
    return str(value)


# Summary: what a run came to, as plain data, with the words that every report shares.


def summary_of(run: Run) -> dict[str, object]:
    """Return the summary of `--json`, and with it each metric's title and the facts in words."""
    told = facts(run, list(run.metrics))
    return run.to_dict() | {"titles": titles(run.metrics), "facts": [vars(fact) for fact in told]}
