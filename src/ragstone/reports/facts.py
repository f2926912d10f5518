"""What every report states about a run beside its scores: data, target, judge, gates and notes."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import cast

from ragstone._internal.text import count, join_by_reason, quoted
from ragstone.errors import Cause
from ragstone.metrics import catalogue
from ragstone.reports.format import decimal, dollars, milliseconds, percent
from ragstone.results.run import Run
from ragstone.results.stats.intervals import Share
from ragstone.types.claim import ClaimIssue, Label
from ragstone.types.config import Plan
from ragstone.types.gate import GateResult
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Correction, MetricInfo, Summary

LISTED = 3
"""Reasons and notes that are listed; the rest are counted."""

CAUSES: Mapping[Cause, str] = MappingProxyType(
    {
        Cause.REFUSAL: "refused",
        Cause.TRUNCATED: "truncated",
        Cause.MALFORMED: "unreadable reply",
        Cause.COUNT_MISMATCH: "wrong number of answers",
        Cause.TIMEOUT: "timed out",
        Cause.RATE_LIMITED: "rate limited",
        Cause.UNREACHABLE: "unreachable",
        Cause.REJECTED: "request rejected",
        Cause.BUDGET: "over budget",
        Cause.METRIC_ERROR: "error in the metric",
        Cause.JUDGE_ERROR: "error in the judge",
        Cause.TARGET_ERROR: "error in the target",
    }
)
"""Cause -> its name in all reports for people; files for programs have the cause itself."""
LABELS: Mapping[Label, str] = MappingProxyType(
    {
        Label.SUPPORTED: "supported",
        Label.PARTIALLY_SUPPORTED: "partially supported",
        Label.CONTRADICTED: "contradicted",
        Label.NOT_ENOUGH_INFO: "not stated",
    }
)
CLAIM_PROBLEMS: Mapping[ClaimIssue, str] = MappingProxyType(
    {
        ClaimIssue.NOT_RETRIEVED: "missing because not retrieved",
        ClaimIssue.IGNORED: "missing although retrieved",
        ClaimIssue.CONTRADICTED: "contradicted by the contexts",
        ClaimIssue.NOT_FOUND: "not found in any context",
    }
)


def cause_in_words(cause: str | None) -> str | None:
    known = {each.value: words for each, words in CAUSES.items()}
    return known.get(cause, cause) if cause else None


def gate_state(run: Run, gate: GateResult) -> str:
    if gate.passed and run.troubles:
        return "INCONCLUSIVE"
    return {True: "passed", False: "FAILED", None: "UNDETERMINED"}[gate.passed]


@dataclass(frozen=True)
class SummaryLine:
    """One statement about a run; the text may come from outside."""

    label: str
    text: str
    alarming: bool = False


MIN_JUDGED = 3
"""Rows without any relevant document from which the ids are probably of different kinds."""


def summarize_run(run: Run) -> dict[str, object]:
    lines = [vars(line) for line in summary_lines(run, list(run.metrics))]
    return run.to_dict() | {"titles": metric_titles(run.metrics), "facts": lines}


def summary_lines(run: Run, names: Sequence[str]) -> tuple[SummaryLine, ...]:
    manifest, counts, summaries = run.manifest, run.counts.scores, run.summary()
    families = {run.metrics[name].family for name in names}
    data = f"{manifest.source.name} ({count(len(run.rows), 'row')} evaluated)"
    lines = [*correction_lines({name: summaries[name] for name in names})]
    lines += [SummaryLine("Data set", data), SummaryLine("Target", _target(run))]

    ranked = [name for name in names if "ranking" in run.metrics[name].needs]
    if rows := max((counts[name].unranked for name in ranked), default=0):
        words = f"the order of the contexts in {count(rows, 'row')} without a ranking of texts"
        lines.append(SummaryLine("Ranking", words))
    judged = run.counts.judged_rankings
    if "retrieval" in families and judged >= MIN_JUDGED and run.counts.first_unmatched:
        retrieved, relevant = map(quoted, run.counts.first_unmatched)
        words = (
            f"no retrieved id is among the relevant ids in any of {count(judged, 'row')} "
            f"(first: retrieved {retrieved}, relevant {relevant}); check that both use the same ids"
        )
        lines.append(SummaryLine("Ids", words, alarming=True))
    if "generation" in families:
        lines += _judge_lines(run, names)
    known = catalogue() if manifest.not_run else dict[str, MetricInfo]()
    others = {info.family for info in run.metrics.values()} - families  # in a file of their own
    not_run = {
        name: why
        for name, why in manifest.not_run.items()
        if (metric := known.get(re.split("[@:,]", name)[0])) is None or metric.family not in others
    }
    lines += [SummaryLine("Not run", line) for line in join_by_reason(not_run)]

    for result in run.gates():
        words = f"{gate_state(run, result)}: {result} ({coverage(summaries[result.metric])})"
        alarming = result.passed is not True or bool(run.troubles)
        lines.append(SummaryLine("Gate", words, alarming))

    lines += [SummaryLine("Intervals", line) for line in run.counts.grouping.lines()]
    lines += [SummaryLine("Note", note) for note in manifest.source.notes]
    notes = run.counts.notes
    for note, number in notes.most_common(LISTED):
        lines.append(SummaryLine("Note", f"{note} ({count(number, 'row')})"))
    if (rest := len(notes) - LISTED) > 0:
        lines.append(SummaryLine("Note", f"{count(rest, 'more note')} in the rows"))
    for name in names:
        if note := counts[name].note:
            words = f"{name}: {count(counts[name].noted, 'score')} with a note, first {note}"
            lines.append(SummaryLine("Note", words))
    for name in names:
        if first := counts[name].imputed:
            flagged = count(counts[name].flagged, "score")
            words = f"{name}: {flagged} imputed by the policy, first {first}"
            lines.append(SummaryLine("Imputed", words, alarming=True))
    return tuple(lines)


def correction_lines(summaries: Mapping[str, Summary]) -> Iterator[SummaryLine]:
    for name, summary in summaries.items():
        if found := summary.corrected:
            for line in correction(found):
                yield replace(line, text=f"{name}: {line.text}")


def _target(run: Run) -> str:
    health, name = run.counts.health(), run.manifest.target
    if health is None:
        return f"{name}: not called" if name else "none (the data has the answers)"
    return (
        f"{name or 'unnamed'}: {count(sum(health.asked.values()), 'call')}, "
        f"{sum(health.failed.values()):,} failed ({percent(health.error_rate)}), "
        f"latency p50 {milliseconds(health.p50_ms)}, p95 {milliseconds(health.p95_ms)}"
    )


def _judge_lines(run: Run, names: Sequence[str]) -> Iterator[SummaryLine]:
    manifest = run.manifest
    note = f": {manifest.judge_note}" if manifest.judge_note else ""
    yield SummaryLine("Judge", f"{manifest.judge}{note}" if manifest.judge else "none needed")
    yield from _usage_lines(run)
    yield from _cascade_lines(run)
    if manifest.judge_test:
        yield SummaryLine("Judge test", manifest.judge_test)
    if run.policies:
        yield SummaryLine("Policy", ", ".join(run.policies))
    if lower := [name for name in names if not run.metrics[name].higher_is_better]:
        yield SummaryLine("Lower is better", ", ".join(lower))
    for name in names:
        counts = run.counts.scores[name]
        if counts.threshold is not None:
            sign = ">=" if run.metrics[name].higher_is_better else "<="
            share = percent(counts.passed / counts.marked)
            yield SummaryLine(
                "Threshold",
                f"{name} {sign} {counts.threshold:g}: passed by {counts.passed:,} of "
                f"{counts.marked:,} scored ({share})",
            )
        if lost := counts.quotes_not_found:
            words = f"{name}: {lost:,} of {count(counts.quotes, 'quote')} from the judge"
            words += " were not found in the texts; review these verdicts first"
            yield SummaryLine("Quotes", words, alarming=True)
        if whole := counts.whole:
            likely = sum(each > 0.5 for each in whole)
            yield SummaryLine(
                "Whole responses",
                f"{name}: {likely:,} of {len(whole):,} are more likely than not supported in all "
                f"claims (mean probability {math.fsum(whole) / len(whole):.2f})",
            )
    found = run.counts.blame
    problems = [f"{found[b]:,} {words}" for b, words in CLAIM_PROBLEMS.items() if found.get(b)]
    if problems:
        yield SummaryLine("Claim problems", "; ".join(problems))


def _usage_lines(run: Run) -> Iterator[SummaryLine]:
    usage, latency = run.usage(), run.counts.judge_latencies.percentiles()
    if usage.local_calls:
        yield SummaryLine(
            "Usage",
            f"{count(usage.local_calls, 'call')} to a local model, {usage.local_tokens:,} tokens "
            "(no cost; limits do not apply)",
        )
    replies = "1 reply" if usage.cached == 1 else f"{usage.cached:,} replies"
    if usage.calls:
        retries = f" ({usage.retries:,} retries)" if usage.retries else ""
        saved = f" ({run.counts.calls_saved:,} saved by sharing)" if run.counts.calls_saved else ""
        cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
        silent = f" ({usage.reasoning_tokens:,} reasoning)" if usage.reasoning_tokens else ""
        cost = "price unknown"
        if usage.cost_usd is not None:
            cost = f"about {dollars(usage.cost_usd)} at list prices"
        if usage.prompt_tokens or usage.retries or usage.cached:
            yield SummaryLine(
                "Usage",
                f"{count(usage.calls, 'call')}{retries}{saved}, {replies} from the cache; "
                f"{usage.prompt_tokens:,} prompt tokens{cached}, "
                f"{usage.completion_tokens:,} completion tokens{silent}; {cost}; "
                f"p50 {milliseconds(latency['p50_ms'])}, p95 {milliseconds(latency['p95_ms'])} "
                "per answer",
            )
    elif usage.cached or (not usage.local_calls and (usage.prompt_tokens or usage.retries)):
        calls = "no remote calls" if usage.local_calls else "no calls"
        yield SummaryLine("Usage", f"{calls}; {replies} from the cache")


def _cascade_lines(run: Run) -> Iterator[SummaryLine]:
    stats = run.counts.cascade
    if stats is None:
        return
    if stats.unanswered:
        claims = count(stats.unanswered, "escalated claim")
        words = f"{claims} got no answer; the affected scores failed or follow the policy"
        yield SummaryLine("Cascade", words)
    if not stats.verdicts:
        return
    share = percent(stats.escalated / stats.verdicts)
    verdicts, saved = count(stats.verdicts, "verdict"), count(stats.saved, "call")
    words = f"{stats.escalated:,} of {verdicts} ({share}) escalated to the second judge"
    yield SummaryLine("Cascade", f"{words}; at least {saved} saved")
    words = "no confident verdict was audited, so the judges' agreement is unknown"
    if stats.audited:
        agreed = Share(stats.agreed_supported, stats.audited)
        words = (
            f"both judges were asked about {count(stats.audited, 'confident verdict')}; they agree "
            f"on whether the claim is supported in {agreed}, and on the exact label in "
            f"{stats.agreed_label:,}"
        )
    yield SummaryLine("Cascade", words)


def metric_titles(metrics: Mapping[str, MetricInfo]) -> dict[str, str]:
    labels = Counter(info.label for info in metrics.values())
    return {name: info.label if labels[info.label] == 1 else name for name, info in metrics.items()}


def texts_read(sample: Sample, needs: Collection[str]) -> tuple[str, tuple[Context, ...] | None]:
    grades = "ranking" in needs and "relevance" not in needs
    return sample.graded_texts if grades else ("contexts", sample.contexts)


def cutoff(run: Run, name: str) -> int:
    match = re.search(r"@(\d+)", name)
    return int(match[1]) if match else max(run.manifest.plan.cutoffs)


def coverage(summary: Summary) -> str:
    flagged = f", {summary.flagged:,} imputed by the policy" if summary.flagged else ""
    return f"{summary.scored:,} of {summary.n:,} scored{flagged}"


def correction(found: Correction) -> Iterator[SummaryLine]:
    if found.mean is not None and found.interval is not None and found.judge is not None:
        low, high = found.interval
        kind = f"{count(found.labels, 'labelled row')}, calibration {found.calibration}"
        if found.of == "responses":
            kind += "; shares of faithful responses, not mean scores"
        if found.method == "transported":
            kind += "; labels of another run, transported with the judge's error rates"
        yield SummaryLine(
            "Corrected",
            f"{found.mean:.2f} corrected ({low:.2f} to {high:.2f}); judge alone {found.judge:.2f} "
            f"({kind})",
        )
    if found.problem:
        effect = "does not apply" if found.mean is None else "decides no gate"
        words = f"calibration {found.calibration} {effect}: {found.problem}"
        yield SummaryLine("Calibration", words, alarming=True)


def partial_notice(run: Run) -> str:
    why = f": {run.stopped}" if run.stopped else ""
    rows = count(run.manifest.source.rows, "row")
    return f"the run stopped early{why}; {len(run.rows):,} of {rows} evaluated"


def why_undefined(run: Run, name: str) -> str:
    reasons = run.counts.scores[name].undefined
    listed = [f"{reason} ({number:,})" for reason, number in reasons.most_common(LISTED)]
    if (rest := len(reasons) - len(listed)) > 0:
        listed.append(f"and {count(rest, 'other reason')}")
    return "; ".join(listed)


def why_failed(run: Run, name: str) -> str:
    counts = run.counts.scores[name]
    return "; ".join(
        f"{CAUSES[cause]} ({number:,}, first {counts.failed[cause]})"
        for cause, number in counts.causes.most_common()
    )


def possible_mean(summary: Summary) -> str:
    if not summary.failed or summary.bounds is None or summary.mean is None:
        return ""
    low, high = map(decimal, summary.bounds)
    return f"mean between {low} and {high}, depending on {count(summary.failed, 'failed row')}"


def why_no_mean(summary: Summary) -> str:
    if not summary.n:
        return "no rows"
    return f"{summary.undefined:,} undefined, {summary.failed:,} failed"


def changed_settings(
    options: Mapping[str, object], *, exclude: Collection[str] = ()
) -> tuple[tuple[str, str], ...]:
    elsewhere = {"metrics", "gates", "judge", "target", "fallback_target", *exclude}

    def text(value: object) -> str:
        if isinstance(value, bool):
            return "yes" if value else "no"
        if isinstance(value, Mapping):
            pairs = cast("Mapping[object, object]", value).items()
            return ", ".join(f"{name}={given}" for name, given in pairs)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return ", ".join(map(str, cast("Sequence[object]", value)))
        return str(value)

    return tuple(
        (name.replace("_", " "), text(value))
        for name, value in options.items()
        if name not in elsewhere and value != _default_settings().get(name)
    )


@cache
def _default_settings() -> Mapping[str, object]:
    return Plan().model_dump(mode="json")
