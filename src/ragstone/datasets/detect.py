"""Records as another tool wrote them to records whose columns are fields of a Sample."""

import re
from array import array
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tomllib import loads
from typing import Any, TypeGuard

from ragstone._internal.documents import ROLES, text_of
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.text import plain_name
from ragstone.datasets import conversations
from ragstone.datasets.columns import ALIASES, FIELD_OF, WEAK_OF, field_of
from ragstone.datasets.responses import ANY, NOTE, error_in, failed_fields, repetitions, results
from ragstone.datasets.table import FIRST, FileRows, Record, Row, Table, mapped, records_in
from ragstone.datasets.traces import traces
from ragstone.datasets.values import decoded, is_number, object_in, spelled, split_joined

ONLY = ".*"  # suffix of a column's name for the only part of an object
RESPONSES = "saved responses"
SPANS = "spans"
PROMPTFOO = "promptfoo results"
IN_PARTS = "inputs and outputs"
COMPLETE = ("rows of ragstone", RESPONSES, SPANS)  # whose columns are all known


@dataclass(frozen=True)
class Shape:
    """The records that one tool writes. Names match without case, blanks and underscores."""

    name: str  # in messages
    needs: tuple[tuple[str, ...], ...]  # the names that its records have: one of each group
    # Sample field -> its possible columns; the first one with a value is used
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    opened: tuple[str, ...] = ()  # objects whose parts become columns, such as `inputs.question`
    # the columns with the ids, and with the scores, of the texts in `contexts`
    paired: Mapping[str, str] = field(default_factory=dict[str, str])
    joined: tuple[str, ...] = ()  # fields in which one text may contain several, separated by `|`
    chat: bool = False  # a query or a response may be in a list of messages
    left_out: tuple[str, ...] = ()  # columns that are not part of the sample
    # column that shows a failed call -> its value for failure in lower case, or ANY
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    cause: str = "error"  # the column with the reason of a failed call
    within: tuple[str, ...] = ()  # columns with a row's parent; rows with one are not samples

    def fits(self, names: AbstractSet[str]) -> bool:
        return all(not names.isdisjoint(map(plain_name, group)) for group in self.needs)


_SHAPES = loads(Path(__file__).with_name("shapes.toml").read_text(encoding="utf-8"))
_OBJECTS, _PARTS = _SHAPES.pop("objects"), _SHAPES.pop("parts")
_OPENED = tuple(chain.from_iterable(_OBJECTS.values()))
_OPENED_PLAIN = frozenset(map(plain_name, _OPENED))
_ANSWERED = re.compile("answer|response|output|reference|text")  # names of an expected answer


def _expanded(column: str) -> list[str]:
    objects, of_all, part = column.partition("/")
    if of_all and part == "*":
        return [name for each in _OBJECTS[objects] for name in (each, f"{each}{ONLY}")]
    if of_all:
        return [name for each in _OBJECTS[objects] for name in _expanded(f"{each}.{part}")]
    before, marked, of = column.partition("@")
    return [f"{before}{name}" for name in (of, *ALIASES[of])] if marked else [column]


def _shape(name: str, needs: Sequence[Sequence[str]], parts: bool = False, **about: Any) -> Shape:
    columns = (_PARTS if parts else {}) | about.pop("columns", {})
    known: dict[str, Any] = {"opened": _OPENED, "chat": True} if parts else {}
    known |= {key: tuple(it) if is_list(it) else it for key, it in about.items()}
    known["columns"] = {
        of: tuple(dict.fromkeys(chain.from_iterable(map(_expanded, names))))
        for of, names in columns.items()
    }
    return Shape(name, tuple(map(tuple, needs)), **known)


SHAPES = tuple(_shape(name, **about) for name, about in _SHAPES.items())


@dataclass(frozen=True)
class ShapedRecords:
    table: Table
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    shape: Shape | None = None


