"""Excel workbooks of a run: a summary, a sheet of samples per metric, and the claims.

Text from outside is always text, never a formula or a link.
"""

# XlsxWriter has only partial types and no py.typed; it is used in this file only
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from itertools import count as count_from
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

import xlsxwriter
from xlsxwriter.format import Format
from xlsxwriter.worksheet import Worksheet

from ragstone._internal.files import check_writable, write_file
from ragstone._internal.text import strip_controls
from ragstone.errors import UsageError
from ragstone.metrics import FAMILIES, GROUPS
from ragstone.reports import view
from ragstone.reports.format import CAUSES, NO_VALUE, cell, file_name, milliseconds, utf16_cut
from ragstone.reports.tables import ClaimLine, claim_lines, describe_claim
from ragstone.reports.view import Tone
from ragstone.reports.worst import excerpt
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.row import Row

FOLDER = Path("results")
SAMPLES_SHEET, CLAIMS_SHEET = "Per-Query Results", "Claims"
MAX_CELLS, MAX_CHARACTERS = 1_000_000, 50_000_000  # of all samples, which XlsxWriter has in memory
_MAX_LINES, _MAX_SUMMARY_LINES = 8, 27  # lines of the tallest row; the cell has the whole text
_TABLE = (
    "Metric", "Score", "Score (%)", "95% low", "95% high", "Total", "Scored", "Undefined",
    "Failed", "Imputed",
)  # fmt: skip
_TABLE_WIDTHS = (28, 12, 11, 11, 11, 9, 9, 11, 9, 9)
_PAIR, _PAIR_WIDTHS = ("Metric", "Value"), (28, 92)

Value = str | int | float | bool | None

MAX_ROWS = 1_048_576
MAX_COLUMNS = 16_384  # limits of an Excel sheet

_EXACT = 10**15  # excel has 15 digits; longer whole numbers are ids and stay text
_LINE_POINTS = 15
_WARN = "#FFE699"
_HEADER = {"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF"}
LOOKS: Mapping[str, Mapping[str, object]] = {
    "text": {"text_wrap": True, "align": "left"},
    "name": {"bold": True, "text_wrap": True},
    "count": {"num_format": "#,##0", "align": "left"},
    "number": {"num_format": "General", "align": "left"},
    "score": {"num_format": "0.0000", "align": "left"},
    "percent": {"num_format": "0.00%", "align": "left"},
    "header": _HEADER | {"text_wrap": True, "valign": "vcenter"},
    "block": {"bold": True, "bg_color": "#D9E2F3"},
    "warning": {"bold": True, "text_wrap": True, "bg_color": _WARN},
    "marked": {"bg_color": _WARN},
    "low": {"bg_color": "#F8CBAD"},
}


class Book:
    def __init__(self, path: Path, created: datetime) -> None:
        options = {f"strings_to_{kind}": False for kind in ("formulas", "urls", "numbers")}
        options["in_memory"] = True  # Python's ZipFile prints a traceback if the disk is full
        self._path, self._content = path, BytesIO()
        self._workbook = xlsxwriter.Workbook(self._content, options)
        # XlsxWriter writes the time as UTC without converting it
        self._workbook.set_properties({"created": created.astimezone(UTC), "author": "ragstone"})
        self._formats = {
            look: self._workbook.add_format({"valign": "top"} | dict(properties))
            for look, properties in LOOKS.items()
        }

    def page(self, name: str, widths: Sequence[int]) -> "Page":
        return Page(self._workbook.add_worksheet(name), widths, self._formats)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._workbook.close()
            self._path.write_bytes(self._content.getvalue())


