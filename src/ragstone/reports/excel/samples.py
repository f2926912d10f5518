"""The `Per-Query` sheets of a workbook: a line a row, a column a thing known about it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from types import MappingProxyType

from ragstone.reports.excel.book import MAX_COLUMNS, MAX_ROWS, Book, Page, Value, lines
from ragstone.reports.insights import excerpt
from ragstone.reports.table_rows import ClaimLine, claim_in_words, claim_lines
from ragstone.results.run import Run
from ragstone.types.claim import DiagnosedClaim, JudgedClaim, Label
from ragstone.types.row import Row
from ragstone.types.sample import Context

SINGLE = "Per-Query Results"
SEVERAL = "Per-Query"
BETWEEN = "\n---\n"
"""What stands between contexts in one cell."""
_HIGHEST = 8
"""Lines of the highest row; more text is in the cell than is shown."""


@dataclass(frozen=True)
class Column:
    """A column: its name, its width in characters, how it looks, and what it shows of a row."""

    name: str
    width: int
    value: Callable[[Row], Value]
    look: str = "text"


def add_queries(book: Book, run: Run, *, name: str, sheet: str, most: int = MAX_ROWS) -> None:
    """Add the sheet of one metric; what does not fit in `most` lines is counted in the last."""
    columns = columns_of(run, name)
    page = book.page(sheet, [column.width for column in columns])
    page.head(0, [column.name for column in columns])
    fitting = len(run.rows) if len(run.rows) < most else most - 2
    for place, row in enumerate(islice(run.rows, fitting), start=1):
        values = [column.value(row) for column in columns]
        needed = 1
        for number, (column, value) in enumerate(zip(columns, values, strict=True)):
            page.put(place, number, value, column.look)
            if isinstance(value, str):
                needed = max(needed, lines(value, column.width))
        page.set_height(place, needed, _HIGHEST)
    if fitting < len(run.rows):
        rest = len(run.rows) - fitting
        page.put(fitting + 1, 0, f"{rest:,} more rows do not fit in a sheet; --rows FILE has all")
    page.make_list(max(fitting, 1), len(columns) - 1, fixed=2)
    info = run.metrics[name]
    names = [column.name for column in columns]
    page.colour_low(
        1,
        max(fitting, 1),
        names.index("score"),
        middle=(info.low + info.high) / 2,
        low_is_bad=info.higher_is_better,
    )
    page.colour_word(1, max(fitting, 1), names.index("state"), "failed")


def columns_of(run: Run, name: str) -> list[Column]:
    """Return the columns of one metric's sheet."""
    generation = run.metrics[name].family != "retrieval"
    tally = run.tally.scores[name]
    columns: list[Column] = [
        Column("query_index", 15, lambda row: row.index, "count"),
        Column("id", 14, lambda row: row.sample.id),
        Column("query", 40, lambda row: row.sample.query),
        *(_ANSWER if generation else _RANKING),
        Column("score", 10, lambda row: row.scores[name].value, "score"),
        *([_passed(name)] if tally.threshold is not None else []),
        Column("state", 11, lambda row: row.scores[name].state.value),
        Column("cause", 14, lambda row: row.scores[name].cause),
        Column("reason", 36, lambda row: row.scores[name].reason),
        *([_flagged(name)] if tally.flagged else []),
        *(_claims(name) if tally.judged else []),
        *([_BLAME] if tally.judged and run.tally.blame else []),
    ]
    counted = ("claims", "supported") if tally.judged else ()
    details = [key for key in tally.details if key not in counted]
    ours = _names(columns)
    columns += [_detail(name, key, _title("detail", key, ours)) for key in details]
    ours = _names(columns)
    columns += [_tag(key, _title("tag", key, ours)) for key in run.tally.tags]
    if (over := len(columns) - MAX_COLUMNS) > 0:
        notice = f"{over + 1:,} more columns do not fit in a sheet; --rows FILE has all"
        columns[MAX_COLUMNS - 1 :] = [Column(notice, 30, lambda _: None)]
    return columns


def ids(found: Sequence[str]) -> str:
    """Write ids as the loader reads them: between commas, or as JSON where one holds a comma."""
    if any("," in id_ or "\n" in id_ or id_.startswith("[") for id_ in found):
        return json.dumps(list(found), ensure_ascii=False)
    return ", ".join(found)


def evidence_line(claim: JudgedClaim) -> str:
    """Write in one line what a verdict rests on: each quote, and where it stands."""
    quotes = [
        f'"{item.quote}" ({"" if item.verified else "not found in "}'
        + (f"context {item.context + 1})" if claim.against == "contexts" else f"{claim.against})")
        for item in claim.evidence
    ]
    return " ".join(" ".join(quotes).split()) or "none"


def blame_line(blamed: DiagnosedClaim) -> str:
    """Write in one line what went wrong with a claim, and whose claim it is."""
    return f"{blamed.blame}: {' '.join(blamed.claim.split())} (of the {blamed.of})"


def _relevant(row: Row) -> Value:
    known = row.sample.relevance
    return None if known is None else ids([id_ for id_, grade in known.items() if grade > 0])


def _retrieved(row: Row) -> Value:
    ranked = row.sample.ranked
    return None if ranked is None else ids([place.id for place in ranked if place.id is not None])


def _texts(contexts: Sequence[Context] | None) -> Value:
    return None if contexts is None else BETWEEN.join(context.text for context in contexts)


