"""The sheet of a ranking's run in a workbook: a line a query, a column a metric."""

from collections.abc import Sequence

from ragstone.reports.excel_book import MAX_COLUMNS, MAX_ROWS, Book, Value
from ragstone.reports.excel_queries import SINGLE
from ragstone.reports.ranking_excerpt import excerpt
from ragstone.run import Run

CELLS = 1_000_000
"""Cells of the sheet, at most: XlsxWriter holds them all, and Excel opens more slowly."""
_BEFORE = ("query_index", "id", "query")
_WIDTHS = (15, 24, 40)
_NARROW = 14


def add_values(book: Book, run: Run, *, names: Sequence[str], cells: int = CELLS) -> None:
    """Add what those metrics say of each query; what does not fit is counted in the last line."""
    shown = names[: MAX_COLUMNS - len(_BEFORE) - 1]
    columns = [*_BEFORE, *shown, "reason"]
    most = min(MAX_ROWS - 2, max(1, cells // len(columns)))
    some, said = excerpt(run, most)
    page = book.page(SINGLE, [*_WIDTHS, *[_NARROW] * len(shown), 40])
    page.head(0, columns)
    for line, row in enumerate(some.rows, start=1):
        scores = [row.scores[name] for name in shown]
        why = dict.fromkeys(score.reason for score in scores if score.reason)
        values: list[Value] = [row.index, row.sample.id, row.sample.query]
        values += [*(score.value for score in scores), "; ".join(why) or None]
        looks = ("count", "text", "text", *["score"] * len(shown), "text")
        for number, (value, look) in enumerate(zip(values, looks, strict=True)):
            page.put(line, number, value, look)
    if said is not None:
        page.put(len(some.rows) + 1, 0, f"These are {said}")
    page.make_list(max(len(some.rows), 1), len(columns) - 1, fixed=2)
