"""What a reader must know of the judge: what it took, who reached the mark, what to look at."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType

from ragstone.claims import Blame
from ragstone.messages import one_line
from ragstone.reports.figures import count, dollars, milliseconds, percent
from ragstone.run import Row, Run
from ragstone.scores import Summary

BLAMES: Mapping[Blame, str] = MappingProxyType(
    {
        Blame.NOT_RETRIEVED: "missing (not retrieved)",
        Blame.IGNORED: "missing (retrieved and ignored)",
        Blame.CONTRADICTED: "contradicted by the contexts",
        Blame.MEMORY: "in no context (from the model's memory)",
    }
)
LONGEST = 300
"""Characters told of one reason."""


def usage_lines(run: Run) -> Iterator[str]:
    """Say what the judge took, if it took anything."""
    usage, latency = run.usage(), run.judge_latency()
    if not usage.prompt_tokens and not usage.retries and not usage.cached:
        return
    again = f" ({usage.retries:,} of them again after a failure)" if usage.retries else ""
    cached = f" ({usage.cached_tokens:,} cached)" if usage.cached_tokens else ""
    silent = f" ({usage.reasoning_tokens:,} of them reasoning)" if usage.reasoning_tokens else ""
    if not usage.calls:
        replies = "1 reply" if usage.cached == 1 else f"{usage.cached:,} replies"
        yield f"nothing was asked: {replies} came from the cache"
        return
    saved = ""
    if run.calls_saved:
        saved = f" ({run.calls_saved:,} saved, as metrics that ask the same ask once)"
    cost = "no price is known"
    if usage.cost_usd is not None:
        cost = f"about {dollars(usage.cost_usd)}, by list prices"
    yield (
        f"{count(usage.calls, 'call')}{again}{saved}, {usage.cached:,} replies from the cache; "
        f"{usage.prompt_tokens:,} prompt tokens{cached}, "
        f"{usage.completion_tokens:,} completion tokens{silent}; {cost}; "
        f"answers took p50 {milliseconds(latency['p50_ms'])}, "
        f"p95 {milliseconds(latency['p95_ms'])}"
    )


def mark_lines(run: Run, name: str) -> Iterator[str]:
    """Say how many scores reached their mark, if they have one."""
    marked = [s for row in run.rows if (s := row.scores[name]).mark is not None]
    if marked:
        passed = sum(score.passed is True for score in marked)
        sign = ">=" if run.metrics[name].higher_is_better else "<="
        yield (
            f"{name} {sign} {marked[0].mark:g}: reached by {passed:,} of {len(marked):,} scored "
            f"({percent(passed / len(marked))})"
        )


def blame_lines(run: Run) -> Iterator[str]:
    """Say how many claims went wrong, and in which way."""
    found = run.blame()
    parts = [f"{found[blame]:,} {words}" for blame, words in BLAMES.items() if found.get(blame)]
    if parts:
        yield f"{count(sum(found.values()), 'claim')} went wrong: {'; '.join(parts)}"


def coverage(summary: Summary) -> str:
    """Say how many rows a mean is over, and how many of them nobody judged."""
    flagged = f", {summary.flagged:,} of them made up by the policy" if summary.flagged else ""
    return f"{summary.scored:,} of {summary.n:,} scored{flagged}"


def score_notes(run: Run, name: str) -> Iterator[str]:
    """Say of how many scores something should be known, and what it is of the first."""
    noted = [row for row in run.rows if row.scores[name].detail.get("note")]
    if noted:
        said = str(noted[0].scores[name].detail["note"])
        yield f"{name}: {count(len(noted), 'score')} with a note, {_first(noted[0], said)}"


def made_up(run: Run, name: str) -> Iterator[str]:
    """Say how many numbers the policy made up, and why it did the first."""
    flagged = [row for row in run.rows if row.scores[name].fallback]
    if flagged:
        said = flagged[0].scores[name].reason or ""
        yield f"{name}: {count(len(flagged), 'score')}, by the policy; {_first(flagged[0], said)}"


def _first(row: Row, said: str) -> str:
    return f"first {row.sample.id}: {one_line(said, LONGEST)}"
