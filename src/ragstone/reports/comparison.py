"""What is told of a comparison, in the order and the words that every report shares."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rich.box import SIMPLE
from rich.console import Console
from rich.measure import Measurement
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone._internal.text import count
from ragstone.reports.facts import LABELS
from ragstone.reports.format import NOTHING, decimal, interval, shown
from ragstone.reports.markdown import escaped, sentence, table
from ragstone.results.compare import (
    ClaimChange,
    ClaimChanges,
    Comparison,
    Finding,
    Kind,
    MetricChange,
    Regressions,
    SampleChange,
    SampleChanges,
)

# Section: a part of a report in words and tables, before anybody knows where it is shown.


class Mood(StrEnum):
    """How a line or a row is meant."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True)
class Line:
    """A sentence; it may hold text from outside, as every cell may."""

    words: str
    mood: Mood = Mood.PLAIN


@dataclass(frozen=True)
class GridRow:
    """One row of a grid; the mood is that of its last cell."""

    cells: tuple[str, ...]
    mood: Mood = Mood.PLAIN


@dataclass(frozen=True)
class Grid:
    """A table; `figures` names the columns of numbers, and a `prose` one is long texts."""

    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    figures: frozenset[str] = frozenset()
    prose: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Section:
    """A part of the report under its title."""

    title: str
    parts: tuple[Line | Grid, ...]


SHOWN = 3
"""Names told one by one; the rest are counted."""
LEAST = 0.0001
"""A p that is written; a smaller one is only said to be so."""

_NOTE = (
    "p: how often chance alone differs so much; Holm: p for several metrics at once, significant "
    "below 0.05; least: the smallest true difference that so many pairs show four times of five"
)
_WHAT = "A changed judge is not a changed system: the numbers below show how both differ."


def sections(comparison: Comparison) -> tuple[Section, ...]:
    """Return the report: what changed first, then what moved and how far to trust it."""
    return tuple(
        section
        for section in (
            _changed(comparison),
            _samples(comparison),
            _moved(comparison),
            _trust(comparison),
            _furthest("Worst drops", comparison.sample_changes, lambda each: each.worst),
            _furthest("Best gains", comparison.sample_changes, lambda each: each.best),
            _claims(comparison.claims),
        )
        if section.parts
    )


def regression_line(found: Regressions) -> Line:
    """Say in a line whether B is worse than A, where that can be said."""
    if found.beyond:
        return Line(f"REGRESSION: {_drops(found.beyond)}", Mood.BAD)
    if found.within:
        return Line(f"drops within --min-effect: {_drops(found.within)}")
    return Line("no regression", Mood.GOOD)


def _drops(changes: Sequence[MetricChange]) -> str:
    return ", ".join(f"{each.metric} {signed(each.difference)}" for each in changes)


def _changed(comparison: Comparison) -> Section:
    parts: list[Line | Grid] = [
        Line(f"run {run} was stopped before every row was finished", Mood.BAD)
        for run in comparison.partial
    ]
    if comparison.judge_changed:
        parts.append(Line(_WHAT, Mood.BAD))
    if comparison.changes:
        rows = tuple(GridRow((each.name, each.a, each.b)) for each in comparison.changes)
        parts.append(Grid(("what", "in A", "in B"), rows, prose=frozenset({"in A", "in B"})))
    else:
        parts.append(Line("nothing that is known: the same data, judge, target and settings"))
    return Section(f"What changed from A ({comparison.a}) to B ({comparison.b})", tuple(parts))


def _samples(comparison: Comparison) -> Section:
    found = comparison.pairing
    mood = Mood.PLAIN if found.pairs else Mood.BAD
    said = [
        Line(
            f"{count(len(found.pairs), 'pair')}: {found.by_id:,} by id, "
            f"{found.by_query:,} by query",
            mood,
        )
    ]
    if found.only_a or found.only_b:
        said.append(Line(f"without a partner: {found.only_a:,} of A, {found.only_b:,} of B"))
    if found.renamed:
        ids = _listed(found.renamed)
        said.append(Line(f"the same id for another query, not paired by it: {ids}", Mood.BAD))
    if found.ambiguous:
        said.append(Line(f"left out as their query stands twice: {count(found.ambiguous, 'row')}"))
    for run, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            said.append(Line(f"metrics of {run} only: {_listed(names, most=20)}"))
    if comparison.cluster is not None:
        said.append(Line(f"rows of the same {comparison.cluster} are taken together"))
    return Section("Samples", tuple(said))


