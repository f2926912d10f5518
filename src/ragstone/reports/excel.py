"""Excel workbooks of a run: a sheet of questions, a summary, and the claims.

For the metrics or groups of the seed documents there are their workbooks: see decision 73.
Text from outside is always text, never a formula or a link.
"""

# XlsxWriter has only partial types and no py.typed; it is used in this file only
# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from itertools import count, islice
from operator import attrgetter
from pathlib import Path
from typing import Generic, Literal, Self, TypeVar

import xlsxwriter

from ragstone._internal.fields import base_name, cutoff_of
from ragstone._internal.files import check_writable, write_file
from ragstone._internal.text import join_by_reason, strip_controls
from ragstone.errors import UsageError
from ragstone.metrics import FAMILIES, GROUPS
from ragstone.reports import view
from ragstone.reports.format import CAUSES, NO_VALUE, cell, file_name, utf16_cut
from ragstone.reports.tables import ClaimLine, claim_lines
from ragstone.reports.view import Tone
from ragstone.reports.worst import excerpt, failing, failing_claim, main_metrics
from ragstone.results.outcomes import BY_CONTEXTS, Found, Outcome
from ragstone.results.run import Run
from ragstone.types.claim import Label
from ragstone.types.row import Row
from ragstone.types.score import Score

FOLDER = Path("results")
SAMPLES_SHEET, VERDICT = "Per-Query Results", "Verdict"
MAX_CELLS, MAX_CHARACTERS = 1_000_000, 50_000_000  # of all samples, which XlsxWriter has in memory
_MAX_LINES, _MAX_SUMMARY_LINES = 8, 27  # lines of the tallest row; the cell has the whole text
_MAX_METRICS, _MAX_TAGGED = 15, 4  # metrics in the summary, and in its tables by tag
_SUMMARY_WIDTHS, _CHART_LINES = (30, *[19] * 6), 13
_BARS = {Outcome.RIGHT: "#70AD47", Outcome.WRONG: "#D9694A", Outcome.DECLINED: "#F2C14E"}
_BAD = "#F8CBAD"

SEED_GROUPS = frozenset(GROUPS) - {"all_judged"}  # the seed documents do not know it
Form = Literal["questions", "family", "metric"]
Value = str | int | float | bool | None
Entry = tuple[str, Value, str]  # its name, value and look
T = TypeVar("T")
Values = Callable[[Row], Mapping[str, Value]]

MAX_ROWS, MAX_COLUMNS = 1_048_576, 16_384  # of an Excel sheet
_EXACT = 10**15  # excel has 15 digits; longer whole numbers are ids and stay text
_LINE_POINTS = 15
_WARN = "#FFE699"
_HEADER = {"bold": True, "bg_color": "#1F3864", "font_color": "#FFFFFF"}
LOOKS: Mapping[str, Mapping[str, object]] = {
    "text": {"text_wrap": True, "align": "left"},
    "name": {"bold": True, "text_wrap": True},
    "count": {"num_format": "#,##0", "align": "left"},
    "score": {"num_format": "0.0000", "align": "left"},
    "short": {"num_format": "0.00", "align": "left"},
    "percent": {"num_format": "0.0%", "align": "left"},
    "header": _HEADER | {"text_wrap": True, "valign": "vcenter"},
    "headline": {"bold": True, "text_wrap": True, "font_size": 12},
    "warning": {"bold": True, "text_wrap": True, "bg_color": _WARN},
    "marked": {"bg_color": _WARN},
    "low": {"bg_color": _BAD},
}


class Book:
    def __init__(self, path: Path, created: datetime) -> None:
        options = {f"strings_to_{kind}": False for kind in ("formulas", "urls", "numbers")}
        options["in_memory"] = True  # Python's ZipFile prints a traceback if the disk is full
        self._path, self._content = path, BytesIO()
        self.workbook = xlsxwriter.Workbook(self._content, options)
        # XlsxWriter writes the time as UTC without converting it
        self.workbook.set_properties({"created": created.astimezone(UTC), "author": "ragstone"})
        self.formats = {
            look: self.workbook.add_format({"valign": "top"} | dict(properties))
            for look, properties in LOOKS.items()
        }

    def page(self, name: str, widths: Sequence[int]) -> "Page":
        return Page(self, name, widths)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.workbook.close()
            self._path.write_bytes(self._content.getvalue())


