"""The `Summary` sheet of a workbook: the scores, and the summary lines of the run."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragstone.reports.excel.book import Book, Page, Value, count_lines
from ragstone.reports.facts import (
    cutoff,
    metric_titles,
    partial_notice,
    summary_lines,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.format import NO_VALUE
from ragstone.results.run import Run
from ragstone.types.score import Summary

SHEET = "Summary"
_TABLE = {
    "Metric": 28,
    "Score": 12,
    "Score (%)": 11,
    "95 % low": 11,
    "95 % high": 11,
    "Total": 9,
    "Scored": 9,
    "Undefined": 11,
    "Failed": 9,
    "Imputed": 9,
}
"""Columns of the table of several metrics, with their widths."""
_PAIR = {"Metric": 28, "Value": 92}
_MAX_LINES = 27
"""Lines of the tallest row in Excel."""


@dataclass(frozen=True)
class Line:
    """A name and its value; `look` is one of the book's."""

    name: str
    value: Value
    look: str = "text"


def add_single(book: Book, run: Run, *, name: str) -> None:
    """Add the summary of one metric: two columns, one line per figure."""
    page = book.page(SHEET, list(_PAIR.values()))
    page.head(0, list(_PAIR))
    row = _write(page, 1, [*_partial(run), *_figures(run, name, run.summary()[name])])
    _write(page, row + 1, _run_lines(run, [name]))


def add_combined(book: Book, run: Run, *, names: Sequence[str]) -> None:
    """Add the summary of those metrics: a table, the summary lines, and a block per metric."""
    summaries = run.summary()
    titles = metric_titles(run.metrics)
    page = book.page(SHEET, list(_TABLE.values()))
    page.head(0, list(_TABLE))
    for row, name in enumerate(names, start=1):
        summary = summaries[name]
        low, high = summary.interval or (None, None)
        page.put(row, 0, titles[name], "name")
        counts = (
            summary.n, summary.scored, summary.undefined, summary.failed, summary.flagged,
        )  # fmt: skip
        scores = (summary.mean, _share(run, name, summary), low, high)
        looks = ("score", "percent", "score", "score", *["count"] * len(counts))
        for column, (value, look) in enumerate(zip((*scores, *counts), looks, strict=True), 1):
            page.put(row, column, NO_VALUE if value is None else value, look)
    row = len(names) + 2
    page.head(row, [*_PAIR, *[""] * (len(_TABLE) - len(_PAIR))])
    row = _write(page, row + 1, [*_partial(run), *_run_lines(run, names)])
    for name in names:
        page.spread(row + 1, 0, f"--- {titles[name]} ---", "block")
        row = _write(page, row + 2, _figures(run, name, summaries[name]))


def _share(run: Run, name: str, summary: Summary) -> Value:
    """Return the mean if it can be written as a percentage."""
    info = run.metrics[name]
    return summary.mean if (info.low, info.high) == (0, 1) else None


def _figures(run: Run, name: str, summary: Summary) -> list[Line]:
    info = run.metrics[name]
    started = run.manifest.started_at.astimezone()
    retrieval = info.family == "retrieval"
    low, high = summary.interval or (None, None)
    lines = [
        Line("Evaluation Date", f"{started:%Y-%m-%d %H:%M:%S %Z}"),
        Line("Metric Name", info.label),
    ]
    if not retrieval:
        lines.append(Line("Model", run.manifest.judge or "none needed"))
    if info.policy and len(run.policies) > 1:
        lines.append(Line("Policy", info.policy))
    mean = f"{NO_VALUE} {why_no_mean(summary)}" if summary.mean is None else summary.mean
    lines += [
        Line("K Value" if retrieval else "Top K", cutoff(run, name), "count"),
        Line("Score Threshold", run.manifest.plan.min_similarity, "number"),
        Line("Total Queries", summary.n, "count"),
        Line("Score", mean, "score"),
        Line("Score (%)", _share(run, name, summary), "percent"),
        Line("Range", f"{info.low:g} to {info.high:g}, {info.better} is better"),
        Line("95 % interval, low", low, "score"),
        Line("95 % interval, high", high, "score"),
        Line("Min Score", summary.low, "score"),
        Line("Max Score", summary.high, "score"),
        Line("Scored" if retrieval else "Valid Queries", summary.scored, "count"),
        Line("Undefined", summary.undefined, "count"),
    ]
    if why := why_undefined(run, name):
        lines.append(Line("Undefined because", why))
    lines.append(Line("Failed", summary.failed, "count"))
    if why := why_failed(run, name):
        lines.append(Line("Failed because", why, "warning"))
    if summary.flagged:
        lines.append(Line("Imputed by policy", summary.flagged, "count"))
    if summary.pass_rate is not None:
        lines.append(Line("Pass rate", summary.pass_rate, "percent"))
    for figure, value in summary.extra.items():
        text = isinstance(value, bool | str)
        look = "text" if text else "count" if isinstance(value, int) else "score"
        lines.append(Line(figure, value, look))
    return lines


def _partial(run: Run) -> list[Line]:
    return [Line("Partial", partial_notice(run), "warning")] if run.partial else []


def _run_lines(run: Run, names: Sequence[str]) -> list[Line]:
    return [
        Line(line.label, line.text, "warning" if line.alarming else "text")
        for line in summary_lines(run, names)
    ]


def _write(page: Page, row: int, lines: Iterable[Line]) -> int:
    """Write lines from that row on; return the row after the last."""
    for line in lines:
        value = NO_VALUE if line.value is None else line.value
        page.put(row, 0, line.name, "name")
        if isinstance(value, str):
            page.spread(row, 1, value, line.look)
            needed = count_lines(value, sum(page.widths[1:]))
            page.set_height(row, max(needed, count_lines(line.name, page.widths[0])), _MAX_LINES)
        else:
            page.put(row, 1, value, line.look)
        row += 1
    return row
