"""Labels as a table: in a file, and on the terminal with the agreement of annotators."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path

from rich.console import Console

from ragstone._internal.files import write_file
from ragstone.errors import UsageError
from ragstone.evaluation.labelling import WORDS, ClaimRow, LabelPlan
from ragstone.reports.excel import Book
from ragstone.reports.format import NO_VALUE, percent
from ragstone.reports.tables import Cell, CellType, Column, Table, batches, write_table
from ragstone.reports.terminal import print_table
from ragstone.results.stats.labels import Agreement
from ragstone.store import Store
from ragstone.types.label import HumanLabel

_COLUMNS: Mapping[str, tuple[CellType, int]] = {  # name -> type, and width in a workbook
    "id": (str, 16),
    "position": (int, 9),
    "metric": (str, 14),
    "number": (int, 9),
    "claim": (str, 70),
    "human": (str, 15),
    "annotator": (str, 14),
    "at": (str, 34),
    "blind": (bool, 8),
    "text_hashes": (str, 22),
    "query": (str, 30),
    "response": (str, 50),
    "contexts": (str, 60),
}
_LABELLED = tuple(_COLUMNS)[:10]
_TO_LABEL = "id query contexts claim human response number metric blind text_hashes".split()
_SUFFIXES = (".xlsx", ".csv", ".jsonl")


def write_labels(labels: Sequence[HumanLabel], rows: Sequence[ClaimRow], path: Path) -> None:
    """Write labels to a file that `ragstone labels import` reads; claims count from 1."""

    def lines() -> Iterator[Sequence[Cell]]:
        by_index = {row.index: row for row in rows}
        for label in labels:
            row = by_index[label.position]
            score = row.scores.get(label.metric)
            claims = score.claims if score else ()
            known = label.claim is not None and label.claim < len(claims)
            number = None if label.claim is None else label.claim + 1
            text = claims[label.claim or 0].text if known else None
            judged = label.sample_id, label.position, label.metric, number, text
            person = WORDS[label.value], label.annotator, label.at.isoformat()
            yield (*judged, *person, label.blind, row.sample.text_hashes)

    _write(_LABELLED, lines(), path)


def write_claims(store: Store, run_id: str, plan: LabelPlan, path: Path) -> None:
    """Write the claims of a plan, without the judge's verdicts, to be labelled in the file."""

    def lines() -> Iterator[Sequence[Cell]]:
        for drawn in plan.rows:
            row = store.row(run_id, drawn.position)
            assert row is not None, "the plan is of this run"
            sample = row.sample
            contexts = "\n\n".join(each.text for each in sample.contexts or ())
            for number, claim in enumerate(row.scores[plan.metric].claims, 1):
                before = sample.id, sample.query, contexts, claim.text, None
                after = sample.response, number, plan.metric, True, sample.text_hashes
                yield (*before, *after)

    _write(_TO_LABEL, lines(), path)


def _write(names: Sequence[str], lines: Iterator[Sequence[Cell]], path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(f"{path}: labels cannot be written so; use {', '.join(_SUFFIXES)}")
    if suffix != ".xlsx":
        columns = [Column(name, _COLUMNS[name][0]) for name in names]
        write_table(Table(columns, batches(lines)), path)
        return

    def fill(path: Path) -> None:
        with Book(path, datetime.now(UTC)) as book:
            page = book.page("Labels", [_COLUMNS[name][1] for name in names])
            page.head(0, names)
            last = 0
            for last, line in enumerate(lines, 1):
                page.put_line(last, line, ["text"] * len(names))
            page.make_list(last, len(names) - 1, 1)

    write_file(path, fill)


def print_labels(labels: Sequence[HumanLabel], console: Console) -> None:
    groups: dict[tuple[str, str], list[HumanLabel]] = {}
    for label in labels:
        groups.setdefault((label.metric, label.annotator), []).append(label)
    heads = ("metric", "annotator", "labels", "yes", "no", "?", "rows", "blind", "last")
    rows = (
        (
            *names,
            f"{len(some):,}",
            *(f"{sum(label.value is value for label in some):,}" for value in WORDS),
            f"{len({label.position for label in some}):,}",
            f"{sum(label.blind for label in some):,}",
            f"{max(label.at for label in some):%Y-%m-%d}",
        )
        for names, some in groups.items()
    )
    print_table(console, heads, rows, words=2)
    pairs: list[tuple[str, ...]] = []
    for (metric, first), (other, second) in combinations(groups, 2):
        values = {(one.position, one.claim): one.value for one in groups[other, second]}
        both = ((one.value, values.get((one.position, one.claim))) for one in groups[metric, first])
        found = Agreement.of((a, b) for a, b in both if a is not None and b is not None)
        if metric == other and found.n:
            kappa = NO_VALUE if found.kappa is None else f"{found.kappa:.2f}"
            figures = f"{found.n:,}", percent(found.agreeing / found.n), kappa, f"{found.ac1:.2f}"
            pairs.append((metric, f"{first}, {second}", *figures))
    if pairs:
        console.print()
        heads = ("metric", "annotators", "both", "agree", "Cohen's kappa", "Gwet's AC1")
        print_table(console, heads, pairs, words=2)
