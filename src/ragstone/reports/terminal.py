"""A run on the terminal: the metrics' table with bars, summary lines, worst samples, and rows."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone.reports.facts import (
    CAUSES,
    gate_state,
    partial_notice,
    possible_mean,
    summary_lines,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.format import MAX_PRINTED, decimal, interval, printable
from ragstone.reports.insights import WORST, failing_claim, focus_metric, next_step, worst_samples
from ragstone.results.metric_summary import N_WORST
from ragstone.results.run import Run
from ragstone.types.score import MetricInfo, State, Summary

PROSE_WIDTH = 24
"""Least width of a column with long texts."""
MAX_CELL = 200
"""Characters of one cell."""


class Tone(StrEnum):
    """Whether a line or a row is good or bad news."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"


STYLES = {Tone.PLAIN: "", Tone.GOOD: "bold green", Tone.BAD: "bold red"}


@dataclass(frozen=True)
class GridRow:
    """A row of a grid; the tone is that of its last cell.

    Pages link it to the `sample` of a comparison: a metric, and its place in the rows of A.
    """

    cells: tuple[str | Text, ...]
    tone: Tone = Tone.PLAIN
    sample: tuple[str, int] | None = None


@dataclass(frozen=True)
class Grid:
    """A table; `figures` names columns of numbers, `prose` columns of long texts."""

    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    figures: frozenset[str] = frozenset()
    prose: frozenset[str] = frozenset()


def print_table(
    console: Console, heads: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1
) -> None:
    figures = frozenset(heads[words:])
    print_grid(console, Grid(tuple(heads), tuple(GridRow(tuple(row)) for row in rows), figures))


def print_grid(console: Console, *grids: Grid) -> None:
    wide = console.options.update(max_width=1000)
    for fold, padding, grid in product((None, PROSE_WIDTH), (1, 0), grids):
        table = _table(grid, console, padding, fold=fold)
        if Measurement.get(console, wide, table).maximum <= console.width:
            console.print(_table(grid, console, padding))
            return
    grid = grids[-1]
    for row in grid.rows:
        first, *cells = _cells(row, console)
        first.stylize("bold")
        console.print(first)
        line = Text()
        for head, cell in zip(grid.heads[1:], cells, strict=True):
            words = Text(f"{head} ", overflow="fold").append_text(cell)
            if cell and head in grid.prose:
                console.print(Padding(words, (0, 0, 0, 2)))
            elif cell:
                line.append(" | " if line else "").append_text(words)
        if line:
            console.print(Padding(line, (0, 0, 0, 2)))


def _table(grid: Grid, console: Console, padding: int, *, fold: int | None = None) -> Table:
    table = Table(
        box=SIMPLE, show_edge=False, pad_edge=False, collapse_padding=True, padding=(0, padding)
    )
    for head in grid.heads:
        prose = head in grid.prose
        justify = "right" if head in grid.figures else "left"
        width = fold if prose else None
        table.add_column(head, justify=justify, no_wrap=not prose, max_width=width, overflow="fold")
    for row in grid.rows:
        table.add_row(*_cells(row, console))
    return table


def _cells(row: GridRow, console: Console) -> list[Text]:
    cells = [
        cell if isinstance(cell, Text) else printable(cell, console, limit=MAX_CELL)
        for cell in row.cells
    ]
    cells[-1].stylize(STYLES[row.tone])
    return cells


def print_pairs(pairs: Iterable[tuple[str, Text]], console: Console) -> None:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in pairs:
        grid.add_row(label, text)
    console.print(grid)


def print_run(run: Run, console: Console, *, first: bool = False) -> None:
    """Print a run's scores, why some are missing, the summary lines and the worst samples.

    Last comes a suggested next step; `first`: the run is the first in its store.
    """
    if run.partial:
        console.print(printable(partial_notice(run), console, "bold red"))
    print_metrics(run, console)

    gaps: list[tuple[str, str, str]] = []
    for name, summary in run.summary().items():
        no_mean = f"no score: {why_no_mean(summary)}" if summary.mean is None else ""
        undefined, failed = why_undefined(run, name), why_failed(run, name)
        gaps += [
            (name, no_mean, "bold red"),
            (name, undefined and f"undefined: {undefined}", "yellow"),
            (name, failed and f"failed: {failed}", "red"),
            (name, possible_mean(summary), "yellow"),
        ]
    for words, style in _merge_names([gap for gap in gaps if gap[1]]):
        console.print(printable(words, console, style))

    lines = summary_lines(run, list(run.metrics))
    print_pairs(
        (
            (line.label, printable(line.text, console, "bold red" if line.alarming else ""))
            for line in lines
        ),
        console,
    )
    _print_worst(run, console, most=WORST)
    if advice := next_step(run, first=first):
        console.print()
        has_command = "`" in advice  # a wrapped command cannot be copied
        console.print(printable(f"Next: {advice}", console, "bold"), soft_wrap=has_command)


