"""Labelling: which claims of a run people judge, their answers, and labels from spreadsheets."""

import math
import re
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from pathlib import Path
from statistics import fmean, pvariance
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, TypeAdapter, model_validator

from ragstone._internal.fields import document_id
from ragstone._internal.text import count, listing, plain_name, quoted, strip_controls
from ragstone.datasets import read_table
from ragstone.datasets.columns import ALIASES, ambiguous, mapping
from ragstone.datasets.table import Record
from ragstone.datasets.values import Plain, in_field, normalize_cell, sample_id, text
from ragstone.errors import InputError, Problem, UnknownNameError, UsageError, nearest
from ragstone.results.calibration import MIN_ROWS, draw_key
from ragstone.store import RunInfo, Store, StoreError
from ragstone.store.reader import StoredRows
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row
from ragstone.types.sample import hash_texts

T = TypeVar("T")

METRIC = "faithfulness"  # the metric whose claims are labelled, under any policy
RULE = (
    "Supported: the contexts state it, or it follows from them without other knowledge. "
    "Not supported: any part of it is missing from the contexts or contradicts them, even if it "
    "is true. Read the contexts as the only source."
)


AGREEMENT, CORRELATION = 0.8, 0.3  # assumed before there are labels; see `LabelPlan.half_width`


class _Claim(BaseModel):
    text: str
    label: Label


class _Score(BaseModel):
    state: str
    claims: tuple[_Claim, ...] = ()


class _Sample(BaseModel):
    id: str
    query: str
    text_hashes: str

    @model_validator(mode="before")
    @classmethod
    def _hash(cls, given: dict[str, Any]) -> dict[str, Any]:
        contexts = [each.get("text") or "" for each in given.get("contexts") or ()]
        hashes = hash_texts(given.get("response"), contexts)
        return {"id": given["id"], "query": given["query"], "text_hashes": hashes}


class ClaimRow(BaseModel):
    index: int
    sample: _Sample
    scores: dict[str, _Score]


_ROW: TypeAdapter[ClaimRow] = TypeAdapter(ClaimRow)


def read_claims(store: Store, run_id: str) -> list[ClaimRow]:
    rows = store.load(run_id).rows
    if not isinstance(rows, StoredRows):
        raise StoreError(f"run {run_id} has rankings only; label a run of answers")
    return list(rows.read_as(_ROW))


def metric_of(info: RunInfo, given: str | None = None) -> str:
    names = [name for name in info.metrics if name.partition(":")[0].partition(",")[0] == METRIC]
    if given in names or (names and given is None):
        return given or names[0]
    known = f"choose one of {', '.join(names)}" if names else f"run it with -m {METRIC}"
    raise UsageError(
        f"run {info.id} has no {given or METRIC} whose claims can be labelled; {known}"
    )


class DrawnRow(NamedTuple):
    position: int
    sample_id: str
    claims: int
    supported: int


@dataclass(frozen=True)
class LabelPlan:
    metric: str
    rows: Sequence[DrawnRow]
    every: Sequence[DrawnRow]  # those that could be drawn, in random order

    @property
    def claims(self) -> int:
        return sum(row.claims for row in self.rows)

    def half_width(self, rows: int) -> float:
        """Return the expected half-width of the corrected interval with so many labelled rows.

        People are assumed to agree with AGREEMENT of the verdicts, and to disagree more often in
        some answers, with this CORRELATION between claims of one answer.
        """
        n, claims = len(self.every), fmean(row.claims for row in self.every)
        spread = pvariance([row.supported / row.claims for row in self.every])
        errors = AGREEMENT * (1 - AGREEMENT) * (1 + (claims - 1) * CORRELATION) / claims
        return 1.96 * math.sqrt(errors / min(rows, n) + spread / n)


def plan_labels(rows: Sequence[ClaimRow], metric: str, *, labels: int) -> LabelPlan:
    """Draw rows at random until they have so many claims; a larger number gives more after these.

    From MIN_ROWS claims on, it draws as many rows or more, because gates need them.
    """
    every = [row for row in _in_random_order(rows, metric) if row.claims]
    if not every:
        raise UsageError(f"no row has claims of {metric} to label")
    sums = [*accumulate(row.claims for row in every)]
    least = MIN_ROWS if labels >= MIN_ROWS else 1
    return LabelPlan(metric, every[: max(bisect_left(sums, labels) + 1, least)], every)


def _in_random_order(rows: Sequence[ClaimRow], metric: str) -> list[DrawnRow]:
    found: list[DrawnRow] = []
    for row in sorted(rows, key=lambda row: draw_key(row.sample.id, row.sample.query)):
        if (score := row.scores.get(metric)) and score.state == "scored":
            supported = sum(each.label is Label.SUPPORTED for each in score.claims)
            found.append(DrawnRow(row.index, row.sample.id, len(score.claims), supported))
    return found


