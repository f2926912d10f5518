"""A workbook for people who open Excel: a `Summary` sheet, and one of all queries a metric."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.reports.excel_book import Book, sheet_names
from ragstone.reports.excel_queries import SEVERAL, SINGLE, add_queries
from ragstone.reports.excel_summary import add_combined, add_single
from ragstone.reports.facts import titles
from ragstone.run import Run


def write_workbook(path: Path, run: Run, *, names: Sequence[str], combined: bool) -> None:
    """Write the workbook of those metrics of a run; without `combined` it is of one metric.

    Raises:
        OSError: the file cannot be written.
    """
    with Book(path, run.manifest.started_at) as book:
        if not combined:
            add_single(book, run, name=names[0])
            add_queries(book, run, name=names[0], sheet=SINGLE)
            return
        add_combined(book, run, names=names)
        labels = titles(run)
        sheets = sheet_names(SEVERAL, [labels[name] for name in names])
        for name, sheet in zip(names, sheets, strict=True):
            add_queries(book, run, name=name, sheet=sheet)
