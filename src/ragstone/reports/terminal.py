"""The terminal: a run as a table with its facts and worst samples, and its rows one by one."""

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone.reports.facts import (
    CAUSES,
    facts,
    had_all_scored,
    partial_notice,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.format import LONGEST, NOTHING, decimal, interval, shown
from ragstone.reports.insights import failing_claim, focus, next_step, worst
from ragstone.results.run import Run
from ragstone.types.row import Row
from ragstone.types.score import MetricInfo, Score, State, Summary

# Bars: a mean and its interval drawn in a line of characters, over the range of the metric.

CELLS = 10


@dataclass(frozen=True)
class Signs:
    """The characters of a bar.

    Attributes:
        full: up to the mean.
        line: from the mean to the upper end of the interval.
        empty: the rest of the range.
        lower, upper: the ends of the interval.
        both: both ends, where they lie in one cell.
    """

    full: str = "█"
    line: str = "─"
    empty: str = "·"
    lower: str = "├"
    upper: str = "┤"
    both: str = "│"


SIGNS = Signs()
PLAIN = Signs(full="#", line="-", empty=".", lower="[", upper="]", both="|")
"""For a terminal that lacks the others."""


def signs_for(encoding: str) -> Signs:
    """Return signs that a terminal of that encoding can show."""
    try:
        "".join(vars(SIGNS).values()).encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return PLAIN
    return SIGNS


def bar(summary: Summary, info: MetricInfo, signs: Signs = SIGNS) -> str:
    """Draw a mean and its interval; "" where there is no mean, or the range has no ends."""
    if summary.mean is None or not 0 < info.high - info.low < math.inf:
        return ""
    full = round(_cells(summary.mean, info))
    cells = [signs.full] * full + [signs.empty] * (CELLS - full)
    if summary.interval is None:
        return "".join(cells)
    lower, upper = (_cells(end, info) for end in summary.interval)
    first = min(math.floor(lower), CELLS - 1)
    last = max(math.ceil(upper) - 1, first)
    for cell in range(max(first, full), last):
        cells[cell] = signs.line
    cells[first], cells[last] = signs.lower, signs.upper
    if first == last:
        cells[first] = signs.both
    return "".join(cells)


def _cells(value: float, info: MetricInfo) -> float:
    """Return how far up the range a value lies, in cells; one outside is taken for the end."""
    share = (value - info.low) / (info.high - info.low)
    return round(min(max(share, 0.0), 1.0) * CELLS, 9)  # a tenth is no exact number


# The metrics' table on the terminal: each mean, its interval, and what is behind it.

BAR, FLAGGED = "in its range", "flagged"
HEADS = ("metric", "score", "95 % interval", BAR, "n", "scored", "undefined", "failed", FLAGGED)
LEFT = ("metric", BAR)


def print_metrics(run: Run, console: Console) -> None:
    """Print the metrics' table; without bars where it is too wide, and at last as a list."""
    summaries = run.summary()
    if not summaries:
        console.print(shown("no metric was run", console, "bold"))
        return
    idle = set[str]() if any(each.flagged for each in summaries.values()) else {FLAGGED}
    for left_out in (idle, idle | {BAR}):
        table = _table(run, [head for head in HEADS if head not in left_out], console)
        fits = Measurement.get(console, console.options.update(max_width=1000), table).maximum
        if fits <= console.width:
            console.print()
            console.print(table)
            console.print()
            return
    console.print(_list(summaries, console))


def _table(run: Run, heads: Sequence[str], console: Console) -> Table:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    for head in heads:
        table.add_column(head, justify="left" if head in LEFT else "right", no_wrap=True)
    signs = signs_for(console.encoding)
    for name, summary in run.summary().items():
        cells = (
            shown(name, console, "bold", limit=60),
            shown(decimal(summary.mean), console, "bold"),
            shown(interval(summary.interval), console),
            Text(bar(summary, run.metrics[name], signs), "cyan"),
            *(Text(f"{number:,}") for number in (summary.n, summary.scored, summary.undefined)),
            Text(f"{summary.failed:,}", "red" if summary.failed else ""),
            Text(f"{summary.flagged:,}"),
        )
        table.add_row(*(cell for head, cell in zip(HEADS, cells, strict=True) if head in heads))
    return table


def _list(summaries: Mapping[str, Summary], console: Console) -> Text:
    lines = Text()
    for name, summary in summaries.items():
        lines.append_text(shown(f"{name}  {decimal(summary.mean)}", console, "bold")).append("\n")
        words = [
            f"95 % interval {interval(summary.interval)}",
            f"{summary.scored:,} of {summary.n:,} scored",
            f"{summary.undefined:,} undefined, {summary.failed:,} failed",
        ]
        words += [f"{summary.flagged:,} flagged"] if summary.flagged else []
        for line in words:
            lines.append("  ").append_text(shown(line, console)).append("\n")
    return lines


T = TypeVar("T", bound=Hashable)


def print_run(run: Run, console: Console, *, first: bool = False) -> None:
    """Print a run's summary: the metrics' table, why scores are missing, and the facts.

    Then the samples that did worst, and what to do next. `first` tells that the run is the first
    of its store.
    """
    summaries = run.summary()
    if run.partial:
        console.print(shown(partial_notice(run), console, "bold red"))
    print_metrics(run, console)
    for words, style in _gaps(run, summaries):
        console.print(shown(words, console, style))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for fact in facts(run, list(run.metrics)):
        words = shown(fact.words, console, "bold red" if fact.alarming else "")
        grid.add_row(shown(fact.about, console), words)
    console.print(grid)
    _print_worst(run, console)
    if said := next_step(run, first=first):
        console.print()
        whole = "`" in said  # a command that is broken into lines cannot be copied
        console.print(shown(f"Next: {said}", console, "bold"), soft_wrap=whole)


def print_rows(run: Run, console: Console) -> None:
    """Print each row: its id and query, its score by each metric, and its first failing claim."""
    for row in run.rows:
        query = shown(row.sample.query, console, limit=120)
        console.print(shown(row.sample.id, console, "bold", limit=60).append("  ").append(query))
        scores = [f"{name} {_number(score)}" for name, score in row.scores.items()]
        _print_below(" | ".join(scores), console, limit=10 * LONGEST)
        for words in _row_gaps(row):
            _print_below(words, console, "yellow")


def _gaps(run: Run, summaries: Mapping[str, Summary]) -> list[tuple[str, str]]:
    """Say why scores are missing, metrics with the same reason together; each with its style."""
    found: list[tuple[str, tuple[str, str]]] = []
    for name, summary in summaries.items():
        if summary.mean is None:
            found.append((name, (f"no score, {why_no_mean(summary)}", "bold red")))
        if why := why_undefined(run, name):
            found.append((name, (f"undefined: {why}", "yellow")))
        if why := why_failed(run, name):
            found.append((name, (f"failed: {why}", "red")))
        if said := had_all_scored(summary):
            found.append((name, (said, "yellow")))
    return [(f"{names}: {why}", style) for (why, style), names in _merged(found).items()]


def _merged(found: Iterable[tuple[str, T]]) -> dict[T, str]:
    """Gather the names of the metrics of which the same is said."""
    merged: dict[T, list[str]] = {}
    for name, said in found:
        merged.setdefault(said, []).append(name)
    return {said: ", ".join(names) for said, names in merged.items()}


def _print_worst(run: Run, console: Console) -> None:
    """Print the samples that did worst, each with its score and why."""
    name = focus(run)
    found = worst(run, name) if name is not None else ()
    if not found:
        return
    console.print()
    console.print(shown(f"Worst by {name}", console, "bold"))
    for sample in found:
        line = shown(sample.id, console, "bold", limit=60).append("  ")
        line.append_text(shown(decimal(sample.value), console)).append("  ")
        console.print(line.append_text(shown(sample.query, console, limit=120)))
        if sample.why:
            _print_below(sample.why, console, "yellow")


def _number(score: Score) -> str:
    if score.state is not State.SCORED:
        return NOTHING
    return decimal(score.value) + (" (flagged)" if score.fallback else "")


def _row_gaps(row: Row) -> list[str]:
    """Say why the row's scores are missing, and what the first failing claim of each is."""
    found: list[tuple[str, str]] = []
    for name, score in row.scores.items():
        if score.cause is not None:
            found.append((name, f"failed, {CAUSES[score.cause]}: {score.reason}"))
        elif score.state is State.UNDEFINED:
            found.append((name, f"undefined: {score.reason}"))
        if failing := failing_claim(score):
            found.append((name, failing))
        if score.state is State.SCORED and not score.claims and score.reason:
            found.append((name, score.reason))
    return [f"{names}: {words}" for words, names in _merged(found).items()]


def _print_below(words: str, console: Console, style: str = "", limit: int = LONGEST) -> None:
    console.print(Padding(shown(words, console, style, limit), (0, 0, 0, 4)))


# A ranking's run on the terminal: the metrics' table, what it covers, and how the gates went.


def print_ranking(run: Run, console: Console) -> None:
    """Print what a ranking from a file came to, and the queries that did worst."""
    console.print(shown(run.manifest.source.name, console, "bold"))
    print_metrics(run, console)
    for note in run.manifest.source.notes:
        console.print(shown(note, console))
    for name in run.metrics:
        if why := why_failed(run, name):
            console.print(shown(f"{name}: failed: {why}", console, "red"))
    for result in run.gates():
        word = {True: "passed", False: "FAILED", None: "UNDETERMINED"}[result.passed]
        style = "" if result.passed else "bold red"
        console.print(shown(f"Gate {word}: {result}", console, style))
    _ranking_report_print_worst(run, console)


def _ranking_report_print_worst(run: Run, console: Console) -> None:
    """Print the queries that did worst: id, value, and the text where there is one."""
    name = focus(run)
    if name is None:
        return
    info, tally = run.metrics[name], run.tally.scores[name]
    best = info.high if info.higher_is_better else info.low
    found = tally.worst(higher_is_better=info.higher_is_better)
    lowest = [placed for placed in found if placed.value != best]
    if lowest:
        console.print(shown(f"Worst by {name}", console, "bold"))
    for placed in lowest:
        line = shown(placed.sample_id, console, "bold", limit=60).append("  ")
        line.append_text(shown(decimal(placed.value), console))
        query = run.rows[placed.place].sample.query
        if query != placed.sample_id:
            line.append("  ").append_text(shown(query, console, limit=120))
        console.print(line)