class Item(NamedTuple):
    position: int
    claim: int


@dataclass
class LabelSession:
    """One annotator's way through the claims of a plan; every answer is stored at once."""

    store: Store
    run_id: str
    annotator: str
    plan: LabelPlan
    skipped: list[Item] = field(default_factory=list[Item])
    # Items to label again, although the annotator saw the verdict. The old label stays until the
    # new one is given, so that a later session knows that the annotator is not blind.
    reopened: set[Item] = field(default_factory=set[Item])

    def _owns(self, label: HumanLabel) -> bool:
        return (label.metric, label.annotator) == (self.plan.metric, self.annotator)

    @property
    def items(self) -> list[Item]:
        return [Item(row.position, n) for row in self.plan.rows for n in range(row.claims)]

    @property
    def labels(self) -> dict[Item, HumanLabel]:
        found = self._stored()
        return {item: label for item, label in found.items() if item not in self.reopened}

    def _stored(self) -> dict[Item, HumanLabel]:
        items = {*self.items}
        return {
            item: label
            for label in sorted(self.store.labels(self.run_id), key=lambda label: label.at)
            if self._owns(label)
            and label.claim is not None
            and (item := Item(label.position, label.claim)) in items
        }

    def next(self) -> Item | None:
        labels = self.labels
        left = [item for item in self.items if item not in labels]
        first = (item for item in left if item not in self.skipped)
        return next(first, next((item for item in self.skipped if item in left), None))

    def answer(self, item: Item, value: bool | None) -> None:
        if item not in self.items:
            raise UsageError(f"row {item.position} has no claim {item.claim} to label")
        row = next(row for row in self.plan.rows if row.position == item.position)
        given = self._stored().get(item)
        label = HumanLabel(
            run=self.run_id,
            position=item.position,
            sample_id=row.sample_id,
            metric=self.plan.metric,
            claim=item.claim,
            value=value,
            annotator=self.annotator,
            at=datetime.now(UTC),
            blind=given is None or given.blind,
        )
        self.store.add_labels(self.run_id, [label])
        self.reopened.discard(item)

    def skip(self, item: Item) -> None:
        self.skipped = [*(each for each in self.skipped if each != item), item]

    def undo(self) -> Item | None:
        """Ask for the newest labelled claim again, and return it; None if there is none."""
        if not (labels := self.labels):
            return None
        item, label = labels.popitem()
        if label.blind:
            self.store.delete_label(self.run_id, label)
        else:
            self.reopened.add(item)
        return item

    def row(self, item: Item) -> Row:
        row = self.store.row(self.run_id, item.position)
        assert row is not None, "labels need a row"
        return row

    def verdict(self, item: Item) -> JudgedClaim | None:
        if (label := self.labels.get(item)) is None:
            return None
        self.store.add_labels(self.run_id, [replace(label, blind=False)])
        return self.row(item).scores[self.plan.metric].claims[item.claim]


WORDS: Mapping[bool | None, str] = {True: "supported", False: "not supported", None: "cannot tell"}
COLUMNS: Mapping[str, tuple[str, ...]] = {  # and other names for them
    "human": (),
    "id": ALIASES["id"],
    "position": (),
    "claim": ("statement",),
    "number": (),
    "metric": (),
    "annotator": ("labeller", "rater"),
    "at": ("labelled_at",),
    "blind": (),
    "text_hashes": (),
    "response": (),
}
_JUDGED = {"label", "against", "confidence", "quotes"}  # of `--claim-rows`


_WORDS = {
    "yes": "yes y true t 1 ✓ ✔ ☑ ✅",
    "no": "no n false f 0 ✗ ✘ ☒ ❌",
    "supported": "supported fully_supported faithful entailed grounded correct",
    "unsupported": "unsupported not_supported partially_supported unfaithful not_faithful "
    "hallucinated contradicted not_enough_info not_entailed ungrounded incorrect",
    "unknown": "? cannot_tell can't_tell unsure unclear unknown",
}
_SPELLINGS = {plain_name(word): kind for kind, words in _WORDS.items() for word in words.split()}


class LabelDefaults(NamedTuple):
    """What a label has if the file has no column for it, and the `metrics` it may be of."""

    run: str
    metric: str
    annotator: str
    metrics: Collection[str]


