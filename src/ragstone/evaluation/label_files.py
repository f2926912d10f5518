"""Labels from a table that people filled in: every problem of the file at once."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeVar

from ragstone._internal.fields import document_id
from ragstone._internal.text import count, listing, quoted, strip_controls
from ragstone.datasets import read_table
from ragstone.datasets.columns import ALIASES, ambiguous, flag, plain_name
from ragstone.datasets.table import Record
from ragstone.datasets.values import Plain, normalize_cell, refuse_date, sample_id, text
from ragstone.errors import InputError, Problem, UnknownNameError, UsageError, nearest
from ragstone.evaluation.labelling import ClaimRow
from ragstone.types.label import HumanLabel

T = TypeVar("T")

WORDS: Mapping[bool | None, str] = MappingProxyType(
    {True: "supported", False: "not supported", None: "cannot tell"}
)
"""The value of a label -> how it is written."""
COLUMNS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "id": ALIASES["id"],
        "position": (),
        "claim": ("statement",),
        "number": (),
        "metric": (),
        "annotator": ("labeller", "rater"),
        "at": ("labelled_at",),
        "probability": (),
        "blind": (),
    }
)
"""What a column can be, and its other names."""

_YES = """
    yes y true t 1 ja j wahr oui o vrai sí si sì s verdadero vero sim verdadeiro да д tak evet
    是 对 有 はい 예 네 हाँ نعم ✓ ✔ ☑ ✅ 👍
"""
_NO = """
    no n false f 0 nein falsch non faux falso não nao нет н nie hayır
    否 不 错 无 没有 いいえ 아니오 아니요 नहीं لا ✗ ✘ ☒ ❌ 👎
"""
_SUPPORTED = """
    supported faithful entailed entailment grounded attributable correct ok pass passed
    fully_supported belegt gestützt soutenu étayé respaldado soportado supportato suportado
    fiel fidèle treu 支持 一致 支持する подтверждено
"""
_NOT_SUPPORTED = """
    unsupported not_supported unfaithful not_faithful hallucinated hallucination contradicted
    contradiction contradictory refuted not_entailed not_enough_info neutral ungrounded
    not_grounded not_attributable incorrect wrong fail failed partial partially partially_supported
    teilweise partiellement parcialmente parzialmente частично 部分支持
    nicht_belegt halluziniert non_soutenu halluciné no_respaldado alucinado non_supportato
    allucinato não_suportado 不支持 幻觉 支持しない не_подтверждено
"""
_UNKNOWN = """
    ? cannot_tell can't_tell unsure unclear unknown idk don't_know unklar weiß_nicht
    ne_sait_pas no_sé non_so não_sei не_знаю 不确定 不清楚 わからない 모름
