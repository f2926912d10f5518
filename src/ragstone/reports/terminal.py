"""A run on the terminal: the metrics' table with bars, summary lines, worst samples, and rows."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone.reports.facts import (
    CAUSES,
    GATE_RESULTS,
    partial_notice,
    possible_mean,
    summary_lines,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.format import MAX_PRINTED, decimal, interval, printable
from ragstone.reports.insights import failing_claim, focus_metric, next_step, worst_samples
from ragstone.results.run import Run
from ragstone.types.score import MetricInfo, State, Summary

_BAR, _IMPUTED = "", "imputed"
_COLUMNS = ("metric", "score", "95 % interval", _BAR, "n", "scored", "undefined", "failed")


def print_run(run: Run, console: Console, *, first: bool = False) -> None:
    """Print a run's scores, why some are missing, the summary lines and the worst samples.

    Last comes a suggested next step; `first`: the run is the first in its store.
    """
    if run.partial:
        console.print(printable(partial_notice(run), console, "bold red"))
    print_metrics(run, console)

    gaps: list[tuple[str, str, str]] = []
    for name, summary in run.summary().items():
        no_mean = f"no score, {why_no_mean(summary)}" if summary.mean is None else ""
        undefined, failed = why_undefined(run, name), why_failed(run, name)
        gaps += [
            (name, no_mean, "bold red"),
            (name, undefined and f"undefined: {undefined}", "yellow"),
            (name, failed and f"failed: {failed}", "red"),
            (name, possible_mean(summary), "yellow"),
        ]
    for words, style in _merge_names([gap for gap in gaps if gap[1]]):
        console.print(printable(words, console, style))

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for line in summary_lines(run, list(run.metrics)):
        text = printable(line.text, console, "bold red" if line.alarming else "")
        grid.add_row(printable(line.label, console), text)
    console.print(grid)

    name = focus_metric(run)
    worst = worst_samples(run, name) if name is not None else ()
    if worst:
        console.print()
        console.print(printable(f"Worst by {name}", console, "bold"))
    for sample in worst:
        line = _sample_line(sample.id, sample.value, console).append("  ")
        console.print(line.append_text(printable(sample.query, console, limit=120)))
        if sample.why:
            _print_indented(sample.why, console, "yellow")

    if advice := next_step(run, first=first):
        console.print()
        has_command = "`" in advice  # a wrapped command cannot be copied
        console.print(printable(f"Next: {advice}", console, "bold"), soft_wrap=has_command)


def print_ranking(run: Run, console: Console) -> None:
    """Print the scores of a ranking from a file, its notes and gates, and the worst queries."""
    console.print(printable(run.manifest.source.name, console, "bold"))
    print_metrics(run, console)
    for note in run.manifest.source.notes:
        console.print(printable(note, console))
    for name in run.metrics:
        if why := why_failed(run, name):
            console.print(printable(f"{name}: failed: {why}", console, "red"))
    for result in run.gates():
        words = f"Gate {GATE_RESULTS[result.passed]}: {result}"
        console.print(printable(words, console, "" if result.passed else "bold red"))

    name = focus_metric(run)
    if name is None:
        return
    info, counts = run.metrics[name], run.counts.scores[name]
    best = info.high if info.higher_is_better else info.low
    found = counts.worst(higher_is_better=info.higher_is_better)
    worst = [placed for placed in found if placed.value != best]
    if worst:
        console.print(printable(f"Worst by {name}", console, "bold"))
    for placed in worst:
        line = _sample_line(placed.sample_id, placed.value, console)
        query = run.rows[placed.place].sample.query
        if query != placed.sample_id:
            line.append("  ").append_text(printable(query, console, limit=120))
        console.print(line)


def print_rows(run: Run, console: Console) -> None:
    """Print each row: id, query, scores, why scores are missing, and first failing claims."""
    for row in run.rows:
        query = printable(row.sample.query, console, limit=120)
        line = printable(row.sample.id, console, "bold", limit=60).append("  ")
        console.print(line.append_text(query))
        scores: list[str] = []
        notes: list[tuple[str, str, str]] = []
        for name, score in row.scores.items():
            imputed = " (imputed)" if score.fallback else ""
            scores.append(f"{name} {decimal(score.value)}{imputed}")
            if score.cause is not None:
                notes.append((name, f"failed, {CAUSES[score.cause]}: {score.reason}", "yellow"))
            elif score.state is State.UNDEFINED:
                notes.append((name, f"undefined: {score.reason}", "yellow"))
            if failing := failing_claim(score):
                notes.append((name, failing, "yellow"))
            if score.state is State.SCORED and not score.claims and score.reason:
                notes.append((name, score.reason, "yellow"))
        _print_indented(" | ".join(scores), console, limit=10 * MAX_PRINTED)
        for words, style in _merge_names(notes):
            _print_indented(words, console, style)


def _merge_names(notes: Sequence[tuple[str, str, str]]) -> list[tuple[str, str]]:
    """Merge equal notes of several metrics into one: `a, b: note`, with its style."""
    merged: dict[tuple[str, str], list[str]] = {}
    for name, words, style in notes:
        merged.setdefault((words, style), []).append(name)
    return [(f"{', '.join(names)}: {words}", style) for (words, style), names in merged.items()]


def _sample_line(sample_id: str, value: float | None, console: Console) -> Text:
    line = printable(sample_id, console, "bold", limit=60).append("  ")
    return line.append_text(printable(decimal(value), console))


def _print_indented(
    words: str, console: Console, style: str = "", limit: int = MAX_PRINTED
) -> None:
    console.print(Padding(printable(words, console, style, limit), (0, 0, 0, 4)))


def print_metrics(run: Run, console: Console) -> None:
    """Print the metrics' table; on narrow terminals without bars, or as a list."""
    summaries = run.summary()
    if not summaries:
        console.print(printable("no metrics were run", console, "bold"))
        return
    has_imputed = any(summary.flagged for summary in summaries.values())
    columns = [*_COLUMNS, *([_IMPUTED] if has_imputed else [])]
    for shown in (columns, [name for name in columns if name != _BAR]):
        table = _metrics_table(run, shown, console)
        wide = console.options.update(max_width=1000)
        if Measurement.get(console, wide, table).maximum <= console.width:
            console.print()
            console.print(table)
            console.print()
            return
    for name, summary in summaries.items():
        console.print(printable(f"{name}  {decimal(summary.mean)}", console, "bold"))
        lines = [
            f"95 % interval {interval(summary.interval)}",
            f"{summary.scored:,} of {summary.n:,} scored",
            f"{summary.undefined:,} undefined, {summary.failed:,} failed",
            *([f"{summary.flagged:,} imputed"] if summary.flagged else []),
        ]
        for line in lines:
            console.print(Text("  ").append_text(printable(line, console)))
    console.print()


