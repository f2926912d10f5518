"""The sheets of a workbook: the summary, and a line per sample, claim or ranked query."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from types import MappingProxyType

from ragstone.reports.excel.book import MAX_COLUMNS, MAX_ROWS, Book, Page, Value, count_lines
from ragstone.reports.facts import (
    cause_in_words,
    cutoff,
    metric_titles,
    partial_notice,
    summary_lines,
    texts_read,
    why_failed,
    why_no_mean,
    why_undefined,
)
from ragstone.reports.format import NO_VALUE, milliseconds
from ragstone.reports.insights import excerpt
from ragstone.reports.tables import ClaimLine, claim_lines, describe_claim
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.row import Row
from ragstone.types.sample import Context
from ragstone.types.score import Summary

SAMPLES_SHEET, CLAIMS_SHEET = "Per-Query Results", "Claims"
MAX_CELLS, MAX_CHARACTERS = 1_000_000, 50_000_000
"""Cells and texts of all samples: XlsxWriter has all in memory, and Excel opens more slowly."""
_MAX_LINES, _MAX_SUMMARY_LINES = 8, 27
"""Lines of the tallest row; the cell has the whole text."""
_TABLE = {
    "Metric": 28,
    "Score": 12,
    "Score (%)": 11,
    "95% low": 11,
    "95% high": 11,
    "Total": 9,
    "Scored": 9,
    "Undefined": 11,
    "Failed": 9,
    "Imputed": 9,
}
"""Columns of the table of several metrics, with their widths."""
_PAIR = {"Metric": 28, "Value": 92}


@dataclass(frozen=True)
class Line:
    """A name and its value; `look` is one of the book's."""

    name: str
    value: Value
    look: str = "text"


def add_single(book: Book, run: Run, *, name: str) -> None:
    page = book.page("Summary", list(_PAIR.values()))
    page.head(0, list(_PAIR))
    row = _write(page, 1, [*_verdict(run), *_figures(run, name, run.summary()[name])])
    _write(page, row + 1, _run_lines(run, [name]))


def add_combined(book: Book, run: Run, *, names: Sequence[str]) -> None:
    summaries = run.summary()
    titles = metric_titles(run.metrics)
    page = book.page("Summary", list(_TABLE.values()))
    page.head(0, list(_TABLE))
    for row, name in enumerate(names, start=1):
        summary = summaries[name]
        low, high = summary.interval or (None, None)
        page.put(row, 0, titles[name], "name")
        counts = (
            summary.n, summary.scored, summary.undefined, summary.failed, summary.flagged,
        )  # fmt: skip
        scores = (summary.mean, _share(run, name, summary), low, high)
        looks = ("score", "percent", "score", "score", *["count"] * len(counts))
        for column, (value, look) in enumerate(zip((*scores, *counts), looks, strict=True), 1):
            page.put(row, column, NO_VALUE if value is None else value, look)
    row = len(names) + 2
    page.head(row, [*_PAIR, *[""] * (len(_TABLE) - len(_PAIR))])
    row = _write(page, row + 1, [*_verdict(run), *_run_lines(run, names)])
    for name in names:
        page.spread(row + 1, 0, f"--- {titles[name]} ---", "block")
        row = _write(page, row + 2, _figures(run, name, summaries[name]))


def _share(run: Run, name: str, summary: Summary) -> Value:
    info = run.metrics[name]
    return summary.mean if (info.low, info.high) == (0, 1) else None


def _corrected(summary: Summary) -> list[Line]:
    found = summary.corrected
    if found is None or found.mean is None or found.interval is None:
        return []
    figures = zip(("", ", low", ", high"), (found.mean, *found.interval), strict=True)
    kind = "transported labels" if found.method == "transported" else "labels"
    return [Line(f"Corrected with {kind}{end}", figure, "score") for end, figure in figures]


