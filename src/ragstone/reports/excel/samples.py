"""The sheets of samples in a workbook: a line per sample, per judged claim, or per ranked query."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import chain, islice
from types import MappingProxyType

from ragstone.reports.excel.book import MAX_COLUMNS, MAX_ROWS, Book, Page, Value, count_lines
from ragstone.reports.insights import excerpt
from ragstone.reports.tables import ClaimLine, claim_lines, count_or_none, describe_claim
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.row import Row
from ragstone.types.sample import Context

SAMPLES_SHEET, CLAIMS_SHEET = "Per-Query Results", "Claims"
MAX_CELLS = 1_000_000
"""Cells of a ranking's sheet: XlsxWriter keeps them all in memory, and Excel opens more slowly."""
_MAX_LINES = 8
"""Lines of the tallest row; the cell has the whole text."""


@dataclass(frozen=True)
class Column:
    """A column: its name, width in characters, value, and look in the book."""

    name: str
    width: int
    value: Callable[[Row], Value]
    look: str = "text"


def add_samples(book: Book, run: Run, *, name: str, sheet: str, most: int = MAX_ROWS) -> None:
    """Add the sheet of one metric; beyond `most` lines, the last line counts the rest."""
    columns = sample_columns(run, name)
    names = [column.name for column in columns]
    looks = [column.look for column in columns]
    page = book.page(sheet, [column.width for column in columns])
    page.head(0, names)
    shown = len(run.rows) if len(run.rows) < most else most - 2
    for place, row in enumerate(islice(run.rows, shown), start=1):
        _put_line(page, place, [column.value(row) for column in columns], looks)
    if rest := len(run.rows) - shown:
        page.put(shown + 1, 0, f"{rest:,} more rows do not fit in a sheet; --rows FILE has all")
    last = max(shown, 1)
    page.make_list(last, len(columns) - 1, fixed=2)
    info = run.metrics[name]
    middle = (info.low + info.high) / 2
    score = names.index("score")
    page.colour_low(1, last, score, middle=middle, low_is_bad=info.higher_is_better)
    page.colour_word(1, last, names.index("state"), "failed")


def _put_line(page: Page, place: int, values: Sequence[Value], looks: Sequence[str]) -> None:
    needed = 1
    for number, (value, look) in enumerate(zip(values, looks, strict=True)):
        page.put(place, number, value, look)
        if isinstance(value, str):
            needed = max(needed, count_lines(value, page.widths[number]))
    page.set_height(place, needed, _MAX_LINES)


def sample_columns(run: Run, name: str) -> list[Column]:
    """Return the columns of one metric's sheet."""
    counts = run.counts.scores[name]
    retrieval = run.metrics[name].family == "retrieval"
    columns = [
        Column("query_index", 15, lambda row: row.index, "count"),
        Column("id", 14, lambda row: row.sample.id),
        Column("query", 40, lambda row: row.sample.query),
        *(_RETRIEVAL_COLUMNS if retrieval else _GENERATION_COLUMNS),
        Column("score", 10, lambda row: row.scores[name].value, "score"),
    ]
    if counts.threshold is not None:
        columns.append(Column("passed", 10, lambda row: row.scores[name].passed))
    columns += [
        Column("state", 11, lambda row: row.scores[name].state.value),
        Column("cause", 14, lambda row: row.scores[name].cause),
        Column("reason", 36, lambda row: row.scores[name].reason),
    ]
    if counts.flagged:
        columns.append(Column("imputed", 10, lambda row: row.scores[name].fallback))
    if counts.judged:
        columns += _claim_columns(name)
        if run.counts.blame:
            columns.append(Column("blame", 60, _blame))

    details = [key for key in counts.details if not (counts.judged and key in _CLAIM_COUNTS)]
    for kind, keys in (("detail", details), ("tag", run.counts.tags)):
        taken = {column.name.casefold() for column in columns}
        for key in keys:
            title = f"{kind} {key}" if key.casefold() in taken else key
            if kind == "detail":
                width = min(30, max(12, len(title) + 5))
                columns.append(
                    Column(title, width, lambda row, key=key: row.scores[name].detail.get(key))
                )
            else:
                columns.append(Column(title, 22, lambda row, key=key: row.sample.tags.get(key)))
    if (over := len(columns) - MAX_COLUMNS) > 0:
        notice = f"{over + 1:,} more columns do not fit in a sheet; --rows FILE has all"
        columns[MAX_COLUMNS - 1 :] = [Column(notice, 30, lambda _: None)]
    return columns


_CLAIM_COUNTS = ("claims", "supported")
"""Details that have columns of their own."""


def _claim_columns(name: str) -> list[Column]:
    def supported(row: Row) -> Value:
        labels = [claim.label for claim in row.scores[name].claims]
        return labels.count(Label.SUPPORTED) if labels else None

    def lines(describe: Callable[[JudgedClaim], str]) -> Callable[[Row], Value]:
        return lambda row: "\n".join(map(describe, row.scores[name].claims)) or None

    return [
        Column("num_claims", 15, lambda row: len(row.scores[name].claims) or None, "count"),
        Column("num_supported", 18, supported, "count"),
        Column("claims", 70, lines(describe_claim)),
        Column("evidence", 70, lines(describe_evidence)),
    ]


