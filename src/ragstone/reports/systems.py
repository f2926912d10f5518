"""Several systems in one table: on a terminal, in Markdown and in LaTeX."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from ragstone._internal.text import count, one_line
from ragstone.reports import markdown
from ragstone.reports.comparison import doubts, finding_lines, print_comparison
from ragstone.reports.format import NO_VALUE
from ragstone.reports.tables import write_output
from ragstone.reports.terminal import print_grid, print_line, ranking_lines
from ragstone.reports.view import Grid, GridRow, Line
from ragstone.results.ranking_run import NOTES, SKIPPED, UNRANKED
from ragstone.results.systems import LETTERS, Cell, Systems

MAX_NAME = 32  # characters of a system's name on a terminal
TABLES, MANY = 2, 5  # tables below each other on a terminal; for more systems, one
SUPERSCRIPTS = str.maketrans(LETTERS, "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ")
MISSING = {SKIPPED: "are left out", UNRANKED: "count as 0; --missing skip leaves them out"}


def notes(systems: Systems) -> Iterator[str]:
    """Yield what the table means, and which queries are missing."""
    ns, rows = [n for n, _ in systems.table.values()] or [0], len(systems.runs[0].rows)
    n = " to ".join(f"{end:,}" for end in sorted({min(ns), max(ns)}))
    tests = f"sign-flip test, p < 0.05 after Holm for {count(systems.tests, 'test')}"
    letters = f"Letters: systems that are significantly worse ({tests}); "
    yield letters * (len(systems.runs) > 1) + f"n = {n} of {rows:,} questions"
    for name, run in zip(systems.names, systems.runs, strict=True):
        why = np.zeros(0) if run.columns is None else run.columns.why
        judged = np.isin(why, (0, *MISSING)).sum()
        for code, done in MISSING.items():
            if missing := np.sum(why == code):
                yield f"{missing:,} of {judged:,} queries are missing from {name} and {done}"


def lines(
    systems: Systems, best: str, raised: str, escape: Callable[[str], str] = str
) -> list[list[str]]:
    """Return the heads, then a line for each system; `best` and `raised` are formats."""

    def written(cell: Cell) -> str:
        mean = NO_VALUE if cell.mean is None else f"{cell.mean:.3f}"
        mean = best.format(mean) if cell.best else mean
        return mean + raised.format(cell.worse) if cell.worse else mean

    cells = [cells for _, cells in systems.table.values()]
    found = [["", "system", *map(escape, systems.metrics)]]
    for place, name in enumerate(systems.names):
        found.append([LETTERS[place], escape(name), *(written(row[place]) for row in cells)])
    return found


def findings(systems: Systems) -> list[Line]:
    """Return the finding of two systems, or by which metrics one of more is best."""
    if len(systems.runs) == 2:
        return list(finding_lines(systems.comparisons[0, 1]))
    parts: list[str] = []
    for place, name in enumerate(systems.names):
        others = len(systems.names) - 1
        best = [m for m, (_, cells) in systems.table.items() if len(cells[place].worse) == others]
        if best:
            every = f"all {len(best)} metrics" if len(best) == len(systems.metrics) > 1 else None
            parts.append(f"{name} is significantly best by {every or ', '.join(best)}")
    return [Line("; ".join(parts) or "No system is significantly best by any metric")]


def print_systems(systems: Systems, console: Console, *, verbose: bool = False) -> None:
    """Print the table, in parts if it is too wide; all the metrics only with `verbose`."""
    heads, *rows = lines(systems, "{}*", "{}", lambda name: one_line(name, MAX_NAME))
    found = [] if verbose and len(rows) == 2 else findings(systems)
    for line in found:
        print_line(line, console)
    signs = SUPERSCRIPTS if console.encoding.startswith("utf") else {}
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    texts = [
        [
            Text(f"{cell:<{width}}".translate(signs), "bold" * ("*" in cell))
            for cell, width in zip(row[2:], widths[2:], strict=True)
        ]
        for row in rows
    ]
    sizes = [2 + max(len(head), width) for head, width in zip(heads, widths, strict=True)]
    start, tables = 2, TABLES - (len(rows) > MANY)
    while start < len(heads) and (verbose or tables):
        room, tables = console.width + 2 - sum(sizes[:2]), tables - 1
        end = start + max(1, sum(size <= room for size in accumulate(sizes[start:])))
        cells = (
            (*row[:2], *text[start - 2 : end - 2]) for row, text in zip(rows, texts, strict=True)
        )
        grid = Grid((*heads[:2], *heads[start:end]), tuple(map(GridRow, cells)))
        print_grid(console, replace(grid, figures=frozenset(heads[2:])))
        start = end
    if start < len(heads):
        print_line(Line(f"{count(len(heads) - start, 'more metric')}: -v"), console)
    first, *more = notes(systems)
    below = [Line(f"* = best. {first}"), *map(Line, more)]
    for name, run in zip(systems.names, systems.runs, strict=True):
        if run.columns is not None:
            usual = [note for note in run.manifest.source.notes if not note.startswith(NOTES)]
            own = *map(Line, usual), *ranking_lines(run)
            below += (replace(line, words=f"{name}: {line.words}") for line in own)
    if len(rows) > 2:
        below += dict.fromkeys(line for each in systems.against_first for line in doubts(each))
    for line in below:
        print_line(line, console)
    for each in systems.against_first if verbose else ():
        console.print()
        print_comparison(each, console, verbose=True)


def write_markdown(systems: Systems, path: Path) -> None:
    heads, *rows = lines(systems, "**{}**", "<sup>{}</sup>", markdown.escape)
    found = findings(systems)
    blocks = [f"## {markdown.escape(found[0].words)}", *map(markdown.part_as_markdown, found[1:])]
    blocks.append(markdown.markdown_table(heads, rows, figures=heads[2:]))
    blocks += map(markdown.paragraph, notes(systems))
    write_output("\n\n".join(blocks) + "\n", path)


def write_latex(systems: Systems, path: Path) -> None:
    """Write a table that needs the package booktabs."""
    heads, *rows = lines(systems, r"\textbf{{{}}}", r"\textsuperscript{{{}}}", latex)
    head, *body = (" & ".join(cells) + r" \\" for cells in (heads, *rows))
    begin = rf"\begin{{tabular}}{{ll{'r' * len(heads[2:])}}}"
    comments = (f"% {one_line(words)}" for words in notes(systems))
    text = [*comments, begin, r"\toprule", head, r"\midrule", *body, r"\bottomrule"]
    write_output("\n".join([*text, r"\end{tabular}", ""]), path)


def latex(text: str) -> str:
    words = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(r"[\\~^&%$#_{}]", lambda x: words.get(x[0], "\\" + x[0]), one_line(text))
