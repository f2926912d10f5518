"""A comparison of two runs: its finding, then its sections, in the terminal and in Markdown."""

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console

from ragstone._internal.text import count, join_by_reason, one_line
from ragstone.reports.format import LABELS, NO_VALUE, decimal, interval, printable, signed
from ragstone.reports.markdown import COMMENT, escape, folded, join_blocks, part_as_markdown
from ragstone.reports.terminal import MAX_CELL, print_grid, print_line
from ragstone.reports.view import Grid, GridRow, Line, Section, Tone, grouping_lines, trust
from ragstone.results.comparison import ClaimChanges, Comparison, Kind, Regressions, SampleChange
from ragstone.results.paired import LISTED, CorrectedDifference, Finding, MetricChange
from ragstone.results.stats.paired_tests import ALPHA

MAX_LINES = 20  # of a comparison on a terminal with 80 columns
TONES = {Finding.BETTER: Tone.GOOD, Finding.WORSE: Tone.BAD}
MIN_P = 0.0001  # smaller p-values are written as less than this


def sections(comparison: Comparison) -> tuple[Section, ...]:
    changes = comparison.sample_changes
    title = "What changed from A ({}) to B ({})".format(*comparison.names)
    found = (
        Section("changes", title, tuple(_changes(comparison))),
        Section("samples", "Samples", tuple(_samples(comparison))),
        Section("differences", "Differences", tuple(_differences(comparison))),
        Section("significance", "Significance", tuple(_significance(comparison))),
        Section("drops", "Largest drops", tuple(_largest({c.metric: c.worst for c in changes}))),
        Section("gains", "Largest gains", tuple(_largest({c.metric: c.best for c in changes}))),
        Section("claims", "Claims", tuple(_claims(comparison.claims))),
    )
    return tuple(section for section in found if section.parts)


def finding_lines(comparison: Comparison) -> Iterator[Line]:
    """Yield the finding, other metrics that differ, and why all of this may be doubtful."""
    found = comparison.headline
    yield Line(found.words, TONES.get(found.outcome, Tone.PLAIN))
    yield from map(Line, found.others)
    yield from doubts(comparison)
    judged = any(each.judged for each in comparison.metric_changes)
    if judged and comparison.run and (judge := trust(comparison.run)):
        yield Line(f"{judge.label}: {judge.words}", judge.tone)


def doubts(comparison: Comparison) -> Iterator[Line]:
    for run in comparison.partial:
        yield Line(f"run {run} stopped early", Tone.BAD)
    for name, other in comparison.renamed.items():
        words = f"{name} in B is compared with {other} in A, so differences may come from the rule"
        yield Line(f"{words}, not from your system.", Tone.BAD)
    others = [change for change in comparison.changes if change.name not in comparison.renamed]
    judge = any(change.about in ("judge", "metrics") for change in others)
    judgments = any(change.name == "judgments (hash)" for change in others)
    changed = {"judge or its settings": judge, "judgments": judgments}
    for what in (what for what, is_so in changed.items() if is_so):
        source, _, _ = what.partition(" ")
        words = f"The {what} changed, so differences may come from the {source}"
        yield Line(f"{words}, not from your system.", Tone.BAD)


def _changes(comparison: Comparison) -> Iterator[Line | Grid]:
    yield from doubts(comparison)
    if comparison.changes:
        rows = tuple(GridRow((each.name, each.a, each.b)) for each in comparison.changes)
        yield Grid(("setting", "in A", "in B"), rows, prose=frozenset({"in A", "in B"}))
    elif comparison.unchanged:
        yield Line("no recorded change: same data, judge, target and settings")


def _samples(comparison: Comparison) -> Iterator[Line]:
    found = comparison.pairing
    pairs = count(len(found.pairs), "pair")
    words = f"{pairs}: {found.by_id:,} by id, {found.by_query:,} by query"
    yield Line(words, Tone.PLAIN if len(found.pairs) else Tone.BAD)
    if found.only_a or found.only_b:
        yield Line(f"unpaired: {found.only_a:,} in A, {found.only_b:,} in B")
    if found.renamed:
        ids = _list(found.first_renamed, of=found.renamed)
        yield Line(f"not paired because the same id has different queries: {ids}", Tone.BAD)
    if found.ambiguous:
        rows = count(found.ambiguous, "row")
        yield Line(f"left out because the query is not unique: {rows}")
    for run, names in (("A", comparison.only_a), ("B", comparison.only_b)):
        if names:
            yield Line(f"metrics only in {run}: {_list(names, most=20)}")
    yield from map(Line, grouping_lines(comparison.grouping, "pair"))


