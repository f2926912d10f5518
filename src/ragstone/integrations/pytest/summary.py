"""The summary at the end of a pytest session: what the samples of all tests came to."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import add

from pydantic import BaseModel, ConfigDict

from ragstone._internal.text import count, one_line
from ragstone.integrations.pytest.plugin import SKIPPED
from ragstone.reports.facts import CAUSES
from ragstone.reports.format import decimal, dollars, interval
from ragstone.results.metric_summary import MetricSummaryBuilder
from ragstone.results.run import Run
from ragstone.types.reply import Usage
from ragstone.types.score import NOTHING, MetricInfo, Score, Summary

# Told: what one evaluated sample came to, as a test's report carries it.


class Told(BaseModel):
    """The scores of one sample without their claims, who judged, and what that cost.

    `notes` say what a reader of the numbers should know of the sample's file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str | None
    metrics: dict[str, MetricInfo]
    scores: dict[str, Score]
    usage: Usage
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> "Told":
        """Return what a run of one sample came to."""
        bare = {"claims": (), "detail": NOTHING}
        source = run.manifest.source
        return cls(
            judge=run.manifest.judge,
            metrics=dict(run.metrics),
            scores={
                name: score.model_copy(update=bare) for name, score in run.rows[0].scores.items()
            },
            usage=run.usage(),
            notes=tuple(f"{source.name}: {note}" for note in source.notes),
        )


HEAD = ("metric", "mean", "95 % interval", "scored", "undefined", "failed", "made up")


def summary_lines(texts: Iterable[str], skipped: Iterable[str]) -> Iterator[str]:
    """Yield the lines, of what tests told (each a Told as text) and of why tests were skipped.

    Samples of one test count as so many: nothing is known of what they share.
    """
    told = [Told.model_validate_json(text) for text in texts]
    if judges := sorted({each.judge for each in told if each.judge is not None}):
        yield f"judge: {', '.join(judges)}"
    if told:
        yield from _table(told)
        yield from _cost(reduce(add, (each.usage for each in told), Usage()))
    for note in dict.fromkeys(note for each in told for note in each.notes):
        yield f"note: {one_line(note)}"
    for reason, number in Counter(said.removeprefix(SKIPPED) for said in skipped).most_common():
        yield f"{count(number, 'test')} skipped: {reason}"


def _table(told: Sequence[Told]) -> Iterator[str]:
    infos: dict[str, MetricInfo] = {}
    tallies: dict[str, MetricSummaryBuilder] = {}
    for place, each in enumerate(told):
        infos |= each.metrics
        for name, score in each.scores.items():
            tallies.setdefault(name, MetricSummaryBuilder()).add(score, place=place)
    rows = [HEAD, *(_cells(name, tally, infos) for name, tally in tallies.items())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells])
    for name, tally in tallies.items():
        for cause, number in tally.causes.most_common():
            yield f"{name} failed, {CAUSES[cause]}: {number:,}"


def _cells(
    name: str, tally: MetricSummaryBuilder, infos: Mapping[str, MetricInfo]
) -> tuple[str, ...]:
    low, high = infos[name].range
    summary: Summary = tally.summary(low=low, high=high)
    numbers = (summary.scored, summary.undefined, summary.failed, summary.flagged)
    figures = (decimal(summary.mean), interval(summary.interval))
    return (name, *figures, *(f"{number:,}" for number in numbers))


def _cost(usage: Usage) -> Iterator[str]:
    if usage.local_calls:
        yield f"{count(usage.local_calls, 'call')} of a model on this machine, free"
    if not usage.calls and not usage.cached:
        return
    cached = f", {usage.cached:,} more from the cache" if usage.cached else ""
    cost = "of unknown price" if usage.cost_usd is None else f"about {dollars(usage.cost_usd)}"
    yield f"{count(usage.calls, 'call')} of the judge{cached}, {cost}"