def _figures(run: Run, name: str, summary: Summary) -> list[Line]:
    info = run.metrics[name]
    started = run.manifest.started_at.astimezone()
    retrieval, counts = info.family == "retrieval", run.counts.scores[name]
    low, high = summary.interval or (None, None)
    lines = [
        Line("Evaluation Date", f"{started:%Y-%m-%d %H:%M:%S %Z}"),
        Line("Metric Name", info.label),
    ]
    if not retrieval:
        lines.append(Line("Model", run.manifest.judge or "none needed"))
    if info.policy and len(run.policies) > 1:
        lines.append(Line("Policy", info.policy))
    mean = f"{NO_VALUE} ({why_no_mean(summary)})" if summary.mean is None else summary.mean
    if retrieval or run.manifest.target:
        lines.append(Line("K Value" if retrieval else "Top K", cutoff(run, name), "count"))
    if run.manifest.target:
        least = run.manifest.plan.min_similarity
        lines.append(Line("Minimum Similarity", least, "number"))
    lines += [
        Line("Total Queries", summary.n, "count"),
        Line("Score", mean, "score"),
        Line("Score (%)", _share(run, name, summary), "percent"),
        Line("Range", f"{info.low:g} to {info.high:g}, {info.better} is better"),
        Line("95% interval, low", low, "score"),
        Line("95% interval, high", high, "score"),
        *_corrected(summary),
        Line("Min Score", summary.low, "score"),
        Line("Max Score", summary.high, "score"),
        Line("Scored" if retrieval else "Valid Queries", summary.scored, "count"),
        Line("Undefined", summary.undefined, "count"),
    ]
    if why := why_undefined(run, name):
        lines.append(Line("Undefined because", why))
    lines.append(Line("Failed", summary.failed, "count"))
    if why := why_failed(run, name):
        lines.append(Line("Failed because", why, "warning"))
    if summary.flagged:
        lines.append(Line("Imputed by policy", summary.flagged, "count"))
    if counts.latencies:
        p50, p95 = map(milliseconds, counts.latencies.percentiles().values())
        lines.append(Line("Judge latency", f"p50 {p50}, p95 {p95} per score"))
    if summary.pass_rate is not None:
        lines.append(Line("Pass rate", summary.pass_rate, "percent"))
    for figure, value in summary.extra.items():
        text = isinstance(value, bool | str)
        look = "text" if text else "count" if isinstance(value, int) else "score"
        lines.append(Line(figure, value, look))
    return lines


def _verdict(run: Run) -> list[Line]:
    lines = [Line("Partial", partial_notice(run), "warning")] if run.partial else []
    if run.troubles:
        lines.append(Line("Inconclusive", f"exit code 3: {'; '.join(run.troubles)}", "warning"))
    return lines


def _run_lines(run: Run, names: Sequence[str]) -> list[Line]:
    return [
        Line(line.label, line.text, "warning" if line.alarming else "text")
        for line in summary_lines(run, names)
    ]


def _write(page: Page, row: int, lines: Iterable[Line]) -> int:
    for line in lines:
        value = NO_VALUE if line.value is None else line.value
        page.put(row, 0, line.name, "name")
        if isinstance(value, str):
            page.spread(row, 1, value, line.look)
            needed = count_lines(value, sum(page.widths[1:]))
            page.set_height(
                row, max(needed, count_lines(line.name, page.widths[0])), _MAX_SUMMARY_LINES
            )
        else:
            page.put(row, 1, value, line.look)
        row += 1
    return row


@dataclass(frozen=True)
class Column:
    """A column: its name, width in characters, value, and look in the book."""

    name: str
    width: int
    value: Callable[[Row], Value]
    look: str = "text"


