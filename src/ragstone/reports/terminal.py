"""The terminal: a run as a table with its facts, and its rows one by one."""

from collections.abc import Hashable, Iterable, Mapping
from typing import TypeVar

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone.claims import Label
from ragstone.reports.console_text import LONGEST, shown
from ragstone.reports.facts import (
    CAUSES,
    LABELS,
    facts,
    had_all_scored,
    partial_notice,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.figures import NOTHING, decimal, interval
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.scores import Score, State, Summary

T = TypeVar("T", bound=Hashable)

HEADS = ("metric", "score", "95 % interval", "n", "scored", "undefined", "failed", "flagged")


def print_run(run: Run, console: Console) -> None:
    """Print a run's summary: the metrics' table, why scores are missing, and the facts."""
    summaries = run.summary()
    if run.partial:
        console.print(shown(partial_notice(run), console, "bold red"))
    if not summaries:
        console.print(shown("no metric was run", console, "bold"))
    else:
        table = _table(summaries, console)
        fits = Measurement.get(console, console.options.update(max_width=1000), table).maximum
        console.print(table if fits <= console.width else _list(summaries, console))
    for words, style in _gaps(run, summaries):
        console.print(shown(words, console, style))
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for fact in facts(run, list(run.metrics)):
        words = shown(fact.words, console, "bold red" if fact.alarming else "")
        grid.add_row(shown(fact.about, console), words)
    console.print(grid)


def print_rows(run: Run, console: Console) -> None:
    """Print each row: its id and query, its score by each metric, and its first failing claim."""
    for row in run.rows:
        query = shown(row.sample.query, console, limit=120)
        console.print(shown(row.sample.id, console, "bold", limit=60).append("  ").append(query))
        scores = [f"{name} {_number(score)}" for name, score in row.scores.items()]
        _print_below(" | ".join(scores), console, limit=10 * LONGEST)
        for words in _row_gaps(row):
            _print_below(words, console, "yellow")


def _table(summaries: Mapping[str, Summary], console: Console) -> Table:
    flagged = any(summary.flagged for summary in summaries.values())
    table = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for head in HEADS if flagged else HEADS[:-1]:
        table.add_column(head, justify="left" if head == "metric" else "right", no_wrap=True)
    for name, summary in summaries.items():
        cells = [
            shown(name, console, "bold", limit=60),
            shown(decimal(summary.mean), console, "bold"),
            shown(interval(summary.interval), console),
            *(Text(f"{number:,}") for number in (summary.n, summary.scored, summary.undefined)),
            Text(f"{summary.failed:,}", "red" if summary.failed else ""),
        ]
        table.add_row(*cells, *([Text(f"{summary.flagged:,}")] if flagged else []))
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
        failing = [claim for claim in score.claims if claim.label is not Label.SUPPORTED]
        for claim in failing[:1]:
            why = f" ({claim.reason})" if claim.reason else ""
            more = f"; and {len(failing) - 1} more" if len(failing) > 1 else ""
            found.append((name, f"{LABELS[claim.label]}: {claim.text}{why}{more}"))
        if score.state is State.SCORED and not score.claims and score.reason:
            found.append((name, score.reason))
    return [f"{names}: {words}" for words, names in _merged(found).items()]


def _print_below(words: str, console: Console, style: str = "", limit: int = LONGEST) -> None:
    console.print(Padding(shown(words, console, style, limit), (0, 0, 0, 4)))