def shape_records(table: Table, limit: int | None, *, named: Iterable[str] = ()) -> ShapedRecords:
    """Detect the format of the first rows, and map its columns, except `named` ones, to fields."""
    rows, some = table.rows, table.rows
    if not isinstance(rows, FileRows) or rows.is_small:
        some = rows[:limit]
    names = _names_of(table, some)
    named = tuple(named)
    shape = _shape_of(names, some)
    outer = not {*names}.isdisjoint(named)
    if shape is None and not outer and (inner := _unnested(some)) is not None:
        path, rows = inner
        note = f"one row for each of {path}"
        table = Table(rows, unit=table.unit, notes=(*table.notes, note), beside=table.beside)
        some = rows[:limit]
        names = _names_of(table, some)
        shape = _shape_of(names, some)
    if shape is not None and shape.name in (SPANS, PROMPTFOO):
        rows = rows.unlimited().in_memory() if isinstance(rows, FileRows) else rows
        records = list(records_in(rows))
        made, notes = traces(records) if shape.name == SPANS else (results(records), (NOTE,))
        notes = (*table.notes, f"read as {shape.name}", *notes)
        made = [*(row for row in rows if not isinstance(row, Record)), *made][:limit]
        return ShapedRecords(Table(made, unit=table.unit, notes=notes), shape=shape)
    plain = set(map(plain_name, names))
    parts = tuple(name for name in named if plain_name(name) not in plain)
    if parts:
        some = mapped(some, partial(conversations.open_parts, named=parts))
        parts = tuple(n for n in parts if any(n in row.values for row in records_in(some)))
    columns = table.columns and (*table.columns, *parts)
    if shape is None:
        names = None if parts else tuple(names)
        return ShapedRecords(replace(table, rows=some, columns=columns, names=names))
    if isinstance(some, FileRows) and shape.name == RESPONSES:
        some = some.in_memory()
    return _with_shape(replace(table, columns=columns), some, shape, named=named)


def _names_of(table: Table, rows: Sequence[Row]) -> Collection[str]:
    records = chain.from_iterable(each.values for each in records_in(rows))
    return table.names or dict.fromkeys(records)


def _shape_of(names: Iterable[str], rows: Sequence[Row]) -> Shape | None:
    """A name with a point at its end is that of an object with parts, such as `inputs.`."""
    named = {name: plain_name(name) for name in names}
    plain = {*named.values()}
    asked = any(FIELD_OF.get(name) == "query" and name not in WEAK_OF for name in plain)
    plain |= {f"{name.partition('.')[0]}." for name in plain if "." in name}
    opened = {name: f"{short}." for name, short in named.items() if short in _OPENED_PLAIN}
    for record in islice(records_in(rows) if opened else (), FIRST):
        values = {short: record.values.get(name) for name, short in opened.items()}
        plain |= {
            short
            for short, value in values.items()
            if object_in(value) is not None
            if conversations.messages_in(value) is None or len(opened) > 1
        }
    known = (shape for shape in SHAPES if not (asked and shape.name == IN_PARTS))
    return next((shape for shape in known if shape.fits(plain)), None)


def _unnested(rows: Sequence[Row], path: str = "") -> tuple[str, list[Row]] | None:
    """Make a row of each record in the only list of records that each row has, such as SQuAD's."""
    records = list(islice(records_in(rows), FIRST))
    lists = dict.fromkeys(
        name
        for record in records
        for name, value in record.values.items()
        if is_list(value) and value and all(map(is_object, value))
        if conversations.messages_in(value) is None and field_of(name) is None
    )
    fields = {field_of(name) for record in records for name in record.values}
    is_large = isinstance(rows, FileRows) and not rows.is_small
    if "query" in fields:
        return (path, list(rows)) if path else None
    if len(lists) != 1 or is_large:
        return None
    name = next(iter(lists))
    inner: list[Row] = []
    for row in rows:
        if not isinstance(row, Record):
            inner.append(row)
            continue
        rest = {other: value for other, value in row.values.items() if other != name}
        found = row.values.get(name)
        parts = [part for part in found if is_object(part)] if is_list(found) else []
        inner += [Record(row.row, {**rest, **part}) for part in parts]
    return _unnested(inner, f"{path}.{name}" if path else name)


def _with_shape(
    table: Table, rows: Sequence[Row], shape: Shape, *, named: Iterable[str]
) -> ShapedRecords:
    # Rows that belong to another row, such as nested runs, are not samples.
    within = set(map(plain_name, shape.within))
    outer, there = array("q"), dict[str, str]()
    filled, joined, texts = set[str](), set[str](), set[str]()
    removed = dict[str, None]()
    for place, row in enumerate(rows):
        if isinstance(row, Record):
            if within & _filled(row.values).keys():
                continue
            opened = _open_objects(row, shape)
            there |= {plain_name(name): name for name in opened}
            filled.update(_filled(opened))
            worded = (n for n, v in opened.items() if not is_number(text_of(v) or "0"))
            texts.update(map(plain_name, worded))
            removed |= dict.fromkeys(opened)
            if shape.joined:
                joined.update(name for name, value in opened.items() if _is_joined(value))
        outer.append(place)

    # Of the possible columns of a field, the first one with a value is used.
    sure = {FIELD_OF[name] for name in there if name in FIELD_OF and name not in WEAK_OF}
    known = _columns_there(shape, there, texts)
    candidates = {of: c for of, c in known.items() if shape.name != IN_PARTS or of not in sure}
    picked = {
        target: there[next((name for name in known if name in filled), known[0])]
        for target, known in candidates.items()
    }
    renamed = None
    if shape.name == RESPONSES and table.beside.get("mode") == "search":
        renamed = picked.get("contexts")  # no answer was generated from them: they are a ranking
    by_user = frozenset(map(plain_name, named))
    as_sample = partial(
        _as_sample,
        shape=shape,
        candidates=candidates,
        picked=picked,
        named=by_user,
        ranking=renamed,
    )

    nested = len(rows) - len(outer)
    kept = rows
    if nested and isinstance(rows, FileRows):
        kept = rows.chosen(outer[: len(outer) - (rows.tail is not None)])
    elif nested:
        kept = [rows[place] for place in outer]
    made = mapped(kept, as_sample)
    left = dict.fromkeys(chain.from_iterable(row.values for row in records_in(made)))

    notes = [f"read as {shape.name}"]
    if shape.name == RESPONSES:
        notes += repetitions(rows)
    else:
        notes = [*table.notes, *notes]
        if split := [picked[of] for of in shape.joined if of in picked and picked[of] in joined]:
            notes.append(f"split at |: {', '.join(split)}")
        if nested:
            notes.append(f"nested rows, ignored: {nested}")
    columns = table.columns and tuple(
        name for name in table.columns if name in left or name not in removed
    )
    columns = None if shape.opened else columns
    table = replace(table, rows=made, columns=columns, names=tuple(left), notes=tuple(notes))
    used = {name: column for name, column in picked.items() if column in left}
    return ShapedRecords(table, used, shape)