def _differences(comparison: Comparison) -> Iterator[Line | Grid]:
    changes = comparison.metric_changes
    if not changes:
        yield Line("the runs have no metrics in common", Tone.BAD)
        return
    yield difference_grid(changes)
    yield Line("A and B are means over the pairs that both runs scored")
    if known := sorted({each.confidence for each in changes if each.interval and each.confidence}):
        ends = dict.fromkeys(f"{level * 100:.4g}%" for level in (known[0], known[-1]))
        holm = ", because several metrics are compared (Holm)" if known[-1] > 1 - ALPHA else ""
        words = "intervals exclude 0 exactly when the finding is better or worse"
        yield Line(f"{words}; {' to '.join(ends)} confidence{holm}")
    for first in dict.fromkeys(each.same_as for each in changes if each.same_as):
        same = [first, *(each.metric for each in changes if each.same_as == first)]
        yield Line(f"metrics with the same scores count as one: {_list(same, most=20)}")
    for each in changes:
        if found := each.corrected:
            yield _corrected(each.metric, found)
    if lower := [each.metric for each in changes if not each.higher_is_better]:
        yield Line(f"lower is better: {_list(lower, most=20)}")


def difference_grid(changes: Sequence[MetricChange]) -> Grid:
    heads = ("metric", "A", "B", "B - A", "interval", "finding")
    rows: list[GridRow] = []
    for each in changes:
        means = decimal(each.mean_a, 3), decimal(each.mean_b, 3), signed(each.difference, 3)
        cells = (each.metric, *means, interval(each.interval, 3), each.finding.value)
        rows.append(GridRow(cells, TONES.get(each.finding, Tone.PLAIN)))
    return Grid(heads, tuple(rows), figures=frozenset(heads[1:-1]))


def _corrected(metric: str, found: CorrectedDifference) -> Line:
    if found.mean is None or found.interval is None:
        return Line(f"{metric}: no corrected difference: {found.problem}", Tone.BAD)
    low, high = map(signed, found.interval)
    words = f"{signed(found.mean)} corrected with labels ({low} to {high})"
    labels = f"{found.labels[0]:,} labelled rows in A and {found.labels[1]:,} in B"
    return Line(f"{metric}: {words}; {labels}")


def _significance(comparison: Comparison) -> Iterator[Line | Grid]:
    def chance(p: float | None) -> str:
        return f"<{MIN_P}".replace("0.", ".") if p is not None and p < MIN_P else decimal(p)

    heads = tuple("metric pairs p Holm effect better worse same MDE".split())
    rows: list[GridRow] = []
    for each in comparison.metric_changes:
        chances = map(chance, (each.p, each.p_adjusted))
        effect = NO_VALUE if each.effect is None else f"{each.effect:+.2f}"
        numbers = [f"{number:,}" for number in each.win_loss_tie]
        smallest = decimal(each.min_detectable_difference)
        rows.append(GridRow((each.metric, f"{each.n:,}", *chances, effect, *numbers, smallest)))
    if not rows:
        return
    yield Grid(heads, tuple(rows), figures=frozenset(heads[1:]))
    yield Line(
        "p: probability of a difference at least this large by chance; Holm: p corrected for "
        "several metrics, significant below 0.05; MDE: minimum detectable effect, the smallest "
        "true difference that this many pairs detect with 80% power"
    )
    missing: dict[str, str] = {}
    for each in comparison.metric_changes:
        a, b = each.unscored_a, each.unscored_b
        if any((*a, *b)):
            missing[each.metric] = (
                f"A {a.undefined:,} undefined, {a.failed:,} failed; B {b.undefined:,} undefined, "
                f"{b.failed:,} failed; scored only in A {each.only_in_a:,}, "
                f"only in B {each.only_in_b:,}"
            )
    yield from (Line(f"missing scores of {words}") for words in join_by_reason(missing))


def _largest(found: Mapping[str, Sequence[SampleChange]]) -> Iterator[Grid]:
    merged: dict[SampleChange, list[str]] = {}
    for metric, changes in found.items():
        for change in changes:
            merged.setdefault(change, []).append(metric)
    rows: list[GridRow] = []
    for change, names in merged.items():
        ids = " / ".join(dict.fromkeys((change.id_a, change.id_b)))
        cells = (_list(names), ids, decimal(change.a), decimal(change.b), change.query)
        rows.append(GridRow(cells, sample=(names[0], change.row_a)))
    if rows:
        heads = ("metric", "sample", "A", "B", "query")
        prose = frozenset({"metric", "query"})
        yield Grid(heads, tuple(rows), figures=frozenset({"A", "B"}), prose=prose)


def _claims(found: Sequence[ClaimChanges]) -> Iterator[Line | Grid]:
    merged: dict[str, tuple[ClaimChanges, list[str]]] = {}
    for each in found:
        merged.setdefault(repr(each.to_dict()), (each, []))[1].append(each.metric)
    for changes, names in merged.values():
        counts = changes.counts
        words = ", ".join(f"{counts[kind]:,} {kind.value}" for kind in Kind)
        words += f", {changes.unchanged:,} unchanged"
        if changes.appeared_unsupported:
            words += f"; {changes.appeared_unsupported:,} of the new ones are not supported"
        tone = Tone.BAD if counts[Kind.LOST] else Tone.PLAIN
        yield Line(f"{_list(names)}: {words}", tone)

        heads = ("change", "sample", "verdict", "claim", "reason")
        if not any(change.reason for kind in Kind for change in changes.first[kind]):
            heads = heads[:-1]
        rows: list[GridRow] = []
        for kind in Kind:
            for change in changes.first[kind]:
                verdicts = [LABELS[label] for label in (change.a, change.b) if label is not None]
                cells = (kind.value, change.sample_id, ", now ".join(verdicts), change.text)
                cells = (*cells, change.reason or "")[: len(heads)]
                rows.append(GridRow(cells, sample=(names[0], change.row_a)))
        if rows:
            yield Grid(heads, tuple(rows), prose=frozenset({"claim", "reason"}))


