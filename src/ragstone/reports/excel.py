"""A workbook for people who open Excel: a `Summary`, all queries a metric, and the claims."""

from collections.abc import Sequence
from pathlib import Path

from ragstone.reports.excel_book import Book, sheet_names
from ragstone.reports.excel_claims import add_claims
from ragstone.reports.excel_queries import SEVERAL, SINGLE, add_queries
from ragstone.reports.excel_summary import add_combined, add_single
from ragstone.reports.facts import titles
from ragstone.reports.ranking_excel import add_values
from ragstone.run import Run


def write_workbook(path: Path, run: Run, *, names: Sequence[str], combined: bool) -> None:
    """Write the workbook of those metrics of a run; without `combined` it is of one metric.

    Raises:
        OSError: the file cannot be written.
    """
    with Book(path, run.manifest.started_at) as book:
        if run.columns is not None:
            add_combined(book, run, names=names)
            add_values(book, run, names=names)
            return
        if combined:
            add_combined(book, run, names=names)
            labels = titles(run.metrics)
            sheets = sheet_names(SEVERAL, [labels[name] for name in names])
        else:
            add_single(book, run, name=names[0])
            names, sheets = names[:1], [SINGLE]
        for name, sheet in zip(names, sheets, strict=True):
            add_queries(book, run, name=name, sheet=sheet)
        add_claims(book, run, names=names)