class Page:
    """One sheet of a book; rows and columns count from 0."""

    def __init__(
        self, sheet: Worksheet, widths: Sequence[int], formats: Mapping[str, Format]
    ) -> None:
        self.widths = tuple(widths)
        self._sheet, self._formats = sheet, formats
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MAX_ROWS}"})
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.fit_to_pages(1, 0)

    def put(self, row: int, column: int, value: Value, look: str = "text") -> None:
        form = self._formats[look]
        if value is None:
            return
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value, form)
        elif isinstance(value, str):
            self._sheet.write_string(row, column, cell(value), form)
        elif math.isfinite(value) if isinstance(value, float) else abs(value) < _EXACT:
            self._sheet.write_number(row, column, value, form)
        else:
            self._sheet.write_string(row, column, str(value), form)

    def spread(self, row: int, column: int, value: str, look: str = "text") -> None:
        last = len(self.widths) - 1
        if last > column:
            self._sheet.merge_range(row, column, row, last, "", self._formats[look])
        self.put(row, column, value, look)

    def put_line(
        self, row: int, values: Sequence[Value], looks: Sequence[str], *, high: bool = False
    ) -> None:
        for column, (value, look) in enumerate(zip(values, looks, strict=True)):
            self.put(row, column, value, look)
        if high:
            texts = zip(values, self.widths, strict=True)
            lines = [count_lines(text, width) for text, width in texts if isinstance(text, str)]
            self._sheet.set_row(row, _LINE_POINTS * min(_MAX_LINES, max(lines, default=1)))

    def put_entries(self, row: int, entries: Iterable["Entry"]) -> int:
        """Put an entry in each row, and return the row after; texts spread over all columns."""
        for name, value, look in entries:
            self.put(row, 0, name, "name")
            text = NO_VALUE if value is None else value
            if isinstance(text, str):
                self.spread(row, 1, text, look)
                lines = count_lines(text, sum(self.widths[1:])), count_lines(name, self.widths[0])
                self._sheet.set_row(row, _LINE_POINTS * min(_MAX_SUMMARY_LINES, max(lines)))
            else:
                self.put(row, 1, text, look)
            row += 1
        return row

    def head(self, row: int, names: Sequence[str]) -> None:
        self.put_line(row, names, ["header"] * len(names))

    def make_list(self, last_row: int, last_column: int, fixed: int = 2) -> None:
        self._sheet.freeze_panes(1, fixed)
        self._sheet.autofilter(0, 0, last_row, last_column)
        self._sheet.repeat_rows(0)

    def colour(
        self, last_row: int, column: int, criteria: str, value: str | float, look: str
    ) -> None:
        if not isinstance(value, str):  # Excel compares a blank cell as 0, but it is not low
            blank = {"type": "blanks", "stop_if_true": True}
            self._sheet.conditional_format(1, column, last_row, column, blank)
        rule = {"type": "cell", "criteria": criteria, "value": value, "format": self._formats[look]}
        self._sheet.conditional_format(1, column, last_row, column, rule)


