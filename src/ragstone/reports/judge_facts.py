"""What a reader must know of the judge: what it took, who reached the mark, what to look at."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ragstone.claims import ClaimIssue
from ragstone.messages import count
from ragstone.reports.figures import dollars, milliseconds, percent
from ragstone.run import Run
from ragstone.scores import Summary
from ragstone.stats.shares import Share

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
        f"{told.up:,} of {count(told.verdicts, 'verdict')} ({percent(told.up / told.verdicts)}) "
        f"went up to the second judge; it was spared {count(told.saved, 'call')} or more"
    )
    if told.control:
        yield (
            f"of the sure verdicts, {told.control:,} were asked of both as a control; whether the "
            f"claim is supported, both agreed on {Share(told.alike, told.control)}; on "
            f"{told.same:,} on the very label"
        )
    else:
        yield "no verdict was asked of both: how far the two agree is not known"


def mark_lines(run: Run, name: str) -> Iterator[str]:
    """Say how many scores reached their mark, if they have one."""
    tally = run.tally.scores[name]
    if tally.mark is not None:
        sign = ">=" if run.metrics[name].higher_is_better else "<="
        yield (
            f"{name} {sign} {tally.mark:g}: reached by {tally.passed:,} of {tally.marked:,} scored "
            f"({percent(tally.passed / tally.marked)})"
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