def _moved(comparison: Comparison) -> Section:
    metric_changes = comparison.metric_changes
    if not metric_changes:
        return Section("What moved", (Line("the runs have no metric in common", Mood.BAD),))
    heads = ("metric", "A", "B", "B - A", "95 % interval", "finding")
    moods = {Finding.BETTER: Mood.GOOD, Finding.WORSE: Mood.BAD}
    rows = tuple(
        GridRow(
            (
                each.metric,
                decimal(each.mean_a),
                decimal(each.mean_b),
                signed(each.difference),
                interval(each.interval),
                each.finding.value,
            ),
            moods.get(each.finding, Mood.PLAIN),
        )
        for each in metric_changes
    )
    parts: list[Line | Grid] = [
        Grid(heads, rows, figures=frozenset(heads[1:-1])),
        Line("A and B are means over the pairs that both runs scored"),
    ]
    if lower := [each.metric for each in metric_changes if not each.higher_is_better]:
        parts.append(Line(f"lower is better: {_listed(lower, most=20)}"))
    return Section("What moved", tuple(parts))


def _trust(comparison: Comparison) -> Section:
    heads = (
        "metric", "pairs", "p", "Holm", "t-test", "effect", "better", "worse", "same", "least",
    )  # fmt: skip
    rows = tuple(
        GridRow(
            (
                each.metric,
                f"{each.n:,}",
                chance(each.p),
                chance(each.p_adjusted),
                chance(each.p_t),
                NOTHING if each.effect is None else f"{each.effect:+.2f}",
                *(f"{number:,}" for number in each.win_loss_tie),
                decimal(each.min_detectable_difference),
            )
        )
        for each in comparison.metric_changes
    )
    if not rows:
        return Section("How far to trust it", ())
    gaps = [Line(said, mood) for each in comparison.metric_changes for said, mood in _gaps(each)]
    note = Line(_NOTE)
    grid = Grid(heads, rows, figures=frozenset(heads[1:]))
    return Section("How far to trust it", (grid, note, *gaps))


def _gaps(change: MetricChange) -> Iterable[tuple[str, Mood]]:
    """Say how many pairs are not scored on both sides."""
    a, b = change.unscored_a, change.unscored_b
    if any((*a, *b)):
        told = [
            f"{run} {side.undefined:,} undefined, {side.failed:,} failed"
            for run, side in (("A", a), ("B", b))
        ]
        alone = f"scored in A only {change.only_in_a:,}, in B only {change.only_in_b:,}"
        mood = Mood.BAD if b.failed > a.failed or change.only_in_a else Mood.PLAIN
        yield f"{change.metric} without a number: {'; '.join(told)}; {alone}", mood


def _furthest(
    title: str,
    moves: Sequence[SampleChanges],
    of: Callable[[SampleChanges], Sequence[SampleChange]],
) -> Section:
    """Tell the samples that moved furthest, those of several metrics once."""
    merged: dict[SampleChange, list[str]] = {}
    for each in moves:
        for move in of(each):
            merged.setdefault(move, []).append(each.metric)
    rows = tuple(
        GridRow((_listed(names), _ids(move), decimal(move.a), decimal(move.b), move.query))
        for move, names in merged.items()
    )
    heads = ("metric", "sample", "A", "B", "query")
    prose = frozenset({"metric", "query"})
    grid = Grid(heads, rows, figures=frozenset({"A", "B"}), prose=prose)
    return Section(title, (grid,) if rows else ())


def _ids(move: SampleChange) -> str:
    return move.id_b if move.id_a == move.id_b else f"{move.id_a} / {move.id_b}"


def _claims(found: Sequence[ClaimChanges]) -> Section:
    """Tell what became of claims, metrics of which the same is true together."""
    merged: dict[str, tuple[ClaimChanges, list[str]]] = {}
    for each in found:
        merged.setdefault(repr(each.to_dict()), (each, []))[1].append(each.metric)
    parts: list[Line | Grid] = []
    for changes, names in merged.values():
        counts = changes.counts
        told = ", ".join(f"{counts[kind]:,} {kind.value}" for kind in Kind)
        told += f", {changes.kept:,} as before"
        if changes.appeared_unsupported:
            told += f"; not supported of those that appeared: {changes.appeared_unsupported:,}"
        parts.append(
            Line(f"{_listed(names)}: {told}", Mood.BAD if counts[Kind.LOST] else Mood.PLAIN)
        )
        if any(changes.first.values()):
            parts.append(_first_claims(changes))
    return Section("Claims", tuple(parts))


def _first_claims(changes: ClaimChanges) -> Grid:
    """Return the first claims of each kind, with reasons if there are any."""
    told = [(kind, change) for kind in Kind for change in changes.first[kind]]
    heads = ("the first", "sample", "verdict", "claim", "reason")
    shown = len(heads) - (not any(change.reason for _, change in told))
    rows = tuple(
        GridRow(
            (kind.value, change.sample_id, _judged(change), change.text, change.reason or "")[
                :shown
            ]
        )
        for kind, change in told
    )
    return Grid(heads[:shown], rows, prose=frozenset({"claim", "reason"}))