def add_samples(
    book: Book, run: Run, *, name: str, sheet: str, most: int = MAX_ROWS, sheets: int = 1
) -> None:
    """Add the sheet of one metric, one of several; if not all rows fit, the last line counts them.

    A sheet has `most` lines, and all `sheets` together MAX_CELLS and MAX_CHARACTERS.
    """
    columns = sample_columns(run, name)
    names = [column.name for column in columns]
    looks = [column.look for column in columns]
    page = book.page(sheet, [column.width for column in columns])
    page.head(0, names)
    most = min(most, MAX_CELLS // (sheets * len(columns)))
    left, shown = MAX_CHARACTERS // sheets, 0
    for row in islice(run.rows, len(run.rows) if len(run.rows) < most else most - 2):
        values = [column.value(row) for column in columns]
        left -= sum(len(value) for value in values if isinstance(value, str))
        if left < 0:
            break
        shown += 1
        _put_line(page, shown, values, looks)
    if rest := len(run.rows) - shown:
        page.put(
            shown + 1,
            0,
            f"{rest:,} more rows do not fit in this sheet; use --rows FILE for all of them",
        )
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
    counts = run.counts.scores[name]
    info = run.metrics[name]
    shown = _RETRIEVAL_COLUMNS
    if info.family != "retrieval":
        shown = _generation_columns(info.needs)
    columns = [
        Column("query_index", 15, lambda row: row.index, "count"),
        Column("id", 14, lambda row: row.sample.id),
        Column("query", 40, lambda row: row.sample.query),
        *shown,
        Column("score", 10, lambda row: row.scores[name].value, "score"),
    ]
    if counts.threshold is not None:
        columns.append(Column("passed", 10, lambda row: row.scores[name].passed))
    columns += [
        Column("state", 11, lambda row: row.scores[name].state.value),
        Column("cause", 14, lambda row: cause_in_words(row.scores[name].cause)),
        Column("reason", 36, lambda row: row.scores[name].reason),
    ]
    if counts.flagged:
        columns.append(Column("imputed", 10, lambda row: row.scores[name].fallback))
    if counts.judged:
        columns += _claim_columns(name)
        if counts.has_truths:
            columns.append(
                Column("truths", 60, lambda row: "\n".join(row.scores[name].truths) or None)
            )
        if run.counts.blame:
            columns.append(Column("blame", 60, _blame))

    if counts.latencies:
        columns.append(Column("latency_ms", 14, lambda row: row.scores[name].latency_ms, "number"))
    details = [key for key in counts.details if not (counts.judged and key in _CLAIM_COUNTS)]
    for kind, keys in (("detail", details), ("tag", run.counts.tags)):
        taken = {column.name.casefold() for column in columns}
        for key in keys:
            title = f"{kind} {key}" if key.casefold() in taken else key
            if kind == "detail":
                width = 60 if key == "explanation" else min(30, max(12, len(title) + 5))
                columns.append(
                    Column(title, width, lambda row, key=key: row.scores[name].detail.get(key))
                )
            else:
                columns.append(Column(title, 22, lambda row, key=key: row.sample.tags.get(key)))
    if (over := len(columns) - MAX_COLUMNS) > 0:
        notice = (
            f"{over + 1:,} more columns do not fit in this sheet; use --rows FILE for all of them"
        )
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
    quotes = [
        f'"{item.quote}" ({"" if item.verified else "not found in "}'
        + (f"context {item.context + 1})" if claim.against == "contexts" else f"{claim.against})")
        for item in claim.evidence
    ]
    return " ".join(" ".join(quotes).split()) or "none"


def join_ids(ids: Sequence[str]) -> str:
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


def _reference(row: Row) -> Value:
    claims = row.sample.reference_claims
    return "\n".join(claims) if row.sample.reference is None and claims else row.sample.reference


_RETRIEVAL_COLUMNS = (
    Column("ground_truth_ids", 26, _relevant),
    Column("retrieved_ids", 30, _retrieved),
)


def _generation_columns(needs: Sequence[str]) -> tuple[Column, ...]:
    def texts(row: Row) -> Sequence[Context] | None:
        return texts_read(row.sample, needs)[1]

    def joined(row: Row) -> Value:
        found = texts(row)
        return None if found is None else "\n---\n".join(each.text for each in found)

    def number(row: Row) -> Value:
        found = texts(row)
        return None if found is None else len(found)

    return (
        Column("response", 60, lambda row: row.sample.response),
        Column("ground_truth_answer", 40, _reference),
        Column("retrieved_contexts", 60, joined),
        Column("num_contexts", 17, number, "count"),
    )


_CLAIM_WIDTHS = MappingProxyType(
    {"id": 14, "metric": 22, "claim": 60, "label": 22, "reason": 50, "quote": 60}
)
"""Column -> its width in characters; 13 for all others."""
_CLAIM_LOOKS = MappingProxyType(
    {"number": "count", "quotes": "count", "context": "count", "confidence": "number"}
)


def add_claims(book: Book, run: Run, *, names: Sequence[str], most: int = MAX_ROWS) -> None:
    lines = claim_lines(run, names)
    first = next(lines, None)
    if first is None:
        return
    page = book.page(CLAIMS_SHEET, [_CLAIM_WIDTHS.get(name, 13) for name in ClaimLine._fields])
    page.head(0, ClaimLine._fields)
    looks = [_CLAIM_LOOKS.get(name, "text") for name in ClaimLine._fields]
    place = 0
    most = min(most, MAX_CELLS // (4 * len(looks)))
    for place, line in enumerate(islice(chain([first], lines), most - 2), start=1):
        _put_line(page, place, line, looks)
    if last := next(lines, None):  # the last row has the last claim, or counts the rest
        if rest := sum(1 for _ in lines):
            words = (
                f"{rest + 1:,} more claims do not fit in this sheet; use --claim-rows FILE for "
                "all of them"
            )
            page.put(place + 1, 0, words)
        else:
            place += 1
            _put_line(page, place, last, looks)
    page.make_list(place, len(ClaimLine._fields) - 1, fixed=2)
    page.colour_word(1, place, ClaimLine._fields.index("label"), Label.CONTRADICTED.value)


def add_values(book: Book, run: Run, *, names: Sequence[str], cells: int = MAX_CELLS) -> None:
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
        page.put(len(rows.rows) + 1, 0, f"These are the {notice}")
    page.make_list(max(len(rows.rows), 1), len(columns) - 1, fixed=2)