def print_ranking(run: Run, console: Console) -> None:
    console.print(printable(run.manifest.source.name, console, "bold"))
    print_metrics(run, console)
    for note in run.manifest.source.notes:
        console.print(printable(note, console))
    for name in run.metrics:
        if why := why_failed(run, name):
            console.print(printable(f"{name}: failed: {why}", console, "red"))
    for result in run.gates():
        words = f"Gate {gate_state(run, result)}: {result}"
        alarming = run.troubles or not result.passed
        console.print(printable(words, console, "bold red" if alarming else ""))

    _print_worst(run, console, most=N_WORST)


def _print_worst(run: Run, console: Console, *, most: int) -> None:
    name = focus_metric(run)
    worst = worst_samples(run, name, most) if name is not None else ()
    if worst:
        console.print()
        console.print(printable(f"Worst by {name}", console, "bold"))
    for sample in worst:
        line = printable(sample.id, console, "bold", limit=60).append("  ")
        line.append_text(printable(decimal(sample.value), console))
        if sample.query != sample.id:
            line.append("  ").append_text(printable(sample.query, console, limit=120))
        console.print(line)
        if sample.why:
            _print_indented(sample.why, console, "yellow")


def print_rows(run: Run, console: Console) -> None:
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
    merged: dict[tuple[str, str], list[str]] = {}
    for name, words, style in notes:
        merged.setdefault((words, style), []).append(name)
    return [(f"{', '.join(names)}: {words}", style) for (words, style), names in merged.items()]


def _print_indented(
    words: str, console: Console, style: str = "", limit: int = MAX_PRINTED
) -> None:
    console.print(Padding(printable(words, console, style, limit), (0, 0, 0, 4)))


def print_metrics(run: Run, console: Console) -> None:
    summaries = run.summary()
    if not summaries:
        console.print(printable("no metrics were run", console, "bold"))
        return
    has_imputed = any(summary.flagged for summary in summaries.values())
    heads = ("metric", "score", "95% interval", "", "n", "scored", "undefined", "failed")
    heads += ("imputed",) if has_imputed else ()
    style = bar_style(console.encoding)
    rows: list[tuple[str | Text, ...]] = []
    for name, summary in summaries.items():
        cells = (
            printable(name, console, "bold", limit=60),
            printable(decimal(summary.mean), console, "bold"),
            interval(summary.interval),
            Text(bar(summary, run.metrics[name], style), "cyan"),
            *(f"{number:,}" for number in (summary.n, summary.scored, summary.undefined)),
            Text(f"{summary.failed:,}", "red" if summary.failed else ""),
        )
        rows.append((*cells, f"{summary.flagged:,}") if has_imputed else cells)
    without_bars = [place for place, head in enumerate(heads) if head]
    console.print()
    print_grid(
        console,
        *(
            Grid(
                tuple(heads[place] for place in places),
                tuple(GridRow(tuple(row[place] for place in places)) for row in rows),
                figures=frozenset(heads[1:]) - {""},
                prose=frozenset({"metric"}),
            )
            for places in (range(len(heads)), without_bars)
        ),
    )
    console.print()


BAR_CELLS = 10
UNICODE_BARS, ASCII_BARS = "█─·├┤│", "#-.[]|"
"""Up to the mean, from there to the interval's end, the rest; both ends, and both in one cell."""


def bar_style(encoding: str) -> str:
    try:
        UNICODE_BARS.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return ASCII_BARS
    return UNICODE_BARS


def bar(summary: Summary, info: MetricInfo, style: str = UNICODE_BARS) -> str:
    if summary.mean is None or not 0 < info.high - info.low < math.inf:
        return ""

    def position(value: float) -> float:
        share = (value - info.low) / (info.high - info.low)
        return round(min(max(share, 0.0), 1.0) * BAR_CELLS, 9)  # 0.1 is not exact in binary

    full, line, empty, start, end, both = style
    filled = round(position(summary.mean))
    cells = [full] * filled + [empty] * (BAR_CELLS - filled)
    if summary.interval is None:
        return "".join(cells)
    lower, upper = map(position, summary.interval)
    first = min(math.floor(lower), BAR_CELLS - 1)
    last = max(math.ceil(upper) - 1, first)
    for place in range(max(first, filled), last):
        cells[place] = line
    cells[first], cells[last] = start, end
    if first == last:
        cells[first] = both
    return "".join(cells)
