"""Several systems as files: a page with charts, a workbook, and the values of each question."""

import math
from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path

import numpy as np
from markupsafe import Markup

from ragstone._internal.files import write_file
from ragstone.reports import excel
from ragstone.reports.comparison import difference_grid, drop_lines, finding_lines
from ragstone.reports.excel import SAMPLES_SHEET, Book, Value
from ragstone.reports.html.page import curves, write_page
from ragstone.reports.systems import findings, lines, notes
from ragstone.reports.tables import Cell, Column, Table, batches, write_table
from ragstone.results.systems import LETTERS, Systems


def write_html(systems: Systems, path: Path) -> None:
    heads, *rows = lines(systems, Markup("<strong>{}</strong>"), Markup("<sup>{}</sup>"))
    compared = [
        (x.names[1], [*finding_lines(x)], difference_grid(x.metric_changes), [*drop_lines(x)])
        for x in systems.against_first
    ]
    context: dict[str, object] = {"title": findings(systems)[0], "heads": heads, "rows": rows}
    context |= {"names": systems.names, "notes": [*notes(systems)], "findings": compared}
    context["charts"] = list(curves(*systems.runs))
    write_file(path, lambda part: write_page(part, "systems.html", **context))


def write_workbook(systems: Systems, path: Path) -> None:
    write_file(path, partial(_fill_workbook, systems))


def _fill_workbook(systems: Systems, path: Path) -> None:
    with Book(path, systems.runs[0].manifest.started_at) as book:
        heads = [head for name in systems.metrics for head in (name, f"{name}: worse systems")]
        page = book.page("Systems", (8, 28, *[14] * len(heads)))
        page.head(0, ("", "system", *heads))
        for place, name in enumerate(systems.names):
            cells = [cells[place] for _, cells in systems.table.values()]
            values: list[Value] = [value for cell in cells for value in (cell.mean, cell.worse)]
            looks = ("text", "name", *["score", "text"] * len(cells))
            page.put_line(place + 1, (LETTERS[place], name, *values), looks)
        for place, words in enumerate(notes(systems), start=len(systems.names) + 2):
            page.spread(place, 0, words)

        rows, first = rows_table(systems), systems.runs[0]
        columns = [
            excel.Column[Sequence[Cell]](column.name, width, itemgetter(place), look)
            for place, column in enumerate(rows.columns)
            for width, look in [(30, "text") if place < 2 else (18, "score")]
        ]
        excel.add_list(book, first, columns, rows.lines, len(first.rows), sheet=SAMPLES_SHEET)


def write_rows(systems: Systems, path: Path) -> None:
    write_table(rows_table(systems), path)


def rows_table(systems: Systems) -> Table:
    """Return the values of all systems for each row of the first, and the differences to it."""
    first, others = systems.runs[0], systems.names[1:]
    columns = [Column("id", str), Column("query", str)]
    for metric in systems.metrics:
        columns += [Column(f"scores.{metric}.{name}", float) for name in systems.names]
        columns += [Column(f"differences.{metric}.{name}", float) for name in others]
    values = [systems.values(metric) for metric in systems.metrics]
    numbers = np.concatenate([x for v in values for x in (v, v[:, 1:] - v[:, :1])], axis=1)

    def rows() -> Iterator[Sequence[Cell]]:
        known = ((row.sample.id, row.sample.query) for row in first.rows)
        if first.columns is not None:
            known = zip(first.columns.ids, first.columns.queries, strict=True)
        for texts, line in zip(known, numbers.tolist(), strict=True):
            yield *texts, *(None if math.isnan(value) else value for value in line)

    return Table(columns, batches(rows()))