class Page:
    """One sheet of a book; rows and columns count from 0."""

    def __init__(self, book: Book, name: str, widths: Sequence[int]) -> None:
        self.widths = tuple(widths)
        self._name, self._workbook, self._formats = name, book.workbook, dict(book.formats)
        self._sheet = sheet = self._workbook.add_worksheet(name)
        for column, width in enumerate(widths):
            sheet.set_column(column, column, width)
        sheet.ignore_errors({"number_stored_as_text": f"A1:XFD{MAX_ROWS}"})
        sheet.set_landscape()
        sheet.set_paper(9)  # A4
        sheet.fit_to_pages(1, 0)

    def put(self, row: int, column: int, value: Value, look: str = "text") -> None:
        form, limit = self._formats[look], math.inf if isinstance(value, float) else _EXACT
        if isinstance(value, bool):
            self._sheet.write_boolean(row, column, value, form)
        elif not isinstance(value, str | None) and abs(value) < limit:
            self._sheet.write_number(row, column, value, form)
        elif value is not None:
            self._sheet.write_string(row, column, cell(str(value)), form)

    def put_as(self, row: int, column: int, number: int, words: str) -> None:
        """Put a number that is shown as words."""
        form = self._workbook.add_format({"num_format": f'"{words}"', "align": "left"})
        self._sheet.write_number(row, column, number, form)

    def spread(self, row: int, column: int, value: str, look: str = "text") -> None:
        """Put a text over all columns from this one, as high as it needs."""
        last = len(self.widths) - 1
        if last > column:
            self._sheet.merge_range(row, column, row, last, "", self._formats[look])
        self.put(row, column, value, look)
        lines = min(_MAX_SUMMARY_LINES, count_lines(value, sum(self.widths[column:])))
        self._sheet.set_row(row, _LINE_POINTS * lines + 3 * (look == "headline"))

    def put_line(self, row: int, values: Sequence[Value], looks: Sequence[str]) -> None:
        lines = [1]
        for column, (value, look) in enumerate(zip(values, looks, strict=True)):
            self.put(row, column, value, look)
            if isinstance(value, str):
                lines.append(count_lines(value, self.widths[column]))
        self._sheet.set_row(row, _LINE_POINTS * min(_MAX_LINES, max(lines)))

    def put_entries(self, row: int, entries: Iterable[Entry]) -> None:
        """Put an entry in each row; texts spread over all columns."""
        for place, (name, value, look) in enumerate(entries, row):
            self.put(place, 0, name, "name")
            if value is None or isinstance(value, str):
                self.spread(place, 1, value or NO_VALUE, look)
            else:
                self.put(place, 1, value, look)

    def head(self, row: int, names: Sequence[str]) -> None:
        self.put_line(row, names, ["header"] * len(names))

    def make_list(self, last_row: int, last_column: int, fixed: int = 2) -> None:
        self._sheet.freeze_panes(1, fixed)
        self._sheet.autofilter(0, 0, last_row, last_column)
        self._sheet.repeat_rows(0)

    def shade(self, run: Run, last_row: int, place: int, column: "Column[T]") -> None:
        """Mark the words of a column, or shade scores whose metric has a range that they reach."""
        rules: list[dict[str, object]] = [
            {"type": "cell", "criteria": "==", "value": f'"{word}"', "format": self._formats[look]}
            for word, look in column.marks.items()
        ]
        if column.metric and (ends := view.scale(run, column.metric)):
            good_last = run.metrics[column.metric].higher_is_better
            first, last = (_BAD, "#FFFFFF") if good_last else ("#FFFFFF", _BAD)
            rule = {"type": "2_color_scale", "min_type": "num", "max_type": "num"}
            numbers = {"min_value": ends[0], "max_value": ends[1]}
            rules.append({**rule, **numbers, "min_color": first, "max_color": last})
        for rule in rules:
            self._sheet.conditional_format(1, place, last_row, place, rule)

    def chart(self, row: int, head: int, lines: int, outcomes: Sequence[Outcome]) -> None:
        """Draw bars from a row on: a table's counts of these outcomes, or else its means."""
        chart = self._workbook.add_chart({"type": "bar", "subtype": "stacked"})
        assert chart is not None
        for column, color in enumerate([_BARS[each] for each in outcomes] or ["#4472C4"], 1):
            series: dict[str, object] = {"fill": {"color": color}, "gap": 40}
            series["name"] = [self._name, head, column]
            series["categories"] = [self._name, head + 1, 0, head + lines, 0]
            series["values"] = [self._name, head + 1, column, head + lines, column]
            series["data_labels"] = {"value": True, "num_format": "#,##0;;" if outcomes else "0.00"}
            chart.add_series(series)
        chart.set_title({"none": True})
        chart.set_legend({"position": "bottom"} if outcomes else {"none": True})
        chart.set_y_axis({"reverse": True})  # the first line at the top
        chart.set_x_axis({"min": 0, "major_gridlines": {"visible": False}, "visible": False})
        chart.set_size({"width": 900, "height": 20 * _CHART_LINES - 10})
        self._sheet.insert_chart(row, 0, chart, {"object_position": 2})