def _as_sample(
    record: Record,
    *,
    shape: Shape,
    candidates: Mapping[str, list[str]],
    picked: Mapping[str, str],
    named: Collection[str],
    ranking: str | None,
) -> Record:
    values = _open_objects(record, shape)
    own = _filled(values)

    # A field is moved to its column if this record has it in another one.
    taken = {*named, *map(plain_name, picked.values())}
    for target, known in candidates.items():
        name = plain_name(picked[target])
        if name in named or values.get(picked[target]) is not None:
            continue
        usable = (own[o] for o in known if o in own and (o == name or o not in taken))
        if (best := next(usable, None)) is not None:
            values[picked[target]] = values.pop(best)

    out = {*shape.left_out, *(name for name, sign in shape.errors.items() if sign == ANY)}
    out = {*map(plain_name, out)} - {*map(plain_name, picked.values())}
    values = {name: v for name, v in values.items() if plain_name(name) not in out}
    if shape.paired and "contexts" in picked:
        values = conversations.pair_texts(values, picked["contexts"], parts=shape.paired)
    for joined in shape.joined:
        text = values.get(column := picked.get(joined, ""))
        if _is_joined(text):
            values[column] = split_joined(text)
    for role in ROLES.keys() & picked.keys() if shape.chat else ():
        given = values.get(column := picked[role])
        if role == "query" and (before := conversations.history_before(given)):
            values["history"] = before
        if column in values:
            values[column] = conversations.one_turn(given, role)
    if ranking:
        values = {"ranking" if n == ranking else n: v for n, v in values.items()}
    error = error_in(record, shape.errors, shape.cause)
    return Record(record.row, values, failed_fields(error))


def _filled(values: Mapping[str, object]) -> dict[str, str]:
    return {plain_name(name): name for name, value in values.items() if value is not None}


def _open_objects(record: Record, shape: Shape) -> dict[str, object]:
    names = set(map(plain_name, shape.opened))
    values: dict[str, object] = {}
    for name, value in record.values.items():
        parts = object_in(value) if plain_name(name) in names else None
        if parts is None:
            values[name] = decoded(value) if plain_name(name) in names else value
            continue
        is_chat = shape.chat and conversations.messages_in(parts) is not None
        values |= {name: value} if is_chat else {}
        if not is_chat or "messages" in parts:  # beside which there may be contexts
            opened = ((part, inner) for part, inner in parts.items() if part != "messages")
            values |= {f"{name}.{part}": inner for part, inner in opened}
    return values


def _columns_there(
    shape: Shape, there: Iterable[str], texts: Collection[str]
) -> dict[str, list[str]]:
    """Return field -> the plain names of its possible columns, if any of them is there."""
    candidates: dict[str, list[str]] = {}
    for target, columns in shape.columns.items():
        known: list[str] = []
        for column in map(plain_name, columns):
            if column.endswith(ONLY):  # `inputs.*` is the only part of `inputs`
                start = column.removesuffix("*")  # `inputs.`
                parts = [name for name in there if name.startswith(start)]
                only = parts[0].removeprefix(start) if len(parts) == 1 else "."
                of = FIELD_OF.get(only, target if target != "reference" else "")
                is_answer = target == "reference" and _ANSWERED.search(only)
                if "." not in only and (is_answer or (of == target and parts[0] in texts)):
                    known += parts
            elif column in there:
                known.append(column)
        if known:
            candidates[target] = known
    return candidates


def _is_joined(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and "|" in value and spelled(value) is None