"""


def _spellings(*texts: tuple[str, bool | None]) -> dict[str, bool | None]:
    return {plain_name(word): value for words, value in texts for word in words.split()}


_ANSWERS = _spellings((_YES, True), (_NO, False))
_NAMES = _spellings((_SUPPORTED, True), (_NOT_SUPPORTED, False), (_UNKNOWN, None))
_NEGATIVE = re.compile(r"hallu|unsupp|unfaith|not.?supp|not.?faith|incorrect|wrong|error|contradi")
"""In the name of a column in which yes may mean "not supported"."""


_JUDGED = {"label", "against", "confidence", "quotes"}
"""Columns of `--claim-rows`."""


class LabelFile(NamedTuple):
    """The labels of a file, and what a reader should know about them."""

    labels: Sequence[HumanLabel]
    notes: Sequence[str]


class LabelDefaults(NamedTuple):
    """What a label has if the file has no column for it, and the `metrics` it may be of."""

    run: str
    metric: str
    annotator: str
    metrics: Collection[str]


def value_of(cell: object, *, yes: bool = True) -> bool | None:
    """Return the value of a label; `yes` is what yes, true and 1 mean.

    Raises:
        ValueError: it is not a known spelling.
    """
    plain = normalize_cell(cell)
    if plain in (0, 1) and not isinstance(plain, str):
        return bool(plain) is yes
    word = plain_name(document_id(plain)) if isinstance(plain, str) else ""
    word = word.strip(".!'\"\u200b\ufeff")
    if word in _ANSWERS:
        return _ANSWERS[word] is yes
    if word in _NAMES:
        return _NAMES[word]
    raise ValueError(f"{quoted(str(plain), 40)!r} is not a label; use yes, no or ? (cannot tell)")


def read_label_file(
    path: Path,
    rows: Sequence[ClaimRow],
    defaults: LabelDefaults,
    *,
    column: str,
    sheet: str | None = None,
    columns: Mapping[str, str] | None = None,
    by_position: bool = False,
    yes_means: bool | None = None,
    blind: bool = False,
) -> LabelFile:
    """Read labels of a run's claims, or of its responses if the file has no claims.

    `column` has the labels; blank cells are skipped. `columns` is a key of COLUMNS -> column.
    Rows are matched by id, or `by_position`: by the column `position`, else by their order. A
    claim is written as its text, or as its number in the reports, from 1; the column `number`
    states which of several claims with the same text.
    """
    file, table = read_table(path, sheet=sheet)
    found = list(table.rows)
    names = table.columns or tuple(
        dict.fromkeys(name for row in found if isinstance(row, Record) for name in row.values)
    )
    there = f"the columns are {listing(names)}" if names else "the file has no rows"
    there += f"; {table.other_sheets}" if table.others else ""
    places = _columns(names, columns or {}, there)
    places["value"] = _existing(column, names, "--column {}", there)
    if places["value"] == "label" and set(names) >= _JUDGED:
        raise UsageError(
            "the column 'label' of this file has the judge's verdicts; add a column of your own, "
            "and name it with --column"
        )
    if yes_means is None and _NEGATIVE.search(places["value"].casefold()):
        raise UsageError(
            f"does yes in the column {places['value']!r} mean that a claim is supported? Add "
            "--yes-means supported or --yes-means unsupported"
        )
    key = "position" if by_position else "id"
    in_order = by_position and key not in places
    if in_order and ("claim" in places or len(found) != len(rows)):
        raise UsageError(
            f"{file.name} has {count(len(found), 'row')} and the run {len(rows):,}, or several "
            "rows for one response, so their order does not match; add a column with positions"
        )
    if not in_order and key not in places:
        raise UsageError(
            f"no id column found; {there}; map one with --map id=COLUMN, or use --by position"
        )

    known = {str(row.index) if by_position else row.sample.id: row for row in rows}
    numbers = Counter(map(_as_number, known))
    numbered = {n: row for name, row in known.items() if numbers[n := _as_number(name)] == 1}
    find = partial(_row_of, known=known, numbered=numbered)
    problems: list[Problem] = []
    labels: dict[object, tuple[HumanLabel, int]] = {}
    blank = same = 0
    for number, record in enumerate(found):
        if not isinstance(record, Record):
            problems += [record] if isinstance(record, Problem) else []
            continue
        cells = _Cells(record, places)
        value = cells.get("value", lambda cell: (value_of(cell, yes=yes_means is not False),), None)
        if value is None and not cells.problems:
            blank += 1
            continue
        row = rows[number] if in_order else cells.get(key, find, None)
        if row is None and not cells.has_problem(key):
            cells.wrong(key, f"the {key} is missing")
        given = value[0] if value else None
        if row and (label := _label(cells, row, given, defaults=defaults, blind=blind)):
            place = label.position, label.metric, label.claim, label.annotator
            first, line = labels.setdefault(place, (label, record.row))
            if first.value != label.value:
                seen = f"{WORDS[label.value]!r}, but {table.unit} {line} has {WORDS[first.value]!r}"
                cells.wrong("value", f"{seen} for the same claim; keep one of them")
            same += first is not label and first.value == label.value
        problems += cells.problems
    if problems:
        placed = [replace(problem, sheet=table.sheet, unit=table.unit) for problem in problems]
        raise InputError(file.name, sorted(placed, key=lambda problem: problem.row or 0))
    notes = [f"{count(blank, 'row')} without a label"] if blank else []
    notes += [f"{count(same, 'row')} repeated with the same label"] if same else []
    return LabelFile([label for label, _ in labels.values()], [*table.notes, *notes])


def _label(
    cells: "_Cells", row: ClaimRow, value: bool | None, *, defaults: LabelDefaults, blind: bool
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
        probability=cells.get("probability", _probability, 1.0),
        blind=cells.get("blind", _is_blind, blind),
    )
    return None if cells.problems else label


class _Cells:
    """Reads the cells of one row by what their columns are, and collects the problems."""

    def __init__(self, record: Record, places: Mapping[str, str]) -> None:
        self._record, self._places = record, places
        self.problems: list[Problem] = []

    def get(self, field: str, reader: Callable[[Plain], T], default: T) -> T:
        cell = self._record.values.get(self._places.get(field, ""))
        try:
            if field == "id":
                refuse_date(cell)
            plain = normalize_cell(cell)
            blank = plain is None or (isinstance(plain, str) and not plain.strip())
            return default if plain is None or blank else reader(plain)
        except ValueError as error:
            self.wrong(field, str(error))
            return default

    def has_problem(self, field: str) -> bool:
        return any(problem.column == self._places[field] for problem in self.problems)

    def wrong(self, field: str, seen: str) -> None:
        name = self._record.values.get(self._places.get("id", ""))
        found = Problem(
            quoted(seen, 500),
            row=self._record.row,
            column=self._places.get(field),
            sample_id=None if name is None or field == "id" else quoted(str(name), 60),
        )
        self.problems.append(found)


def _columns(names: Sequence[str], mapped: Mapping[str, str], there: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for field, column in mapped.items():
        if field not in COLUMNS:
            raise UnknownNameError("field", field, COLUMNS)
        found[field] = _existing(column, names, f"--map {field}={{}}", there)
    for field, others in COLUMNS.items():
        known = {plain_name(name) for name in (field, *others)}
        matches = [name for name in names if plain_name(name) in known]
        if field not in found and len(matches) > 1:
            raise UsageError(str(ambiguous(field, matches, spelling=flag)))
        if matches:
            found.setdefault(field, matches[0])
    return found


def _existing(column: str, names: Sequence[str], option: str, there: str) -> str:
    same = [name for name in names if plain_name(name) == plain_name(column)]
    if column in names or len(same) == 1:
        return column if column in names else same[0]
    near = nearest(column, names)
    offer = f"; did you mean {option.format(near)}?" if near else ""
    raise UsageError(f"{option.format(column)}: there is no such column{offer} ({there})")


def _as_number(name: str) -> str:
    plain = document_id(name)
    return plain.lstrip("0") or "0" if plain.isdecimal() else plain


def _row_of(
    cell: Plain, known: Mapping[str, ClaimRow], numbered: Mapping[str, ClaimRow]
) -> ClaimRow:
    name = sample_id(cell)
    bare = name.removeprefix("'")
    row = known.get(name) or known.get(bare) or numbered.get(_as_number(bare))
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


def _probability(cell: Plain) -> float:
    try:
        number = float(text(cell))
    except ValueError:
        number = 0.0
    if not 0 < number <= 1:
        raise ValueError(f"{text(cell)!r} is not a probability above 0 and up to 1")
    return number
