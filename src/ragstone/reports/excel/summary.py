"""The `Summary` sheet of a workbook: what each metric came to, and what a reader must know."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ragstone.reports.excel.book import Book, Page, Value, lines
from ragstone.reports.facts import (
    Fact,
    cutoff,
    facts,
    partial_notice,
    titles,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.format import NOTHING
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
    "Flagged": 9,
}
"""The columns of the table of several metrics, and their widths."""
_PAIR = {"Metric": 28, "Value": 92}
_HIGHEST = 27
"""Lines of the highest row that Excel has."""


@dataclass(frozen=True)
class Line:
    """A name and its value; `look` is one of the book's."""

    name: str
    value: Value
    look: str = "text"


def add_single(book: Book, run: Run, *, name: str) -> None:
    """Add the summary of one metric: two columns, a line a figure."""
    page = book.page(SHEET, list(_PAIR.values()))
    page.head(0, list(_PAIR))
    row = _write(page, 1, [*_partial(run), *_figures(run, name, run.summary()[name])])
    _write(page, row + 1, [_line(fact) for fact in facts(run, [name])])


def add_combined(book: Book, run: Run, *, names: Sequence[str]) -> None:
    """Add the summary of those metrics: a table of them, the facts, and a block a metric."""
    shown = {name: run.summary()[name] for name in names}
    page = book.page(SHEET, list(_TABLE.values()))
    page.head(0, list(_TABLE))
    labels = titles(run.metrics)
    for row, (name, summary) in enumerate(shown.items(), start=1):
        _write_table_row(page, row, labels[name], summary, _share(run, name, summary))
    row = len(shown) + 2
    page.head(row, [*_PAIR, *[""] * (len(_TABLE) - len(_PAIR))])
    known = [_line(fact) for fact in facts(run, names)]
    row = _write(page, row + 1, [*_partial(run), *known])
    for name, summary in shown.items():
        page.spread(row + 1, 0, f"--- {labels[name]} ---", "block")
        row = _write(page, row + 2, _figures(run, name, summary))


def _share(run: Run, name: str, summary: Summary) -> Value:
    """Return the mean as a share; nothing for a score that lies on another scale."""
    info = run.metrics[name]
    is_share = (info.low, info.high) == (0, 1) and summary.mean is not None
    return summary.mean if is_share else NOTHING


def _write_table_row(page: Page, row: int, title: str, summary: Summary, share: Value) -> None:
    low, high = summary.interval or (None, None)
    page.put(row, 0, title, "name")
    for column, (value, look) in enumerate(
        [
            (summary.mean, "score"),
            (share, "percent"),
            (low, "score"),
            (high, "score"),
            (summary.n, "count"),
            (summary.scored, "count"),
            (summary.undefined, "count"),
            (summary.failed, "count"),
            (summary.flagged, "count"),
        ],
        start=1,
    ):
        page.put(row, column, NOTHING if value is None else value, look)


def _figures(run: Run, name: str, summary: Summary) -> list[Line]:
    plan, info = run.manifest.plan, run.metrics[name]
    started = run.manifest.started_at.astimezone()
    retrieval = info.family == "retrieval"
    mean: Value = summary.mean if summary.mean is not None else f"{NOTHING} {why_no_mean(summary)}"
    low, high = summary.interval or (NOTHING, NOTHING)
    return [
        Line("Evaluation Date", f"{started:%Y-%m-%d %H:%M:%S %Z}"),
        Line("Metric Name", info.label),
        *([] if retrieval else [Line("Model", run.manifest.judge or "none was asked")]),
        *([Line("Policy", info.policy)] if info.policy and len(run.policies) > 1 else []),
        Line("K Value" if retrieval else "Top K", cutoff(run, name), "count"),
        Line("Score Threshold", plan.min_similarity, "number"),
        Line("Total Queries", summary.n, "count"),
        Line("Score", mean, "score"),
        Line("Score (%)", _share(run, name, summary), "percent"),
        Line("Range", f"{info.low:g} to {info.high:g}, {info.better} is better"),
        Line("95 % interval, low", low, "score"),
        Line("95 % interval, high", high, "score"),
        Line("Min Score", NOTHING if summary.low is None else summary.low, "score"),
        Line("Max Score", NOTHING if summary.high is None else summary.high, "score"),
        Line("Scored" if retrieval else "Valid Queries", summary.scored, "count"),
        *_missing(run, name, summary),
        *(Line(figure, value, _look(value)) for figure, value in summary.extra.items()),
    ]


def _missing(run: Run, name: str, summary: Summary) -> list[Line]:
    found = [Line("Undefined", summary.undefined, "count")]
    if why := why_undefined(run, name):
        found.append(Line("Undefined because", why))
    found.append(Line("Failed", summary.failed, "count"))
    if why := why_failed(run, name):
        found.append(Line("Failed because", why, "warning"))
    if summary.flagged:
        found.append(Line("Flagged (made up by policy)", summary.flagged, "count"))
    if summary.pass_rate is not None:
        found.append(Line("Pass rate", summary.pass_rate, "percent"))
    return found


def _look(value: Value) -> str:
    if isinstance(value, bool | str) or value is None:
        return "text"
    return "count" if isinstance(value, int) else "score"


def _partial(run: Run) -> list[Line]:
    return [Line("Partial", partial_notice(run), "warning")] if run.partial else []


def _line(fact: Fact) -> Line:
    return Line(fact.about, fact.words, "warning" if fact.alarming else "text")


def _write(page: Page, row: int, given: Iterable[Line]) -> int:
    """Write lines from that row on; return the row after the last."""
    for line in given:
        page.put(row, 0, line.name, "name")
        if isinstance(line.value, str):
            page.spread(row, 1, line.value, line.look)
            needed = lines(line.value, sum(page.widths[1:])), lines(line.name, page.widths[0])
            page.set_height(row, max(needed), _HIGHEST)
        else:
            page.put(row, 1, line.value, line.look)
        row += 1
    return row