def _expected(row: Row) -> Value:
    """Return the reference; where there is none, the facts that stand in its place."""
    facts = row.sample.reference_claims
    return "\n".join(facts) if row.sample.reference is None and facts else row.sample.reference


def _count(things: Sequence[object] | None) -> Value:
    return None if things is None else len(things)


_RANKING = (
    Column("ground_truth_ids", 26, _relevant),
    Column("retrieved_ids", 30, _retrieved),
)
_ANSWER = (
    Column("response", 60, lambda row: row.sample.response),
    Column("ground_truth_answer", 40, _expected),
    Column("retrieved_contexts", 60, lambda row: _texts(row.sample.contexts)),
    Column("num_contexts", 17, lambda row: _count(row.sample.contexts), "count"),
)
_BLAME = Column("blame", 60, lambda row: "\n".join(map(blame_line, row.blamed)) or None)


def _passed(name: str) -> Column:
    return Column("passed", 10, lambda row: row.scores[name].passed)


def _flagged(name: str) -> Column:
    return Column("flagged", 10, lambda row: row.scores[name].fallback)


def _claims(name: str) -> tuple[Column, ...]:
    def claims(row: Row) -> tuple[JudgedClaim, ...] | None:
        return row.scores[name].claims or None

    def supported(row: Row) -> Value:
        found = [claim.label for claim in claims(row) or ()]
        return found.count(Label.SUPPORTED) if found else None

    def written(row: Row) -> Value:
        return "\n".join(claim_in_words(claim) for claim in claims(row) or ()) or None

    def quoted(row: Row) -> Value:
        return "\n".join(evidence_line(claim) for claim in claims(row) or ()) or None

    return (
        Column("num_claims", 15, lambda row: _count(claims(row)), "count"),
        Column("num_supported", 18, supported, "count"),
        Column("claims", 70, written),
        Column("evidence", 70, quoted),
    )


def _names(columns: Sequence[Column]) -> frozenset[str]:
    return frozenset(column.name.casefold() for column in columns)


def _title(kind: str, key: str, ours: frozenset[str]) -> str:
    """Return the key as a column's name, told apart where one of our columns is called so."""
    return f"{kind} {key}" if key.casefold() in ours else key


def _detail(name: str, key: str, title: str) -> Column:
    width = min(30, max(12, len(title) + 5))
    return Column(title, width, lambda row: row.scores[name].detail.get(key))


def _tag(key: str, title: str) -> Column:
    return Column(title, 22, lambda row: row.sample.tags.get(key))


# The `Claims` sheet of a workbook: a line a judged claim.

SHEET = "Claims"
_COLUMNS = tuple(field.name for field in fields(ClaimLine))
_WIDTHS = MappingProxyType(
    {"id": 14, "metric": 22, "claim": 60, "label": 22, "reason": 50, "quote": 60}
)
"""Column -> its width in characters; the others have `_NARROW`."""
_NARROW = 13
_LOOKS = MappingProxyType(
    {"number": "count", "quotes": "count", "context": "count", "confidence": "number"}
)
_EXCEL_CLAIMS_HIGHEST = 8
"""Lines of the highest row; more text is in the cell than is shown."""


def add_claims(book: Book, run: Run, *, names: Sequence[str], most: int = MAX_ROWS) -> None:
    """Add the claims of those metrics, where there are any; the last line says what did not fit."""
    given = claim_lines(run, names)
    first = next(given, None)
    if first is None:
        return
    page = book.page(SHEET, [_WIDTHS.get(name, _NARROW) for name in _COLUMNS])
    page.head(0, _COLUMNS)
    found = chain([first], given)
    place = 0
    for place, line in enumerate(islice(found, most - 2), start=1):
        _put(page, place, line)
    left = list(islice(found, 2))
    if len(left) == 1:
        place += 1
        _put(page, place, left[0])
    elif left:
        rest = len(left) + sum(1 for _ in found)
        words = f"{rest:,} more claims do not fit in a sheet; --claim-rows FILE has all"
        page.put(place + 1, 0, words)
    page.make_list(place, len(_COLUMNS) - 1, fixed=2)
    page.colour_word(1, place, _COLUMNS.index("label"), Label.CONTRADICTED.value)


def _put(page: Page, place: int, line: ClaimLine) -> None:
    needed = 1
    for number, name in enumerate(_COLUMNS):
        value = getattr(line, name)
        page.put(place, number, value, _LOOKS.get(name, "text"))
        if isinstance(value, str):
            needed = max(needed, lines(value, page.widths[number]))
    page.set_height(place, needed, _EXCEL_CLAIMS_HIGHEST)


# The sheet of a ranking's run in a workbook: a line a query, a column a metric.

CELLS = 1_000_000
"""Cells of the sheet, at most: XlsxWriter holds them all, and Excel opens more slowly."""
_BEFORE = ("query_index", "id", "query")
_RANKING_EXCEL_WIDTHS = (15, 24, 40)
_RANKING_EXCEL_NARROW = 14


def add_values(book: Book, run: Run, *, names: Sequence[str], cells: int = CELLS) -> None:
    """Add what those metrics say of each query; what does not fit is counted in the last line."""
    shown = names[: MAX_COLUMNS - len(_BEFORE) - 1]
    columns = [*_BEFORE, *shown, "reason"]
    most = min(MAX_ROWS - 2, max(1, cells // len(columns)))
    some, said = excerpt(run, most)
    page = book.page(SINGLE, [*_RANKING_EXCEL_WIDTHS, *[_RANKING_EXCEL_NARROW] * len(shown), 40])
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