def _list(names: Sequence[str], most: int = LISTED, *, of: int = 0) -> str:
    rest = max(of, len(names)) - min(most, len(names))
    return ", ".join(names[:most]) + (f" and {rest:,} more" if rest > 0 else "")


def print_comparison(
    comparison: Comparison, console: Console, *, below: int = 0, verbose: bool = False
) -> None:
    """Print the finding and its reasons, with the lines `below` at most MAX_LINES; or all parts."""
    lines = list(finding_lines(comparison))
    if not verbose:
        lines += _sides(comparison)
    for line in lines:
        print_line(line, console)
    if not verbose:
        texts = [printable(line.words, console).wrap(console, console.width) for line in lines]
        _print_brief(comparison, console, MAX_LINES - below - sum(map(len, texts)))
        return
    for section in sections(comparison):
        console.print(printable(section.title, console, "bold underline", MAX_CELL))
        for part in section.parts:
            if isinstance(part, Line):
                print_line(part, console)
            else:
                print_grid(console, part)
        console.print()


def _sides(comparison: Comparison) -> Iterator[Line]:
    found, (a, b) = comparison.pairing, comparison.names
    left = f"; unpaired: {found.only_a:,} in A, {found.only_b:,} in B"
    pairs = count(len(found.pairs), "pair") + left * bool(found.only_a or found.only_b)
    yield Line(f"A: {one_line(a, 60)}; B: {one_line(b, 60)}; {pairs}")
    changed = [
        f"{each.name} {one_line(each.a, 40)} → {one_line(each.b, 40)}"
        for each in comparison.changes
        if each.name not in ("data set", "fingerprint", "judgments (hash)")
    ]
    if changed:
        yield Line(one_line(f"changed: {_list(changed)}", 160))


def _print_brief(comparison: Comparison, console: Console, lines: int) -> None:
    changes, drops = comparison.metric_changes, list(drop_lines(comparison))
    corrected = [_corrected(c.metric, c.corrected) for c in changes if c.corrected]
    most = max(1, lines - 3 - 2 * len(corrected) - len(drops) - bool(drops))
    shown = sorted(changes, key=lambda each: each.finding not in TONES)[:most]
    if shown:
        print_grid(console, difference_grid(shown), spare="interval")
    if rest := len(changes) - len(shown):
        console.print(f"{count(rest, 'more metric')}: -v")
    for line in corrected:
        print_line(line, console)
    if drops:
        title = f"Largest drops of {comparison.headline.metric} (-v shows all the rest)"
        console.print(printable(title, console, "bold", console.width))
    for words in drops:
        console.print(printable(words, console, limit=console.width))


def drop_lines(comparison: Comparison) -> Iterator[str]:
    """Yield the samples in which the metric of the finding fell most."""
    name = comparison.headline.metric
    worst = [each.worst for each in comparison.sample_changes if each.metric == name]
    for drop in worst[0][:LISTED] if worst else ():
        nothing = " (no result)" * drop.unanswered
        words = f"{drop.id_b}: {decimal(drop.a, 3)} → {decimal(drop.b, 3)}{nothing}"
        yield words + f", {drop.query}" * (drop.query != drop.id_b)


def verdict(found: Regressions) -> Line:
    def drops(changes: Sequence[MetricChange]) -> str:
        parts: list[str] = []
        for each in changes:
            by_people = found.corrected and each.corrected
            size = by_people.mean if by_people else each.difference
            parts.append(f"{each.metric} {signed(size)}{' corrected' * bool(by_people)}")
        return ", ".join(parts)

    if found.doubts:
        return Line(f"no verdict, because {'; '.join(found.doubts)}", Tone.BAD)
    if found.beyond:
        return Line(f"REGRESSION: {drops(found.beyond)}", Tone.BAD)
    if found.within:
        return Line(f"drops within min_effect: {drops(found.within)}")
    return Line("no regression", Tone.GOOD)


def as_markdown(comparison: Comparison, found: Regressions | None = None) -> str:
    """Return the finding as the title, the verdict on what was `found`, and folded sections."""
    title, *lines = finding_lines(comparison)
    blocks = [f"## {escape(title.words)}", *map(part_as_markdown, [*lines, *_sides(comparison)])]
    if found is not None:
        blocks.append(f"--fail-on-regression: {part_as_markdown(verdict(found))}")
    if comparison.metric_changes:
        blocks.append(part_as_markdown(difference_grid(comparison.metric_changes)))
    for section in sections(comparison):
        body = "\n\n".join(map(part_as_markdown, section.parts))
        blocks.append(folded(section.title, body))
    return join_blocks(blocks, limit=COMMENT)