def describe_evidence(claim: JudgedClaim) -> str:
    """Return the quotes of a verdict in one line, each with its place."""
    quotes = [
        f'"{item.quote}" ({"" if item.verified else "not found in "}'
        + (f"context {item.context + 1})" if claim.against == "contexts" else f"{claim.against})")
        for item in claim.evidence
    ]
    return " ".join(" ".join(quotes).split()) or "none"


def join_ids(ids: Sequence[str]) -> str:
    """Write ids as the loader reads them: with commas, or as JSON if an id has a comma."""
    if any("," in each or "\n" in each or each.startswith("[") for each in ids):
        return json.dumps(list(ids), ensure_ascii=False)
    return ", ".join(ids)


def _blame(row: Row) -> Value:
    lines = (f"{b.blame}: {' '.join(b.claim.split())} (of the {b.of})" for b in row.blamed)
    return "\n".join(lines) or None


def _relevant(row: Row) -> Value:
    known = row.sample.relevance
    return None if known is None else join_ids([each for each, grade in known.items() if grade > 0])


def _retrieved(row: Row) -> Value:
    ranked = row.sample.ranked
    return None if ranked is None else join_ids([each.id for each in ranked if each.id is not None])


def _contexts(row: Row) -> Value:
    contexts: Sequence[Context] | None = row.sample.contexts
    return None if contexts is None else "\n---\n".join(context.text for context in contexts)


def _reference(row: Row) -> Value:
    claims = row.sample.reference_claims
    return "\n".join(claims) if row.sample.reference is None and claims else row.sample.reference


_RETRIEVAL_COLUMNS = (
    Column("ground_truth_ids", 26, _relevant),
    Column("retrieved_ids", 30, _retrieved),
)
_GENERATION_COLUMNS = (
    Column("response", 60, lambda row: row.sample.response),
    Column("ground_truth_answer", 40, _reference),
    Column("retrieved_contexts", 60, _contexts),
    Column("num_contexts", 17, lambda row: count_or_none(row.sample.contexts), "count"),
)

_CLAIM_FIELDS = tuple(field.name for field in fields(ClaimLine))
_CLAIM_WIDTHS = MappingProxyType(
    {"id": 14, "metric": 22, "claim": 60, "label": 22, "reason": 50, "quote": 60}
)
"""Column -> its width in characters; 13 for all others."""
_CLAIM_LOOKS = MappingProxyType(
    {"number": "count", "quotes": "count", "context": "count", "confidence": "number"}
)


def add_claims(book: Book, run: Run, *, names: Sequence[str], most: int = MAX_ROWS) -> None:
    """Add the claims of those metrics, if any; if there are too many, the last line counts them."""
    lines = claim_lines(run, names)
    first = next(lines, None)
    if first is None:
        return
    page = book.page(CLAIMS_SHEET, [_CLAIM_WIDTHS.get(name, 13) for name in _CLAIM_FIELDS])
    page.head(0, _CLAIM_FIELDS)
    looks = [_CLAIM_LOOKS.get(name, "text") for name in _CLAIM_FIELDS]
    lines = chain([first], lines)

    def put(place: int, line: ClaimLine) -> None:
        _put_line(page, place, [getattr(line, name) for name in _CLAIM_FIELDS], looks)

    place = 0
    for place, line in enumerate(islice(lines, most - 2), start=1):
        put(place, line)
    rest = list(islice(lines, 2))
    if len(rest) == 1:
        place += 1
        put(place, rest[0])
    elif rest:
        number = len(rest) + sum(1 for _ in lines)
        words = f"{number:,} more claims do not fit in a sheet; --claim-rows FILE has all"
        page.put(place + 1, 0, words)
    page.make_list(place, len(_CLAIM_FIELDS) - 1, fixed=2)
    page.colour_word(1, place, _CLAIM_FIELDS.index("label"), Label.CONTRADICTED.value)


def add_values(book: Book, run: Run, *, names: Sequence[str], cells: int = MAX_CELLS) -> None:
    """Add a ranking's scores, a line per query and a column per metric; a notice if cut."""
    before = {"query_index": 15, "id": 24, "query": 40}
    shown = names[: MAX_COLUMNS - len(before) - 1]
    columns = [*before, *shown, "reason"]
    looks = ("count", "text", "text", *["score"] * len(shown), "text")
    rows, notice = excerpt(run, min(MAX_ROWS - 2, max(1, cells // len(columns))))
    page = book.page(SAMPLES_SHEET, [*before.values(), *[14] * len(shown), 40])
    page.head(0, columns)
    for place, row in enumerate(rows.rows, start=1):
        scores = [row.scores[name] for name in shown]
        reasons = dict.fromkeys(score.reason for score in scores if score.reason)
        values: list[Value] = [row.index, row.sample.id, row.sample.query]
        values += [*(score.value for score in scores), "; ".join(reasons) or None]
        for number, (value, look) in enumerate(zip(values, looks, strict=True)):
            page.put(place, number, value, look)
    if notice is not None:
        page.put(len(rows.rows) + 1, 0, f"These are {notice}")
    page.make_list(max(len(rows.rows), 1), len(columns) - 1, fixed=2)