def value_of(cell: object, *, yes: bool = True) -> bool | None:
    """Return the value of a label, or raise a ValueError; `yes` is what yes, true and 1 mean."""
    plain = normalize_cell(cell)
    if plain in (0, 1) and not isinstance(plain, str):
        return bool(plain) is yes
    word = ""
    if isinstance(plain, str) and not re.match(r"\s*[-+_.!~]", plain):  # -1 is no 1
        word = plain_name(document_id(plain)).strip(".!'\"\ufeff")
    values = {"yes": yes, "no": not yes, "supported": True, "unsupported": False, "unknown": None}
    if word not in _SPELLINGS:
        shown = quoted(str(plain), 40)
        raise ValueError(f"{shown!r} is not a label; use yes, no or ? (cannot tell)")
    return values[_SPELLINGS[word]]


def read_label_file(
    path: Path,
    rows: Sequence[ClaimRow],
    defaults: LabelDefaults,
    *,
    sheet: str | None = None,
    header_row: int | None = None,
    columns: Mapping[str, str] | None = None,
    yes_means: bool = True,
) -> tuple[Sequence[HumanLabel], Sequence[str]]:
    """Return labels of a run's claims, or of its responses if the file has no claims, and notes.

    `columns` is a key of COLUMNS -> column. Rows are matched by id or, in a file without ids, by
    `position`. A claim is written as its text, or as its number in the reports, from 1; the column
    `number` states which of several claims with the same text.
    """
    file, table = read_table(path, sheet=sheet, header_row=header_row)
    records = list(table.rows)
    names = table.columns or tuple(
        dict.fromkeys(name for row in records if isinstance(row, Record) for name in row.values)
    )
    there = f"the columns are {listing(names)}" if names else "the file has no rows"
    there += f"; {table.other_sheets}" if table.others else ""
    by_field = _columns(names, columns or {}, there)
    if by_field["human"] == "label" and set(names) >= _JUDGED:
        raise UsageError(
            "the column 'label' of this file has the judge's verdicts; add a column of your own, "
            "and map human=COLUMN"
        )
    key = "id" if "id" in by_field else "position"
    if key not in by_field:
        raise UsageError(f"no id column found; {there}; map id=COLUMN")

    known = {str(row.index) if key == "position" else row.sample.id: row for row in rows}
    problems: list[Problem] = []
    labels: dict[object, tuple[HumanLabel, int]] = {}
    blank = same = 0
    for record in records:
        if not isinstance(record, Record):
            problems += [record] if isinstance(record, Problem) else []
            continue
        cells = _Cells(record, by_field)
        value = cells.get("human", lambda cell: (value_of(cell, yes=yes_means),), None)
        if value is None and not cells.problems:
            blank += 1
            continue
        row = cells.get(key, lambda cell: _row_of(cell, known), None)
        if row is None and not any(each.column == by_field[key] for each in cells.problems):
            cells.wrong(key, f"the {key} is missing")
        if row and (field := _changed_field(cells, row)):
            cells.wrong(field, f"its texts in run {defaults.run} are others, or unknown; label it")
        if row and (label := _label(cells, row, value[0] if value else None, defaults)):
            unit = label.position, label.metric, label.claim, label.annotator
            first, line = labels.setdefault(unit, (label, record.row))
            if first.value != label.value:
                seen = f"{WORDS[label.value]!r}, but {table.unit} {line} has {WORDS[first.value]!r}"
                cells.wrong("human", f"{seen} for the same claim; keep one of them")
            same += first is not label and first.value == label.value
        problems += cells.problems
    if problems:
        problems = [replace(problem, sheet=table.sheet, unit=table.unit) for problem in problems]
        raise InputError(file.name, sorted(problems, key=lambda problem: problem.row or 0))
    remarks = {
        f"{count(blank, 'row')} without a label": blank,
        f"{count(same, 'row')} repeated with the same label": same,
        "the column probability has no effect: gates need rows that ragstone drew": (
            "probability" in map(plain_name, names)
        ),
    }
    notes = [words for words, applies in remarks.items() if applies]
    if labels and by_field.keys().isdisjoint(("text_hashes", "response")):
        what = f"labelled answers and contexts are those of run {defaults.run}"
        notes.append(
            f"without a column text_hashes or response, it is not known whether the {what}"
        )
    return [label for label, _ in labels.values()], [*table.notes, *notes]


def _changed_field(cells: "_Cells", row: ClaimRow) -> str | None:
    """Return the column that shows other texts than those of the run."""
    if known := cells.get("text_hashes", text, ""):
        return None if known == row.sample.text_hashes else "text_hashes"
    if (response := cells.get("response", text, None)) is None:
        return "text_hashes" if "text_hashes" in cells.by_field else None
    answer, _, _ = hash_texts(response, ()).partition("-")
    return None if answer == row.sample.text_hashes.partition("-")[0] else "response"


