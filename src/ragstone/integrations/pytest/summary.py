"""The summary at the end of a pytest session."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add

from ragstone._internal.fields import FrozenModel
from ragstone._internal.text import count, one_line
from ragstone.integrations.pytest import SKIPPED
from ragstone.reports.facts import CAUSES
from ragstone.reports.format import decimal, dollars, interval
from ragstone.results.metric_summary import MetricSummaryBuilder
from ragstone.results.run import Run
from ragstone.types.reply import Usage
from ragstone.types.score import NOTHING, MetricInfo, Score


class WorkerReport(FrozenModel):
    """The scores of one sample without their claims, the judge, the cost, and the file's notes."""

    judge: str | None
    metrics: dict[str, MetricInfo]
    scores: dict[str, Score]
    usage: Usage
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, run: Run) -> "WorkerReport":
        """Summarize a run of one sample."""
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


HEAD = ("metric", "mean", "95% interval", "scored", "undefined", "failed", "imputed")


def summary_lines(texts: Iterable[str], skipped: Iterable[str]) -> Iterator[str]:
    """Yield the summary of the tests' reports (JSON) and of the skip reasons.

    Samples are treated as independent, also those of one test.
    """
    reports = [WorkerReport.model_validate_json(text) for text in texts]
    if judges := sorted({report.judge for report in reports if report.judge is not None}):
        yield f"judge: {', '.join(judges)}"
    if reports:
        yield from _table(reports)
        usage = reduce(add, (report.usage for report in reports), Usage())
        if usage.local_calls:
            yield f"{count(usage.local_calls, 'call')} to a local model, free"
        if usage.calls or usage.cached:
            cached = f", {usage.cached:,} more from the cache" if usage.cached else ""
            price = usage.cost_usd
            cost = "price unknown" if price is None else f"about {dollars(price)}"
            yield f"{count(usage.calls, 'judge call')}{cached}, {cost}"
    for note in dict.fromkeys(note for report in reports for note in report.notes):
        yield f"note: {one_line(note)}"
    for reason, number in Counter(text.removeprefix(SKIPPED) for text in skipped).most_common():
        yield f"{count(number, 'test')} skipped: {reason}"


def _table(reports: Sequence[WorkerReport]) -> Iterator[str]:
    infos: dict[str, MetricInfo] = {}
    summaries: dict[str, MetricSummaryBuilder] = {}
    for place, report in enumerate(reports):
        infos |= report.metrics
        for name, score in report.scores.items():
            summaries.setdefault(name, MetricSummaryBuilder()).add(score, place=place)
    rows: list[tuple[str, ...]] = [HEAD]
    for name, builder in summaries.items():
        low, high = infos[name].range
        summary = builder.summary(low=low, high=high)
        counts = (summary.scored, summary.undefined, summary.failed, summary.flagged)
        figures = (decimal(summary.mean), interval(summary.interval))
        rows.append((name, *figures, *(f"{number:,}" for number in counts)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0].ljust(widths[0]), *cells])
    for name, builder in summaries.items():
        for cause, number in builder.causes.most_common():
            yield f"{name} failed, {CAUSES[cause]}: {number:,}"
