"""What is told of a comparison, in the order and the words that every report shares."""

from collections.abc import Callable, Iterable, Sequence

from ragstone.comparison import (
    ClaimChange,
    ClaimChanges,
    Comparison,
    Finding,
    Kind,
    MetricMoves,
    Move,
    Movement,
    Regressions,
)
from ragstone.messages import count
from ragstone.reports.facts import LABELS
from ragstone.reports.figures import NOTHING, decimal, interval
from ragstone.reports.sections import Grid, GridRow, Line, Mood, Section

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
            _furthest("Worst drops", comparison.moves, lambda each: each.worst),
            _furthest("Best gains", comparison.moves, lambda each: each.best),
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


def _drops(movements: Sequence[Movement]) -> str:
    return ", ".join(f"{each.metric} {signed(each.difference)}" for each in movements)


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
    movements = comparison.movements
    if not movements:
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
        for each in movements
    )
    parts: list[Line | Grid] = [
        Grid(heads, rows, figures=frozenset(heads[1:-1])),
        Line("A and B are means over the pairs that both runs scored"),
    ]
    if lower := [each.metric for each in movements if not each.higher_is_better]:
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
                chance(each.adjusted),
                chance(each.p_t),
                NOTHING if each.effect is None else f"{each.effect:+.2f}",
                *(f"{number:,}" for number in each.record),
                decimal(each.smallest),
            )
        )
        for each in comparison.movements
    )
    if not rows:
        return Section("How far to trust it", ())
    gaps = [Line(said, mood) for each in comparison.movements for said, mood in _gaps(each)]
    note = Line(_NOTE)
    grid = Grid(heads, rows, figures=frozenset(heads[1:]))
    return Section("How far to trust it", (grid, note, *gaps))


def _gaps(movement: Movement) -> Iterable[tuple[str, Mood]]:
    """Say how many pairs are not scored on both sides."""
    a, b = movement.unscored_a, movement.unscored_b
    if any((*a, *b)):
        told = [
            f"{run} {side.undefined:,} undefined, {side.failed:,} failed"
            for run, side in (("A", a), ("B", b))
        ]
        alone = f"scored in A only {movement.lost:,}, in B only {movement.found:,}"
        mood = Mood.BAD if b.failed > a.failed or movement.lost else Mood.PLAIN
        yield f"{movement.metric} without a number: {'; '.join(told)}; {alone}", mood


def _furthest(
    title: str, moves: Sequence[MetricMoves], of: Callable[[MetricMoves], Sequence[Move]]
) -> Section:
    """Tell the samples that moved furthest, those of several metrics once."""
    merged: dict[Move, list[str]] = {}
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


def _ids(move: Move) -> str:
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