def count_lines(text: str, width: int) -> int:
    return sum(max(1, -(-len(line) // max(1, width - 1))) for line in text.split("\n"))


def sheet_names(prefix: str, titles: Sequence[str]) -> list[str]:
    names: list[str] = []
    for title in titles:
        safe = re.sub(r"[][:*?/\\\n\t]", "_", strip_controls(title))
        for number in count_from(1):
            tail = ")" if number == 1 else f" {number})"
            name = utf16_cut(f"{prefix} ({safe}", 31 - len(tail)).rstrip() + tail
            if name.casefold() not in {taken.casefold() for taken in names}:
                names.append(name)
                break
    return names


def write_workbooks(
    run: Run, *, output: Path | None = None, folder: Path = FOLDER
) -> tuple[Path, ...]:
    """Write a workbook for a single metric, else one per family.

    A file at `output` is replaced; the name of one of several workbooks ends with the family.
    Without `output`, new names in `folder` are used.
    """
    if output is not None:
        check_output(output)
    plan, metrics, asked = run.manifest.plan, run.metrics, run.manifest.plan.metrics
    combined = len(metrics) > 1 or len(set(asked)) > 1 or any(name in GROUPS for name in asked)
    families: dict[str, list[str]] = {family: [] for family in FAMILIES}
    for name, info in metrics.items():
        families.setdefault(info.family, []).append(name)
    families = {family: names for family, names in families.items() if names}
    paths: list[Path] = []
    for family, names in families.items():
        if output is None:
            time = f"{run.manifest.started_at.astimezone():%Y%m%d-%H%M%S}"
            label = f"{file_name(metrics[names[0]].label)}_k{cutoff(run, names[0])}"
            if combined:
                label = f"{file_name(family)}_combined_k{'-'.join(map(str, plan.cutoffs))}"
            path = folder / f"{label}_{time}.xlsx"
        elif len(families) == 1:
            path = output
        else:
            path = output.with_stem(f"{output.stem}_{file_name(family)}")
        write = partial(write_workbook, run=run, names=names, combined=combined)
        paths.append(write_file(path, write, keep=output is None))
    return tuple(paths)


def check_output(path: Path) -> None:
    check_writable(path)
    if path.suffix.lower() != ".xlsx":
        raise UsageError(f"{path} does not end in .xlsx; use a name such as report.xlsx")


def write_workbook(path: Path, run: Run, *, names: Sequence[str], combined: bool) -> None:
    with Book(path, run.manifest.started_at) as book:
        if run.columns is not None:
            add_combined(book, run, names=names)
            add_values(book, run, names=names)
            return
        if combined:
            add_combined(book, run, names=names)
            titles = view.metric_titles(run.metrics)
            sheets = sheet_names("Per-Query", [titles[name] for name in names])
        else:
            names, sheets = names[:1], [SAMPLES_SHEET]
            page = book.page("Summary", _PAIR_WIDTHS)
            page.head(0, _PAIR)
            row = page.put_entries(1, (*_warnings(run), *_figures(run, names[0])))
            page.put_entries(row + 1, _facts(run, names))
        for name, sheet in zip(names, sheets, strict=True):
            add_samples(book, run, name=name, sheet=sheet, sheets=len(names))
        add_claims(book, run, names=names)


class Entry(NamedTuple):
    name: str
    value: Value
    look: str = "text"


def add_combined(book: Book, run: Run, *, names: Sequence[str]) -> None:
    titles = view.metric_titles(run.metrics)
    page = book.page("Summary", _TABLE_WIDTHS)
    page.head(0, _TABLE)
    looks = ("name", "score", "percent", "score", "score", *["count"] * 5)
    for row, name in enumerate(names, start=1):
        found = run.summary()[name]
        figures = found.mean, _share(run, name), *(found.interval or (None, None))
        counts = found.n, found.scored, found.undefined, found.failed, found.flagged
        shown = [NO_VALUE if figure is None else figure for figure in figures]
        page.put_line(row, (titles[name], *shown, *counts), looks)
    row = len(names) + 2
    page.head(row, [*_PAIR, *[""] * (len(_TABLE) - len(_PAIR))])
    row = page.put_entries(row + 1, (*_warnings(run), *_facts(run, names)))
    for name in names:
        page.spread(row + 1, 0, f"--- {titles[name]} ---", "block")
        row = page.put_entries(row + 2, _figures(run, name))


def _share(run: Run, name: str) -> Value:
    info = run.metrics[name]
    return run.summary()[name].mean if (info.low, info.high) == (0, 1) else None


def _warnings(run: Run) -> Iterator[Entry]:
    if run.partial:
        yield Entry("Partial", view.partial_notice(run), "warning")
    if run.troubles:
        yield Entry("Inconclusive", f"exit code 3: {'; '.join(run.troubles)}", "warning")


def _facts(run: Run, names: Sequence[str]) -> Iterator[Entry]:
    for line in (*view.decisions(run, names), *view.details(run, names)):
        yield Entry(line.label, line.words, "warning" if line.tone is Tone.BAD else "text")


def _figures(run: Run, name: str) -> Iterator[Entry]:
    info, summary, counts = run.metrics[name], run.summary()[name], run.counts.scores[name]
    retrieval = info.family == "retrieval"
    low, high = summary.interval or (None, None)
    yield Entry("Evaluation Date", f"{run.manifest.started_at.astimezone():%Y-%m-%d %H:%M:%S %Z}")
    yield Entry("Metric Name", info.label)
    if not retrieval:
        yield Entry("Model", run.manifest.judge or "none needed")
    if info.policy and len(run.policies) > 1:
        yield Entry("Policy", info.policy)
    if retrieval or run.manifest.target:
        yield Entry("K Value" if retrieval else "Top K", cutoff(run, name), "count")
    if run.manifest.target:
        yield Entry("Minimum Similarity", run.manifest.plan.min_similarity, "number")
    yield Entry("Total Queries", summary.n, "count")
    mean = f"{NO_VALUE} ({view.why_no_mean(summary)})" if summary.mean is None else summary.mean
    yield Entry("Score", mean, "score")
    yield Entry("Score (%)", _share(run, name), "percent")
    yield Entry("Range", f"{info.low:g} to {info.high:g}, {info.better} is better")
    yield Entry("95% interval, low", low, "score")
    yield Entry("95% interval, high", high, "score")
    corrected = summary.corrected
    if corrected and corrected.mean is not None and corrected.interval is not None:
        figures = corrected.mean, *corrected.interval
        for end, figure in zip(("", ", low", ", high"), figures, strict=True):
            yield Entry(f"Corrected with labels{end}", figure, "score")
    yield Entry("Min Score", summary.low, "score")
    yield Entry("Max Score", summary.high, "score")
    yield Entry("Scored" if retrieval else "Valid Queries", summary.scored, "count")
    yield Entry("Undefined", summary.undefined, "count")
    if why := view.why_undefined(run, name):
        yield Entry("Undefined because", why)
    yield Entry("Failed", summary.failed, "count")
    if why := view.why_failed(run, name):
        yield Entry("Failed because", why, "warning")
    if summary.flagged:
        yield Entry("Imputed by policy", summary.flagged, "count")
    if counts.latencies:
        p50, p95 = map(milliseconds, counts.latencies.percentiles().values())
        yield Entry("Judge latency", f"p50 {p50}, p95 {p95} per score")
    if summary.pass_rate is not None:
        yield Entry("Pass rate", summary.pass_rate, "percent")
    looks: Mapping[type, str] = {bool: "text", str: "text", int: "count"}
    more = summary.extra.items()
    yield from (Entry(figure, value, looks.get(type(value), "score")) for figure, value in more)


def cutoff(run: Run, name: str) -> int:
    match = re.search(r"@(\d+)", name)
    return int(match[1]) if match else max(run.manifest.plan.cutoffs)


@dataclass(frozen=True)
class Column:
    name: str
    width: int  # in characters
    value: Callable[[Row], Value]
    look: str = "text"


def add_samples(book: Book, run: Run, *, name: str, sheet: str, sheets: int = 1) -> None:
    """All `sheets` share MAX_CELLS and MAX_CHARACTERS; a last line counts rows that do not fit."""
    columns = sample_columns(run, name)
    names = [column.name for column in columns]
    looks = [column.look for column in columns]
    page = book.page(sheet, [column.width for column in columns])
    page.head(0, names)
    most = min(MAX_ROWS, MAX_CELLS // (sheets * len(columns)))
    left, shown = MAX_CHARACTERS // sheets, 0
    for row in islice(run.rows, len(run.rows) if len(run.rows) < most else most - 2):
        values = [column.value(row) for column in columns]
        left -= sum(len(value) for value in values if isinstance(value, str))
        if left < 0:
            break
        shown += 1
        page.put_line(shown, values, looks, high=True)
    if rest := len(run.rows) - shown:
        page.put(shown + 1, 0, _too_many(rest, "rows", "--rows"))
    last = max(shown, 1)
    page.make_list(last, len(columns) - 1)
    info = run.metrics[name]
    sign, middle = "<" if info.higher_is_better else ">", (info.low + info.high) / 2
    page.colour(last, names.index("score"), sign, middle, "low")
    page.colour(last, names.index("state"), "==", '"failed"', "marked")


def _too_many(number: int, items: str, option: str) -> str:
    return f"{number:,} more {items} do not fit in this sheet; use {option} FILE for all of them"


def sample_columns(run: Run, name: str) -> list[Column]:
    info, counts = run.metrics[name], run.counts.scores[name]
    columns = [
        Column("query_index", 15, lambda row: row.index, "count"),
        Column("id", 14, lambda row: row.sample.id),
        Column("query", 40, lambda row: row.sample.query),
    ]
    if info.family == "retrieval":
        columns.append(Column("ground_truth_ids", 26, _relevant))
        columns.append(Column("retrieved_ids", 30, _retrieved))
    else:
        columns += _text_columns(info.needs)
    columns.append(Column("score", 10, lambda row: row.scores[name].value, "score"))
    if counts.threshold is not None:
        columns.append(Column("passed", 10, lambda row: row.scores[name].passed))
    columns += [
        Column("state", 11, lambda row: row.scores[name].state.value),
        Column("cause", 14, lambda row: (why := row.scores[name].cause) and CAUSES[why]),
        Column("reason", 36, lambda row: row.scores[name].reason),
    ]
    if counts.flagged:
        columns.append(Column("imputed", 10, lambda row: row.scores[name].fallback))
    if counts.judged:
        columns += _claim_columns(name)
        if counts.has_truths:
            truths = Column("truths", 60, lambda row: "\n".join(row.scores[name].truths) or None)
            columns.append(truths)
        if run.counts.blame:
            columns.append(Column("blame", 60, _blame))
    if counts.latencies:
        columns.append(Column("latency_ms", 14, lambda row: row.scores[name].latency_ms, "number"))

    taken = {column.name.casefold() for column in columns}
    for key in counts.details:
        if not (counts.judged and key in ("claims", "supported")):  # have columns of their own
            title = f"detail {key}" if key.casefold() in taken else key
            width = 60 if key == "explanation" else min(30, max(12, len(title) + 5))
            columns.append(
                Column(title, width, lambda row, key=key: row.scores[name].detail.get(key))
            )
    taken = {column.name.casefold() for column in columns}
    for tag in run.counts.tags:
        title = f"tag {tag}" if tag.casefold() in taken else tag
        columns.append(Column(title, 22, lambda row, tag=tag: row.sample.tags.get(tag)))
    if (over := len(columns) - MAX_COLUMNS) > 0:
        notice = _too_many(over + 1, "columns", "--rows")
        columns[MAX_COLUMNS - 1 :] = [Column(notice, 30, lambda _: None)]
    return columns


def _text_columns(needs: Sequence[str]) -> Iterator[Column]:
    def reference(row: Row) -> Value:
        claims, text = row.sample.reference_claims, row.sample.reference_cell
        return "\n".join(claims) if text is None and claims else text

    def contexts(row: Row) -> Value:
        _, found = view.texts_read(row.sample, needs)
        return None if found is None else "\n---\n".join(each.text for each in found)

    def number(row: Row) -> Value:
        _, found = view.texts_read(row.sample, needs)
        return None if found is None else len(found)

    yield Column("response", 60, lambda row: row.sample.response)
    yield Column("ground_truth_answer", 40, reference)
    yield Column("retrieved_contexts", 60, contexts)
    yield Column("num_contexts", 17, number, "count")


def _claim_columns(name: str) -> Iterator[Column]:
    def supported(row: Row) -> Value:
        labels = [claim.label for claim in row.scores[name].claims]
        return labels.count(Label.SUPPORTED) if labels else None

    def lines(describe: Callable[[JudgedClaim], str]) -> Callable[[Row], Value]:
        return lambda row: "\n".join(map(describe, row.scores[name].claims)) or None

    yield Column("num_claims", 15, lambda row: len(row.scores[name].claims) or None, "count")
    yield Column("num_supported", 18, supported, "count")
    yield Column("claims", 70, lines(describe_claim))
    yield Column("evidence", 70, lines(describe_evidence))


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


def _retrieved(row: Row) -> Value:
    return None if row.sample.ranked is None else join_ids(row.sample.ranked_ids)


def _relevant(row: Row) -> Value:
    grades = row.sample.relevance
    relevant = [each for each, grade in (grades or {}).items() if grade > 0]
    return None if grades is None else join_ids(relevant)


_CLAIM_WIDTHS = {"id": 14, "metric": 22, "claim": 60, "label": 22, "reason": 50, "quote": 60}
_CLAIM_LOOKS = {"number": "count", "quotes": "count", "context": "count", "confidence": "number"}


def add_claims(book: Book, run: Run, *, names: Sequence[str]) -> None:
    total = sum(run.counts.scores[name].labels.total() for name in names)
    if not total:
        return
    page = book.page(CLAIMS_SHEET, [_CLAIM_WIDTHS.get(name, 13) for name in ClaimLine._fields])
    page.head(0, ClaimLine._fields)
    looks = [_CLAIM_LOOKS.get(name, "text") for name in ClaimLine._fields]
    most = min(MAX_ROWS, MAX_CELLS // (4 * len(looks)))
    shown = total if total < most else most - 2
    for number, line in enumerate(islice(claim_lines(run, names), shown), start=1):
        page.put_line(number, line, looks, high=True)
    if shown < total:
        page.put(shown + 1, 0, _too_many(total - shown, "claims", "--claim-rows"))
    page.make_list(shown, len(ClaimLine._fields) - 1)
    word = f'"{Label.CONTRADICTED.value}"'
    page.colour(shown, ClaimLine._fields.index("label"), "==", word, "marked")


def add_values(book: Book, run: Run, *, names: Sequence[str]) -> None:
    before = {"query_index": 15, "id": 24, "query": 40}
    shown = names[: MAX_COLUMNS - len(before) - 1]
    columns = [*before, *shown, "reason"]
    looks = ("count", "text", "text", *["score"] * len(shown), "text")
    selected, notice = excerpt(run, min(MAX_ROWS - 2, max(1, MAX_CELLS // len(columns))))
    page = book.page(SAMPLES_SHEET, [*before.values(), *[14] * len(shown), 40])
    page.head(0, columns)
    last = 0
    for last, row in enumerate(selected.rows, start=1):
        scores = [row.scores[name] for name in shown]
        reasons = dict.fromkeys(score.reason for score in scores if score.reason)
        values = (score.value for score in scores)
        line = (row.index, row.sample.id, row.sample.query, *values, "; ".join(reasons) or None)
        page.put_line(last, line, looks)
    if notice is not None:
        page.put(last + 1, 0, f"These are the {notice}")
    page.make_list(max(last, 1), len(columns) - 1)
