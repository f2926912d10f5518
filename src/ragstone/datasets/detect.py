"""Records as another tool wrote them to records whose columns are fields of a Sample."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import TypeGuard

from ragstone.datasets import conversations
from ragstone.datasets.columns import ALIASES, plain_name
from ragstone.datasets.responses import ANY, NOTE, error_in, failed_fields, repetitions, results
from ragstone.datasets.table import FileRows, Record, Row, Table, mapped, records_in
from ragstone.datasets.traces import traces
from ragstone.datasets.values import object_in, spelled

ONLY = ".*"  # suffix of a column's name for the only part of an object
RESPONSES = "saved responses"
SPANS = "spans"
PROMPTFOO = "promptfoo results"


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

    def missing(self, names: Iterable[str]) -> list[str]:
        plain = set(map(plain_name, names))
        return [
            " or ".join(group) for group in self.needs if not plain & set(map(plain_name, group))
        ]


def _or_ours(name: str, of: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((name, of, *ALIASES[of])))


def _within(part: str, *fields: str) -> tuple[str, ...]:
    return tuple(f"{part}.{name}" for of in fields for name in (of, *ALIASES[of]))


def _whole_or_within(part: str, *fields: str) -> tuple[str, ...]:
    return (part, *_within(part, *fields), f"{part}{ONLY}")


SHAPES = (  # all known shapes; the first one whose needed names a file has is used
    Shape(
        "rows of ragstone",  # of `--rows`; a row has an error if the RAG system did not answer
        needs=(("query",), ("scores",), ("blame",), ("usage",)),
        left_out=("scores", "blame", "usage", "latency_ms", "notes"),
        errors={"error": ANY},
    ),
    Shape(
        RESPONSES,
        needs=(("query_index",), ("query",), ("retrieved_contexts",)),
        columns={
            "contexts": ("retrieved_contexts",),
            "reference": ("ground_truth_answer",),
            "relevance": ("ground_truth_ids",),
        },
        paired={"id": "retrieved_ids", "score": "retrieved_scores"},
        left_out=("query_index",),
        errors={"error": ANY},
    ),
    Shape(
        "ragas samples",
        needs=(
            ("user_input",),
            ("retrieved_contexts", "retrieved_context_ids", "response", "reference"),
        ),
        columns={
            "query": _or_ours("user_input", "query"),
            "contexts": _or_ours("retrieved_contexts", "contexts"),
            "ranking": ("retrieved_context_ids",),
            "relevance": ("reference_context_ids",),
        },
        paired={"id": "retrieved_context_ids"},
    ),
    Shape(
        "deepeval goldens or test cases",
        needs=(("input",), ("retrieval_context",)),
        columns={
            "query": _or_ours("input", "query"),
            "response": _or_ours("actual_output", "response"),
            "contexts": ("retrieval_context",),
            "reference": _or_ours("expected_output", "reference"),
            "tags": ("metadata", "additional_metadata"),
        },
        joined=("contexts",),
        left_out=("flaky", "multimodal", "voice"),
    ),
    Shape(
        "RagaliQ test cases",
        needs=(("id",), ("name",), ("query",), ("context",), ("response",)),
        columns={
            "contexts": ("context",),
            "reference": ("expected_answer",),
            "reference_claims": ("expected_facts",),
        },
        joined=("contexts", "reference_claims"),
    ),
    Shape(
        "RAGChecker results",
        needs=(("query",), ("gt_answer", "retrieved_context")),
        columns={
            "contexts": _or_ours("retrieved_context", "contexts"),
            "reference": _or_ours("gt_answer", "reference"),
        },
    ),
    Shape(PROMPTFOO, needs=(("vars",), ("response", "gradingResult"), ("provider", "promptId"))),
    Shape(
        "LangSmith runs",
        needs=(("inputs",), ("outputs",), ("run_type",)),
        columns={
            "id": ("id", "run_id"),
            "query": _whole_or_within("inputs", "query"),
            "response": _whole_or_within("outputs", "response"),
            "contexts": (*_within("outputs", "contexts"), "outputs.documents", "inputs.context"),
        },
        opened=("inputs", "outputs"),
        chat=True,
        errors={"error": ANY, "status": "error"},
        within=("parent_run_id",),
    ),
    Shape(
        "LangSmith examples",
        needs=(("inputs",), ("outputs",)),
        columns={
            "query": _whole_or_within("inputs", "query"),
            "reference": _whole_or_within("outputs", "reference", "response"),
            "contexts": _within("inputs", "contexts"),
        },
        opened=("inputs", "outputs"),
        chat=True,
    ),
    Shape(
        "Langfuse dataset items or observations",
        needs=(
            ("input",),
            ("expectedOutput", "output"),
            ("datasetId", "datasetName", "sourceTraceId", "traceId", "projectId", "htmlPath"),
        ),
        columns={
            "query": _whole_or_within("input", "query"),
            "response": _whole_or_within("output", "response"),
            "reference": _whole_or_within("expectedOutput", "reference", "response"),
            "contexts": (*_within("input", "contexts"), *_within("output", "contexts")),
            "tags": ("metadata",),
        },
        opened=("input", "output", "expectedOutput"),
        chat=True,
        errors={"level": "error"},
        cause="statusMessage",
        within=("parentObservationId",),
    ),
    Shape(
        SPANS,
        needs=(
            ("resourceSpans", "scopeSpans", "context.trace_id", "parent_id"),
            ("resourceSpans", "scopeSpans", "attributes", "attributes.input.value", "span_kind"),
        ),
    ),
)


def describe_nearest(names: Iterable[str]) -> str:
    names = tuple(names)
    if {"vars", "assert"} <= set(names):
        return (
            "evaluate a promptfoo configuration with `ragstone run FILE`, or use the results that "
            "`promptfoo eval -o results.json` writes"
        )
    compared = [(shape, shape.missing(names)) for shape in SHAPES]
    near = [(shape, missing) for shape, missing in compared if len(missing) < len(shape.needs)]
    near.sort(key=lambda pair: len(pair[1]) / len(pair[0].needs))
    needs = "; ".join(f"{shape.name} also need {' and '.join(missing)}" for shape, missing in near)
    rest = ", ".join(shape.name for shape, missing in compared if len(missing) == len(shape.needs))
    if not needs:
        return f"compared with: {rest}"
    also = f"; also compared: {rest}" if rest else ""
    return f"of the other known formats, {needs}{also}"


@dataclass(frozen=True)
class ShapedRecords:
    table: Table
    columns: Mapping[str, str] = field(default_factory=dict[str, str])
    shape: Shape | None = None
    near: str = ""  # a hint if no query column is found


def shape_records(table: Table, limit: int | None, *, named: Iterable[str] = ()) -> ShapedRecords:
    """Detect the format of the first rows, and map its columns, except `named` ones, to fields."""
    rows, some = table.rows, table.rows
    if not isinstance(rows, FileRows) or rows.is_small:
        some = rows[:limit]
    names = table.names or dict.fromkeys(
        chain.from_iterable(each.values for each in records_in(some))
    )
    shape = next((shape for shape in SHAPES if not shape.missing(names)), None)
    named = tuple(named)
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
        table = replace(table, rows=some, columns=columns, names=None if parts else tuple(names))
        near = describe_nearest(names) if names and table.sheet is None else ""
        return ShapedRecords(table, near=near)
    if isinstance(some, FileRows) and shape.name == RESPONSES:
        some = some.in_memory()
    return _with_shape(replace(table, columns=columns), some, shape, named=named)


def _with_shape(
    table: Table, rows: Sequence[Row], shape: Shape, *, named: Iterable[str]
) -> ShapedRecords:
    # Rows that belong to another row, such as nested runs, are not samples.
    within = set(map(plain_name, shape.within))
    outer, there = array("q"), dict[str, str]()
    filled, joined = set[str](), set[str]()
    removed = dict[str, None]()
    for place, row in enumerate(rows):
        if isinstance(row, Record):
            if within & _filled(row.values).keys():
                continue
            opened = _open_objects(row, shape)
            there |= {plain_name(name): name for name in opened}
            filled.update(_filled(opened))
            removed |= dict.fromkeys(opened)
            if shape.joined:
                joined.update(name for name, value in opened.items() if _is_joined(value))
        outer.append(place)

    # Of the possible columns of a field, the first one with a value is used.
    candidates = _columns_there(shape, there)
    picked = {
        target: there[next((name for name in known if name in filled), known[0])]
        for target, known in candidates.items()
    }
    renamed = None
    if shape.name == RESPONSES and table.beside.get("mode") == "search":
        renamed = picked.get("contexts")  # no answer was generated from them: they are a ranking
    by_user = frozenset(map(plain_name, named))
    as_sample = _AsSample(shape, candidates, picked, by_user, renamed)

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


@dataclass(frozen=True)
class _AsSample:
    """Maps the columns of a record to fields of a sample; a copy can be sent to other processes."""

    shape: Shape
    candidates: Mapping[str, list[str]]
    picked: Mapping[str, str]
    named: frozenset[str]
    ranking: str | None

    def __call__(self, record: Record) -> Record:
        shape, picked = self.shape, self.picked
        values = _open_objects(record, shape)
        own = _filled(values)

        # A field is moved to its column if this record has it in another one.
        taken = {*self.named, *map(plain_name, picked.values())}
        for target, known in self.candidates.items():
            name = plain_name(picked[target])
            if name in self.named or values.get(picked[target]) is not None:
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
                values[column] = [piece for part in text.split("|") if (piece := part.strip())]
        for role in conversations.ROLES.keys() & picked.keys() if shape.chat else ():
            given = values.get(column := picked[role])
            if role == "query" and (before := conversations.history_before(given)):
                values["history"] = before
            if column in values:
                values[column] = conversations.one_turn(given, role)
        if self.ranking:
            values = {"ranking" if n == self.ranking else n: v for n, v in values.items()}
        error = error_in(record, shape.errors, shape.cause)
        return Record(record.row, values, failed_fields(error))


def _filled(values: Mapping[str, object]) -> dict[str, str]:
    return {plain_name(name): name for name, value in values.items() if value is not None}


def _open_objects(record: Record, shape: Shape) -> dict[str, object]:
    names = set(map(plain_name, shape.opened))
    values: dict[str, object] = {}
    for name, value in record.values.items():
        parts = object_in(value) if plain_name(name) in names else None
        if parts is None or (shape.chat and conversations.messages_in(parts) is not None):
            values[name] = value
        else:
            values |= {f"{name}.{part}": inner for part, inner in parts.items()}
    return values


def _columns_there(shape: Shape, there: Iterable[str]) -> dict[str, list[str]]:
    """Return field -> the plain names of its possible columns, if any of them is there."""
    candidates: dict[str, list[str]] = {}
    for target, columns in shape.columns.items():
        known: list[str] = []
        for column in map(plain_name, columns):
            if column.endswith(ONLY):  # `inputs.*` is the only part of `inputs`
                parts = [name for name in there if name.startswith(column.removesuffix("*"))]
                known += parts if len(parts) == 1 else []
            elif column in there:
                known.append(column)
        if known:
            candidates[target] = known
    return candidates


def _is_joined(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and "|" in value and spelled(value) is None