def _label(
    cells: "_Cells", row: ClaimRow, value: bool | None, defaults: LabelDefaults
) -> HumanLabel | None:
    metric = cells.get("metric", text, defaults.metric)
    claim = None
    if metric in defaults.metrics and metric in row.scores:
        texts = [each.text for each in row.scores[metric].claims]
        number = cells.get("number", lambda cell: document_id(text(cell)), "")
        claim = cells.get("claim", lambda cell: _claim_of(cell, texts, number), None)
    else:
        known = ", ".join(defaults.metrics)
        cells.wrong("metric", f"the run has no {metric} with scores from 0 to 1, only {known}")
    label = HumanLabel(
        run=defaults.run,
        position=row.index,
        sample_id=row.sample.id,
        metric=metric,
        claim=claim,
        value=value,
        annotator=cells.get("annotator", text, defaults.annotator),
        at=cells.get("at", _time, datetime.now(UTC)),
        blind=cells.get("blind", _is_blind, False),
    )
    return None if cells.problems else label


class _Cells:
    def __init__(self, record: Record, by_field: Mapping[str, str]) -> None:
        self._record, self.by_field = record, by_field
        self.problems: list[Problem] = []

    def get(self, field: str, reader: Callable[[Plain], T], default: T) -> T:
        cell = self._record.values.get(self.by_field.get(field, ""))
        try:
            plain = normalize_cell(in_field(cell, ids=True) if field == "id" else cell)
            blank = plain is None or (isinstance(plain, str) and not plain.strip())
            return default if plain is None or blank else reader(plain)
        except ValueError as error:
            self.wrong(field, str(error))
            return default

    def wrong(self, field: str, seen: str) -> None:
        name = self._record.values.get(self.by_field.get("id", ""))
        found = Problem(
            quoted(seen, 500),
            row=self._record.row,
            column=self.by_field.get(field),
            sample_id=None if name is None or field == "id" else quoted(str(name), 60),
        )
        self.problems.append(found)


def _columns(names: Sequence[str], mapped: Mapping[str, str], there: str) -> dict[str, str]:
    for key in mapped:
        if key not in COLUMNS:
            raise UnknownNameError("field", key, COLUMNS)
    columns: dict[str, str] = {}
    for key, aliases in COLUMNS.items():
        spellings = {plain_name(mapped.get(key, name)) for name in (key, *aliases)}
        exact = [name for name in names if name == mapped.get(key)]
        matches = exact or [name for name in names if plain_name(name) in spellings]
        if len(matches) > 1:
            raise UsageError(str(ambiguous(key, matches)))
        if matches:
            columns[key] = matches[0]
        elif key in mapped or key == "human":
            column = mapped.get(key, key)
            near = nearest(column, names)
            offer = f"; did you mean {mapping(key, near)}?" if near else ""
            raise UsageError(f"{mapping(key, column)}: there is no such column{offer} ({there})")
    return columns


def _row_of(cell: Plain, known: Mapping[str, ClaimRow]) -> ClaimRow:
    name = sample_id(cell)
    bare = name.removeprefix("'")  # which our exports put before a formula
    row = known.get(name) or known.get(bare) or known.get(document_id(bare))
    if row is None:
        near = nearest(name, known)
        raise ValueError(f"the run has no row {name!r}" + (f"; is it {near!r}?" if near else ""))
    return row


def _claim_of(cell: Plain, texts: Sequence[str], preferred: str) -> int:
    if not texts:
        raise ValueError("the row has no claims in this run; clear the cell to label the response")
    words = text(cell)
    same = [place for place, each in enumerate(texts) if _plain_text(each) == _plain_text(words)]
    if same:
        return next((each for each in same if str(each + 1) == preferred), same[-1])
    number = document_id(words)
    if number.isdecimal() and 1 <= int(number) <= len(texts):
        return int(number) - 1
    near = nearest(words, texts)
    hint = f"is it {near!r}?" if near else f"write its text, or a number from 1 to {len(texts)}"
    raise ValueError(f"the row has no claim {words!r}; {hint}")


def _plain_text(words: str) -> str:
    return " ".join(strip_controls(words).split()).casefold().removeprefix("'")


def _time(cell: Plain) -> datetime:
    try:
        time = datetime.fromisoformat(text(cell))
    except ValueError:
        raise ValueError(f"{text(cell)!r} is not a time; write 2026-11-23T09:30") from None
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    if time > datetime.now(UTC) + timedelta(days=1):
        raise ValueError(f"{text(cell)!r} is in the future; write when the label was given")
    return min(time, datetime.now(UTC))


def _is_blind(cell: Plain) -> bool:
    with suppress(ValueError):
        if (value := value_of(cell)) is not None:
            return value
    raise ValueError(f"{quoted(text(cell), 40)!r} is not a value of blind; use yes or no")