def _judged(change: ClaimChange) -> str:
    labels = [LABELS[label] for label in (change.a, change.b) if label is not None]
    return ", now ".join(labels)


def signed(value: float | None) -> str:
    """Write a difference with its sign."""
    return NOTHING if value is None else f"{value + 0.0:+.4f}"


def chance(p: float | None) -> str:
    """Write a p."""
    if p is None:
        return NOTHING
    return decimal(p) if p >= LEAST else f"<{LEAST}".replace("0.", ".")


def _listed(names: Sequence[str], most: int = SHOWN) -> str:
    rest = len(names) - most
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


# A comparison on the terminal: tables where they fit, lists where they do not.

PROSE = 24
"""Columns of the terminal that a column of long texts needs at least."""
LONGEST = 200
"""Characters shown of one cell."""

_INDENT = (0, 0, 0, 2)
_STYLES = {Mood.PLAIN: "", Mood.GOOD: "bold green", Mood.BAD: "bold red"}


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print what changed, what moved, and how far to trust it."""
    for section in sections(comparison):
        console.print(shown(section.title, console, "bold underline", LONGEST))
        for part in section.parts:
            if isinstance(part, Line):
                console.print(shown(part.words, console, _STYLES[part.mood]))
            else:
                _print_grid(part, console)
        console.print()


def print_regressions(found: Regressions, console: Console) -> None:
    """Print in a line whether B is worse than A."""
    line = regression_line(found)
    console.print(shown(line.words, console, _STYLES[line.mood]), soft_wrap=True)


def _print_grid(grid: Grid, console: Console) -> None:
    """Print the table, its columns closer together where it is too wide, and at last as a list."""
    for padding in (1, 0):
        if _least(grid, console, padding) <= console.width:
            console.print(_table(grid, console, padding))
            return
    _print_list(grid, console)


def _least(grid: Grid, console: Console, padding: int) -> int:
    """Return how wide a terminal the table needs, its long texts folded."""
    table = _table(grid, console, padding, fold=PROSE)
    return Measurement.get(console, console.options.update(max_width=1000), table).maximum


def _table(grid: Grid, console: Console, padding: int, *, fold: int | None = None) -> Table:
    """Return the table; with `fold`, as if no long text were longer."""
    table = Table(
        box=SIMPLE,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        padding=(0, padding),
    )
    for head in grid.heads:
        prose = head in grid.prose
        justify = "right" if head in grid.figures else "left"
        most = fold if prose else None
        table.add_column(head, justify=justify, no_wrap=not prose, max_width=most, overflow="fold")
    for row in grid.rows:
        *cells, last = (shown(cell, console, limit=LONGEST) for cell in row.cells)
        last.stylize(_STYLES[row.mood])
        table.add_row(*cells, last)
    return table


def _print_list(grid: Grid, console: Console) -> None:
    """Print each row as its first cell, below it its figures in a line, and its long texts."""
    for row in grid.rows:
        console.print(shown(row.cells[0], console, "bold", LONGEST))
        moods = [Mood.PLAIN] * (len(row.cells) - 1) + [row.mood]
        line = Text()
        for head, cell, mood in list(zip(grid.heads, row.cells, moods, strict=True))[1:]:
            if not cell:
                continue
            words = shown(f"{head} {cell}", console, _STYLES[mood], LONGEST)
            if head in grid.prose:
                console.print(Padding(words, _INDENT))
            else:
                line.append(" | " if line else "").append_text(words)
        if line:
            console.print(Padding(line, _INDENT))


# A comparison as Markdown, for a pull request or a wiki.


def as_markdown(comparison: Comparison) -> str:
    """Return the report as Markdown; nothing in it that came from outside is markup."""
    blocks: list[str] = []
    for section in sections(comparison):
        blocks.append(f"## {escaped(section.title)}")
        blocks += [
            _line(each) if isinstance(each, Line) else _comparison_markdown_table(each)
            for each in section.parts
        ]
    return "\n\n".join(blocks) + "\n"


def _line(line: Line) -> str:
    return f"**{escaped(line.words)}**" if line.mood is Mood.BAD else sentence(line.words)


def _comparison_markdown_table(grid: Grid) -> str:
    rows: list[list[str]] = []
    for row in grid.rows:
        *cells, last = map(escaped, row.cells)
        rows.append([*cells, last if row.mood is Mood.PLAIN else f"**{last}**"])
    heads = [escaped(head) for head in grid.heads]
    return table(heads, rows, figures={escaped(head) for head in grid.figures})