def count_lines(text: str, width: int) -> int:
    return sum(max(1, -(-len(line) // max(1, width - 1))) for line in text.split("\n"))


def sheet_names(prefix: str, titles: Sequence[str]) -> list[str]:
    names: list[str] = []
    for title in titles:
        safe = re.sub(r"[][:*?/\\\n\t]", "_", strip_controls(title))
        for number in count(1):
            tail = ")" if number == 1 else f" {number})"
            name = utf16_cut(f"{prefix} ({safe}", 31 - len(tail)).rstrip() + tail
            if name.casefold() not in {taken.casefold() for taken in names}:
                names.append(name)
                break
    return names


def write_workbooks(
    run: Run, *, output: Path | None = None, folder: Path = FOLDER
) -> tuple[Path, ...]:
    """Write one workbook, or what the seed documents promise: one for a metric or for each family.

    A file at `output` is replaced; without it, new names in `folder` are used.
    """
    plan, metrics, names = run.manifest.plan, run.metrics, list(run.metrics)
    form: Form = "questions"
    books, asked, cutoffs = {"evaluation": names}, set(plan.metrics), plan.cutoffs
    if output is not None:
        check_output(output)
    elif "metrics" in plan.model_fields_set and asked <= SEED_GROUPS:
        form, books = "family", {f"{family}_combined": list[str]() for family in FAMILIES}
        for name, info in metrics.items():
            books[f"{info.family}_combined"].append(name)
    elif len(names) == len(asked) == 1 and not asked & set(GROUPS):
        form, books = "metric", {file_name(metrics[names[0]].label): names}
        cutoffs = (cutoff(run, names[0]),)
    time = f"{run.manifest.started_at.astimezone():%Y%m%d-%H%M%S}"
    paths: list[Path] = []
    for label, some in books.items():
        if some:
            path = output or folder / f"{label}_k{'-'.join(map(str, cutoffs))}_{time}.xlsx"
            write = partial(write_workbook, run=run, names=some, form=form)
            paths.append(write_file(path, write, keep=output is None))
    return tuple(paths)


def check_output(path: Path) -> None:
    check_writable(path)
    if path.suffix.lower() != ".xlsx":
        raise UsageError(f"{path} does not end in .xlsx; use a name such as report.xlsx")


def write_workbook(path: Path, run: Run, *, names: Sequence[str], form: Form = "questions") -> None:
    with Book(path, run.manifest.started_at) as book:
        add = partial(add_list, book, run, items=run.rows, total=len(run.rows))
        if run.columns is None and form == "questions":
            add(question_columns(run), sheet="Questions")
        if form == "metric":
            page = book.page("Summary", (28, 92))
            page.head(0, ("Metric", "Value"))
            page.put_entries(1, (*_headline(run), *_figures(run, names[0]), *_facts(run, names)))
            add(sample_columns(run, names[0]), sheet=SAMPLES_SHEET)
        else:
            add_summary(book, run, names=names)
        if form == "family":
            titles = view.metric_titles(run.metrics)
            sheets = sheet_names("Per-Query", [titles[name] for name in names])
            for name, sheet in zip(names, sheets, strict=True):
                add(sample_columns(run, name), sheet=sheet, share=len(names))
        (add_claims if run.columns is None else add_values)(book, run, names=names)


def add_summary(book: Book, run: Run, *, names: Sequence[str]) -> None:
    """Add the verdict, the outcomes, means, means by tag, and what the scores were made from."""
    page, row = book.page("Summary", _SUMMARY_WIDTHS), 0
    for label, words, look in _headline(run):
        page.spread(row, 0, f"{words}" if label == VERDICT else f"{label}: {words}", look)
        row += 1
    found, grid, head = run.verdict, view.outcome_grid(run), row + 1
    kinds = [each for each in Outcome if grid and view.outcome_word(each, found) in grid.heads]
    if grid is not None:
        page.head(head, ("Answers", *grid.heads[1:]))
        for row, line in enumerate(grid.rows, head + 1):
            page.put(row, 0, str(line.cells[0]), "name")
            for column, (kind, text) in enumerate(zip(kinds, line.cells[1:], strict=True), 1):
                counted = found.cell(Found(str(line.cells[0])), kind)
                page.put_as(row, column, counted.count if counted else 0, str(text))
    shown, means = main_metrics(run, _MAX_METRICS, names), row + 2 + _CHART_LINES
    page.chart(row + 2, *((head, len(grid.rows)) if grid else (means, len(shown))), kinds)
    page.head(means, ("Metric", "Mean", "95% low", "95% high", "Notes", "", ""))
    notes = {line.cells[0]: str(line.cells[-1]) for line in view.metric_lines(run)}
    for row, name in enumerate(shown, means + 1):
        mean, ends = view.shown_mean(run.summary()[name])
        page.put_line(row, (name, mean, *(ends or (None, None))), ("name", *["short"] * 3))
        page.spread(row, 4, notes[name])
    if left := len(names) - len(shown):
        page.put(row := row + 1, 0, f"further metrics: {left:,}")
    row = _put_tags(page, run, row + 2, main_metrics(run, _MAX_TAGGED, names))
    page.put_entries(row, _facts(run, names))


def _put_tags(page: Page, run: Run, row: int, names: Sequence[str]) -> int:
    """Put the share of bad answers and the means by tag, and return the row after them."""
    for by_tag in run.slices:
        shares = [
            bad / all_ if all_ else None for bad, all_ in view.bad_by_value(run, by_tag["tag"])
        ]
        words = [f"{view.outcome_word(Outcome.WRONG, run.verdict)} or declined"] * bool(shares)
        looks = "name", "count", *["percent" for _ in words], *["short" for _ in names]
        page.head(row, (by_tag["tag"], "Questions", *words, *names))
        for place, each in enumerate(by_tag["values"]):
            row += 1
            means = [each["metrics"][name]["mean"] for name in names]
            page.put_line(row, (each["value"], each["n"], *shares[place:][:1], *means), looks)
        row += 2
    return row


def _headline(run: Run) -> Iterator[Entry]:
    for line in view.headline(run):
        look = "text" if line.label else "headline"
        look = "warning" if line.tone in (Tone.BAD, Tone.WARNING) else look
        yield line.label or VERDICT, line.words, look


def _facts(run: Run, names: Sequence[str]) -> Iterator[Entry]:
    yield "Evaluation Date", f"{run.manifest.started_at.astimezone():%Y-%m-%d %H:%M:%S %Z}", "text"
    yield from (("Missing", line.words, "text") for line in view.missing(run))
    for line in (*view.decisions(run, names), *view.details(run, names)):
        yield line.label, line.words, "warning" if line.tone is Tone.BAD else "text"


def _figures(run: Run, name: str) -> Iterator[Entry]:
    """Yield what the seed documents have in the summary of a metric."""
    info, summary = run.metrics[name], run.summary()[name]
    retrieval, (low, high) = info.family == "retrieval", summary.interval or (None, None)
    yield "Metric Name", info.label, "text"
    if not retrieval:
        yield "Model", run.manifest.judge or "none needed", "text"
    if retrieval or run.manifest.target:
        yield "K Value" if retrieval else "Top K", cutoff(run, name), "count"
    yield "Total Queries", summary.n, "count"
    yield "Valid Queries", summary.scored, "count"
    yield "Score (%)", summary.mean if info.range == (0, 1) else None, "percent"
    scores = {"Score": summary.mean, "95% interval, low": low, "95% interval, high": high}
    scores |= {"Min Score": summary.low, "Max Score": summary.high}
    looks: Mapping[type, str] = {bool: "text", str: "text", int: "count"}
    for title, value in {**scores, **summary.extra}.items():
        yield title, value, looks.get(type(value), "score")


def cutoff(run: Run, name: str) -> int:
    return cutoff_of(name) or max(run.manifest.plan.cutoffs)


@dataclass(frozen=True)
class Column(Generic[T]):
    name: str
    width: int  # in characters
    value: Callable[[T], Value]
    look: str = "text"
    metric: str | None = None  # whose scores are shaded
    marks: Mapping[str, str] = field(default_factory=dict[str, str])  # word -> look


_ROW_COLUMNS: Sequence[Column[Row]] = (
    Column("query_index", 15, lambda row: row.index, "count"),
    Column("id", 14, lambda row: row.sample.id),
    Column("query", 40, lambda row: row.sample.query),
)
_RESPONSE = Column[Row]("response", 60, lambda row: row.sample.response)


def add_list(
    book: Book,
    run: Run,
    columns: Sequence[Column[T]],
    items: Iterable[T],
    total: int,
    *,
    sheet: str,
    share: int = 1,
    noun: str = "row",
) -> tuple[Page, int]:
    """Add a line for each of `total` items, and return the last; one more counts the others.

    A sheet has one of `share` parts of MAX_CELLS and MAX_CHARACTERS.
    """
    rest = f"do not fit in this sheet; use --{noun.replace(' ', '-')}s FILE for all of them"
    if (over := len(columns) - MAX_COLUMNS) > 0:
        notice = Column[T](f"{over + 1:,} more columns {rest}", 30, lambda _: None)
        columns = [*columns[: MAX_COLUMNS - 1], notice]
    looks = [column.look for column in columns]
    page = book.page(sheet, [column.width for column in columns])
    page.head(0, [column.name for column in columns])
    most = min(MAX_ROWS, MAX_CELLS // (share * len(columns)))
    left, shown = MAX_CHARACTERS // share, 0
    for item in islice(items, total if total < most else most - 2):
        values = [column.value(item) for column in columns]
        left -= sum(len(value) for value in values if isinstance(value, str))
        if left < 0:
            break
        shown += 1
        page.put_line(shown, values, looks)
    if total > shown:
        page.put(shown + 1, 0, f"{total - shown:,} more {noun}s {rest}")
    last = max(shown, 1)
    page.make_list(last, len(columns) - 1)
    for place, column in enumerate(columns):
        page.shade(run, last, place, column)
    return page, last


def question_columns(run: Run) -> list[Column[Row]]:
    counts = run.counts.scores
    judged = [name for name in run.metrics if counts[name].judged]
    judged.sort(key=lambda n: (base_name(n) != BY_CONTEXTS, n != run.verdict.metric))

    def bad_claims(row: Row) -> tuple[str | None, str | None]:
        score = next((score for n in judged if failing(score := row.scores[n])), None)
        quotes = [item.quote for item in failing(score)[0].evidence] if score else []
        return score and failing_claim(score), "\n".join(quotes) or None

    columns = [*_ROW_COLUMNS[1:]]
    if run.verdict.cells:
        words = partial(view.outcome_words, run)
        marks = {view.outcome_word(Outcome.WRONG, run.verdict): "low", "declined": "marked"}
        columns.append(Column("outcome", 14, lambda row: words(row).split(", ")[0], marks=marks))
        columns.append(Column("found", 11, lambda row: words(row).partition(", ")[2]))
    columns += _score_columns(run.metrics)
    columns += [_RESPONSE, Column("reference", 40, _reference)]
    if judged:
        columns.append(Column("failing claim", 50, lambda row: bad_claims(row)[0]))
        columns.append(Column("evidence", 50, lambda row: bad_claims(row)[1]))
    if any("relevance" in info.needs for info in run.metrics.values()):
        columns += [Column("relevant ids", 18, _relevant), Column("retrieved ids", 18, _retrieved)]
    if any(each.undefined or each.failed or each.flagged for each in counts.values()):
        columns.append(Column("notes", 40, _notes))
    return [*columns, *_further(columns, "tag", run.counts.tags, lambda row: row.sample.tags)]


def _score_columns(names: Iterable[str]) -> Iterator[Column[Row]]:
    for name in names:
        width = max(10, len(name) + 4)
        yield Column(name, width, lambda row, name=name: row.scores[name].value, "short", name)


def _further(
    columns: Sequence[Column[Row]], kind: str, keys: Iterable[str], values: Values
) -> Iterator[Column[Row]]:
    taken = {column.name.casefold() for column in columns}
    for key in keys:
        title = f"{kind} {key}" if key.casefold() in taken else key
        width = min(30, max(14, len(title) + 5))
        yield Column(title, width, lambda row, key=key: values(row).get(key))


def sample_columns(run: Run, name: str) -> list[Column[Row]]:
    """Return the columns of the seed documents for one metric."""
    info, columns = run.metrics[name], [*_ROW_COLUMNS]

    def texts(row: Row) -> list[str] | None:
        found = view.texts_read(row.sample, info.needs)[1]
        return None if found is None else [each.text for each in found]

    if info.family == "retrieval":
        columns.append(Column("ground_truth_ids", 26, _relevant))
        columns.append(Column("retrieved_ids", 30, _retrieved))
    else:
        columns += [
            _RESPONSE,
            Column("ground_truth_answer", 40, _reference),
            Column[Row]("retrieved_contexts", 60, lambda r: "\n---\n".join(texts(r) or ()) or None),
            Column[Row]("num_contexts", 17, lambda r: None if (t := texts(r)) is None else len(t)),
        ]
    columns.append(Column("score", 10, lambda row: row.scores[name].value, "score", name))
    marks = {"failed": "marked"}
    columns.append(Column("state", 11, lambda row: row.scores[name].state, marks=marks))
    columns.append(Column("reason", 36, lambda row: _why(row.scores[name])))
    details = run.counts.scores[name].details
    columns += _further(columns, "detail", details, lambda row: row.scores[name].detail)
    return [*columns, *_further(columns, "tag", run.counts.tags, lambda row: row.sample.tags)]


def join_ids(ids: Sequence[str]) -> str:
    if any("," in each or "\n" in each or each.startswith("[") for each in ids):
        return json.dumps(list(ids), ensure_ascii=False)
    return ", ".join(ids)


def _reference(row: Row) -> Value:
    claims, text = row.sample.reference_claims, row.sample.reference_cell
    return "\n".join(claims) if text is None and claims else text


def _retrieved(row: Row) -> Value:
    return None if row.sample.ranked is None else join_ids(row.sample.ranked_ids)


def _relevant(row: Row) -> Value:
    if (grades := row.sample.relevance) is None:
        return None
    return join_ids([each for each, grade in grades.items() if grade > 0])


def _why(score: Score) -> str | None:
    return f"{CAUSES[score.cause]}: {score.reason}" if score.cause else score.reason


def _notes(row: Row) -> Value:
    some = {n: each for n, each in row.scores.items() if each.value is None or each.fallback}
    return "\n".join(join_by_reason({n: _why(s) or "imputed" for n, s in some.items()})) or None


_CLAIM_WIDTHS = {"id": 14, "metric": 22, "claim": 60, "label": 22, "reason": 50, "quote": 60}


def add_claims(book: Book, run: Run, *, names: Sequence[str]) -> None:
    columns: list[Column[ClaimLine]] = []
    for name in ClaimLine._fields:
        marks = {Label.CONTRADICTED.value: "marked"} if name == "label" else {}
        columns.append(Column(name, _CLAIM_WIDTHS.get(name, 13), attrgetter(name), marks=marks))
    if total := sum(run.counts.scores[name].labels.total() for name in names):
        lines = claim_lines(run, names)
        add_list(book, run, columns, lines, total, sheet="Claims", share=4, noun="claim row")


def add_values(book: Book, run: Run, *, names: Sequence[str]) -> None:
    """Add the scores of a ranking: of too many queries, the worst."""
    columns = [*_ROW_COLUMNS, *_score_columns(names), Column[Row]("reason", 40, _notes)]
    selected, notice = excerpt(run, min(MAX_ROWS - 2, max(1, MAX_CELLS // len(columns) - 2)))
    rows = selected.rows
    page, last = add_list(book, run, columns, rows, len(rows), sheet=SAMPLES_SHEET)
    if notice is not None:
        page.put(last + 1, 0, f"These are the {notice}")
