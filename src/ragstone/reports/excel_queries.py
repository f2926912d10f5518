"""The `Per-Query` sheets of a workbook: a line a row, a column a thing known about it."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice

from ragstone.claims import DiagnosedClaim, JudgedClaim, Label
from ragstone.reports.claim_lines import claim_in_words
from ragstone.reports.excel_book import MAX_COLUMNS, MAX_ROWS, Book, Value, lines
from ragstone.rows import Row
from ragstone.run import Run
from ragstone.samples import Context

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
        *([_passed(name)] if tally.mark is not None else []),
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
