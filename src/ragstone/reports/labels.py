"""Labels as a table: in a file, and on the terminal with the agreement of annotators."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from itertools import combinations
from pathlib import Path

from rich.console import Console

from ragstone._internal.files import write_file
from ragstone.errors import UsageError
from ragstone.evaluation.label_files import WORDS
from ragstone.evaluation.labelling import ClaimRow, Item, LabelSession
from ragstone.reports.excel.book import Book
from ragstone.reports.format import percent
from ragstone.reports.tables import Cell, CellType, Column, Table, batches, write_table
from ragstone.reports.terminal import print_table
from ragstone.results.stats.agreement import Agreement
from ragstone.types.label import HumanLabel

_COLUMNS: Mapping[str, tuple[CellType, int]] = {
    "id": (str, 16),
    "position": (int, 9),
    "metric": (str, 14),
    "number": (int, 9),
    "claim": (str, 70),
    "human": (str, 15),
    "annotator": (str, 14),
    "at": (str, 34),
    "probability": (float, 12),
    "blind": (bool, 8),
    "query": (str, 30),
    "response": (str, 50),
    "contexts": (str, 60),
}
"""Name -> the type of its cells, and its width in a workbook."""
_GIVEN = (
    "id", "position", "metric", "number", "claim", "human", "annotator", "at", "probability",
    "blind",
)  # fmt: skip
_TO_LABEL = (
    "id", "query", "contexts", "claim", "human", "response", "number", "metric", "probability",
    "blind",
)  # fmt: skip
_SUFFIXES = (".xlsx", ".csv", ".jsonl")


def write_labels(labels: Sequence[HumanLabel], rows: Sequence[ClaimRow], path: Path) -> None:
    """Write labels to a file that `ragstone labels import` reads.

    Claims are texts with their number from 1, as in reports. Texts are never formulas.
    """
    _write(_GIVEN, _lines(labels, rows), path)


def write_claims(session: LabelSession, path: Path) -> None:
    _write(_TO_LABEL, _lines_to_label(session), path)


def _lines_to_label(session: LabelSession) -> Iterator[Sequence[Cell]]:
    for drawn in session.plan.rows:
        row = session.row(Item(drawn.position, 0))
        contexts = "\n\n".join(each.text for each in row.sample.contexts or ())
        before, response = (row.sample.id, row.sample.query, contexts), row.sample.response
        for number, claim in enumerate(row.scores[session.metric].claims, 1):
            about = session.metric, drawn.probability, True
            yield (*before, claim.text, None, response, number, *about)


def _write(names: Sequence[str], lines: Iterator[Sequence[Cell]], path: Path) -> None:
    suffix = path.suffix.lower()
    if suffix not in _SUFFIXES:
        raise UsageError(f"{path}: labels cannot be written so; use {', '.join(_SUFFIXES)}")
    if suffix == ".xlsx":
        write_file(path, partial(_fill_workbook, names=names, lines=lines))
    else:
        columns = [Column(name, _COLUMNS[name][0]) for name in names]
        write_table(Table(columns, batches(lines)), path)


def _lines(labels: Sequence[HumanLabel], rows: Sequence[ClaimRow]) -> Iterator[Sequence[Cell]]:
    by_place = {row.index: row for row in rows}
    for label in labels:
        score = by_place[label.position].scores.get(label.metric)
        claims = score.claims if score else ()
        known = label.claim is not None and label.claim < len(claims)
        yield (
            label.sample_id,
            label.position,
            label.metric,
            None if label.claim is None else label.claim + 1,
            claims[label.claim or 0].text if known else None,
            WORDS[label.value],
            label.annotator,
            label.at.isoformat(),
            label.probability,
            label.blind,
        )


def _fill_workbook(path: Path, names: Sequence[str], lines: Iterator[Sequence[Cell]]) -> None:
    with Book(path, datetime.now(UTC)) as book:
        page = book.page("Labels", [_COLUMNS[name][1] for name in names])
        page.head(0, names)
        last = 0
        for last, line in enumerate(lines, 1):
            for place, cell in enumerate(line):
                page.put(last, place, cell)
        page.make_list(last, len(names) - 1, 1)


def print_labels(labels: Sequence[HumanLabel], console: Console) -> None:
    groups: dict[tuple[str, str], list[HumanLabel]] = {}
    for label in labels:
        groups.setdefault((label.metric, label.annotator), []).append(label)
    heads = ("metric", "annotator", "labels", "yes", "no", "?", "rows", "blind", "last")
    rows = (
        (
            *names,
            f"{len(each):,}",
            *(f"{sum(label.value is value for label in each):,}" for value in WORDS),
            f"{len({label.position for label in each}):,}",
            f"{sum(label.blind for label in each):,}",
            f"{max(label.at for label in each):%Y-%m-%d}",
        )
        for names, each in groups.items()
    )
    print_table(console, heads, rows, words=2)
    pairs: list[list[str]] = []
    for (metric, first), (other, second) in combinations(groups, 2):
        found = agreement(groups[metric, first], groups[other, second])
        if metric == other and found.n:
            kappa = "–" if found.kappa is None else f"{found.kappa:.2f}"
            share = percent(found.agreeing / found.n)
            names = metric, f"{first}, {second}"
            pairs.append([*names, f"{found.n:,}", share, kappa, f"{found.ac1:.2f}"])
    if pairs:
        console.print()
        heads = ("metric", "annotators", "both", "agree", "Cohen's kappa", "Gwet's AC1")
        print_table(console, heads, pairs, words=2)


def agreement(first: Sequence[HumanLabel], second: Sequence[HumanLabel]) -> Agreement:
    """Return how far two annotators agree on what both labelled; "cannot tell" does not count."""
    values = {(each.position, each.claim): each.value for each in second}
    pairs = ((each.value, values.get((each.position, each.claim))) for each in first)
    return Agreement.of((a, b) for a, b in pairs if a is not None and b is not None)