def _metrics_table(run: Run, columns: Sequence[str], console: Console) -> Table:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    for name in columns:
        justify = "left" if name in ("metric", _BAR) else "right"
        table.add_column(name, justify=justify, no_wrap=True)
    style = bar_style(console.encoding)
    for name, summary in run.summary().items():
        cells = {
            "metric": printable(name, console, "bold", limit=60),
            "score": printable(decimal(summary.mean), console, "bold"),
            "95 % interval": printable(interval(summary.interval), console),
            _BAR: Text(bar(summary, run.metrics[name], style), "cyan"),
            "n": Text(f"{summary.n:,}"),
            "scored": Text(f"{summary.scored:,}"),
            "undefined": Text(f"{summary.undefined:,}"),
            "failed": Text(f"{summary.failed:,}", "red" if summary.failed else ""),
            _IMPUTED: Text(f"{summary.flagged:,}"),
        }
        table.add_row(*(cells[name] for name in columns))
    return table


BAR_CELLS = 10


@dataclass(frozen=True)
class BarStyle:
    """The characters of a bar.

    Attributes:
        full: up to the mean.
        line: from the mean to the upper end of the interval.
        empty: the rest of the range.
        lower, upper: the ends of the interval.
        both: both ends in one cell.
    """

    full: str = "█"
    line: str = "─"
    empty: str = "·"
    lower: str = "├"
    upper: str = "┤"
    both: str = "│"


UNICODE_BARS = BarStyle()
ASCII_BARS = BarStyle(full="#", line="-", empty=".", lower="[", upper="]", both="|")


def bar_style(encoding: str) -> BarStyle:
    """Return the characters that a terminal of that encoding can show."""
    try:
        "".join(vars(UNICODE_BARS).values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII_BARS
    return UNICODE_BARS


def bar(summary: Summary, info: MetricInfo, style: BarStyle = UNICODE_BARS) -> str:
    """Draw a mean and its interval; "" without a mean, or if the range is unbounded."""
    if summary.mean is None or not 0 < info.high - info.low < math.inf:
        return ""

    def position(value: float) -> float:
        share = (value - info.low) / (info.high - info.low)
        return round(min(max(share, 0.0), 1.0) * BAR_CELLS, 9)  # 0.1 is not exact in binary

    full = round(position(summary.mean))
    cells = [style.full] * full + [style.empty] * (BAR_CELLS - full)
    if summary.interval is None:
        return "".join(cells)
    lower, upper = map(position, summary.interval)
    first = min(math.floor(lower), BAR_CELLS - 1)
    last = max(math.ceil(upper) - 1, first)
    for place in range(max(first, full), last):
        cells[place] = style.line
    cells[first], cells[last] = style.lower, style.upper
    if first == last:
        cells[first] = style.both
    return "".join(cells)
