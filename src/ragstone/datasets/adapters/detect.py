"""Shaping: records as another tool wrote them -> records whose columns are fields of a Sample."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice

from ragstone.datasets.adapters.conversations import (
    ROLES,
    messages_in,
    one_turn,
    paired,
    with_parts,
)
from ragstone.datasets.adapters.promptfoo import NOTE, results
from ragstone.datasets.adapters.responses import ANY, error_in, whole
from ragstone.datasets.adapters.traces import traces
from ragstone.datasets.columns import ALIASES, plain_name
from ragstone.datasets.table import Record, Table
from ragstone.datasets.values import object_in, spelled
from ragstone.errors import Problem
from ragstone.types.sample import Sample

# Shape: how another tool's records are recognised, and which of their parts is which field.

ONLY = ".*"
"""Ends a column's name that stands for the only part of an object."""
RESPONSES = "saved responses"
SPANS = "spans"
PROMPTFOO = "promptfoo results"


@dataclass(frozen=True)
class Shape:
    """What one tool writes, as data. Names match without case, blanks and underscores.

    Attributes:
        name: what messages call it.
        needs: what its records have: of each group, one name.
        columns: field of a Sample -> the columns that may be it; the first that holds something.
        opened: objects whose parts are columns of their own: `inputs` gives `inputs.question`.
        paired: columns with the ids, and with the scores, of the texts in `contexts`.
        joined: fields of which one text may hold several, with a `|` between.
        chat: whether a question or an answer may stand in a list of messages.
        left_out: columns that say nothing of the sample.
        errors: column that says whether a call failed -> the value by which it does, or ANY.
        causes: columns that say why a call failed.
        within: columns that name what a row is a part of; such rows are no samples.
    """

    name: str
    needs: tuple[tuple[str, ...], ...]
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    opened: tuple[str, ...] = ()
    paired: Mapping[str, str] = field(default_factory=dict[str, str])
    joined: tuple[str, ...] = ()
    chat: bool = False
    left_out: tuple[str, ...] = ()
    errors: Mapping[str, str] = field(default_factory=dict[str, str])
    causes: tuple[str, ...] = ()
    within: tuple[str, ...] = ()

    def lacks(self, names: frozenset[str]) -> list[str]:
        """Return what these names, made plain, lack to be of this shape."""
        return [
            " or ".join(group) for group in self.needs if not names & set(map(plain_name, group))
        ]


def _or_ours(name: str, of: str) -> tuple[str, ...]:
    """Return a tool's name of a field, and then all that we read: rows may be of two makers."""
    return tuple(dict.fromkeys((name, of, *ALIASES[of])))


def _under(part: str, of: str) -> tuple[str, ...]:
    """Return all names of a field as columns under a part: `inputs.query`, `inputs.question`..."""
    return tuple(f"{part}.{name}" for name in (of, *ALIASES[of]))


SHAPES = (
    Shape(
        RESPONSES,
        needs=(("query_index",), ("query",), ("retrieved_contexts",)),
        columns={
            "contexts": ("retrieved_contexts",),
            "reference": ("ground_truth_answer",),
            "relevance": ("ground_truth_ids",),
        },
        paired={"id": "retrieved_ids", "score": "retrieved_scores"},
        left_out=("query_index", "failures"),
        errors={"error": ANY},
        causes=("error",),
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
        },
        joined=("contexts",),
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
    Shape(
        PROMPTFOO,
        needs=(("vars",), ("response", "gradingResult"), ("provider", "promptId")),
    ),
    Shape(
        "LangSmith runs",
        needs=(("inputs",), ("outputs",), ("run_type",)),
        columns={
            "id": ("id", "run_id"),
            "query": ("inputs", *_under("inputs", "query"), f"inputs{ONLY}"),
            "response": ("outputs", *_under("outputs", "response"), f"outputs{ONLY}"),
            "contexts": (*_under("outputs", "contexts"), "outputs.documents", "inputs.context"),
        },
        opened=("inputs", "outputs"),
        chat=True,
        errors={"error": ANY, "status": "error"},
        causes=("error",),
        within=("parent_run_id",),
    ),
    Shape(
        "LangSmith examples",
        needs=(("inputs",), ("outputs",)),
        columns={
            "query": ("inputs", *_under("inputs", "query"), f"inputs{ONLY}"),
            "reference": (
                "outputs",
                *_under("outputs", "reference"),
                *_under("outputs", "response"),
                f"outputs{ONLY}",
            ),
            "contexts": _under("inputs", "contexts"),
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
            "query": ("input", *_under("input", "query"), f"input{ONLY}"),
            "response": ("output", *_under("output", "response"), f"output{ONLY}"),
            "reference": (
                "expectedOutput",
                *_under("expectedOutput", "reference"),
                *_under("expectedOutput", "response"),
                f"expectedOutput{ONLY}",
            ),
            "contexts": (*_under("input", "contexts"), *_under("output", "contexts")),
            "tags": ("metadata",),
        },
        opened=("input", "output", "expectedOutput"),
        chat=True,
        errors={"level": "ERROR"},
        causes=("statusMessage",),
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
"""The first that a file's records have all of is what the file is taken for."""


def recognised(names: Iterable[str]) -> Shape | None:
    """Return the shape of records that have these names, all of them together."""
    plain = frozenset(map(plain_name, names))
    return next((shape for shape in SHAPES if not shape.lacks(plain)), None)


def compared(names: Iterable[str]) -> str:
    """Say with which shapes these names were compared, and what the nearest of them lack."""
    plain = frozenset(map(plain_name, names))
    lacking = [(shape, shape.lacks(plain)) for shape in SHAPES]
    near = [(shape, gone) for shape, gone in lacking if len(gone) < len(shape.needs)]
    near.sort(key=lambda pair: len(pair[1]) / len(pair[0].needs))
    told = [f"{shape.name} also need {' and '.join(gone)}" for shape, gone in near]
    rest = ", ".join(shape.name for shape, gone in lacking if len(gone) == len(shape.needs))
    also = f"; also compared: {rest}" if rest else ""
    return (
        f"of the other known formats, {'; '.join(told)}{also}" if told else f"compared with: {rest}"
    )


Row = Record | Sample | Problem


@dataclass(frozen=True)
class ShapedRecords:
    """A table that was looked at as another tool's.

    Attributes:
        table: its rows, as many as were asked for.
        columns: field of a Sample -> its column, as far as the shape says.
        shape: what it was taken for; None if for nothing but rows of ours.
        near: what to say of other tools where no query column found.
        given: the rows as they came.
        errors: for each of these, field -> what went wrong with the call that was to give it.
    """

    table: Table
    columns: Mapping[str, str]
    shape: Shape | None
    near: str
    given: Sequence[Row]
    errors: Sequence[Mapping[str, str]] = ()


def shaped(table: Table, limit: int | None, *, named: Iterable[str] = ()) -> ShapedRecords:
    """Recognise the shape of a table's first `limit` rows, and give the columns their places.

    `named` are the columns that the user gave a place.
    """
    rows = iter(table.records)
    found = list(islice(rows, limit))
    names = list(dict.fromkeys(chain.from_iterable(r.values for r in _records(found))))
    shape = recognised(names)
    if shape is None or shape.name not in (SPANS, PROMPTFOO):
        named = tuple(named)
        found, parts = with_parts(found, named)
        table = replace(table, columns=table.columns and (*table.columns, *parts))
    if shape is None:
        near = compared(names) if names and table.sheet is None else ""
        return ShapedRecords(replace(table, records=found), {}, None, near, found)
    if shape.name == SPANS:
        made, notes = traces([*found, *rows])
        notes = (*table.notes, f"read as {shape.name}", *notes)
        return ShapedRecords(Table(made[:limit], notes=notes), {}, shape, "", made, _errors(made))
    if shape.name == PROMPTFOO:
        made = results([*found, *rows])[:limit]
        notes = (*table.notes, f"read as {shape.name}", NOTE)
        return ShapedRecords(Table(made, notes=notes), {}, shape, "", made, _errors(made))
    said = frozenset(map(plain_name, named))
    return _shaped(replace(table, records=found), shape, found, named=said)


def _shaped(
    table: Table, shape: Shape, found: Sequence[Row], *, named: Collection[str]
) -> ShapedRecords:
    outer = [row for row in found if not (isinstance(row, Record) and _is_within(row, shape))]
    opened = [_opened(row, shape) if isinstance(row, Record) else row for row in outer]
    candidates = _candidates(shape, list(_records(opened)))
    picked = _picked(candidates, list(_records(opened)))
    done: list[Row] = []
    for row in opened:
        if isinstance(row, Record):
            moved = _moved(row, candidates, picked, named=named)
            done.append(_fitted(moved, shape, picked))
        else:
            done.append(row)
    if shape.name == RESPONSES and table.beside.get("mode") == "search":
        done = [_ranked(row, picked) if isinstance(row, Record) else row for row in done]
    there = set(chain.from_iterable(record.values for record in _records(done)))
    notes = _notes(table, shape, opened, picked, within=len(found) - len(outer))
    gone = set(chain.from_iterable(record.values for record in _records(opened))) - there
    kept = table.columns and tuple(name for name in table.columns if name not in gone)
    columns = None if shape.opened else kept
    return ShapedRecords(
        replace(table, records=done, columns=columns, notes=notes),
        {field: column for field, column in picked.items() if column in there},
        shape,
        "",
        outer,
        [whole(error_in(r, shape.errors, shape.causes)) for r in _records(outer)]
        if shape.errors
        else (),
    )


def _errors(made: Iterable[Row]) -> list[Mapping[str, str]]:
    return [record.errors for record in _records(made)]


def _ranked(record: Record, picked: Mapping[str, str]) -> Record:
    """Return a row of a search with what it found as a ranking: no answer was made from it."""
    names = {picked.get("contexts"): "ranking"}
    return Record(record.row, {names.get(n, n): v for n, v in record.values.items()})


def _is_within(record: Record, shape: Shape) -> bool:
    names = set(map(plain_name, shape.within))
    return any(plain_name(n) in names and v is not None for n, v in record.values.items())


def _records(rows: Iterable[Row]) -> Iterable[Record]:
    return (row for row in rows if isinstance(row, Record))


def _opened(record: Record, shape: Shape) -> Record:
    """Return a record in which the parts of its objects are columns: `inputs.question`."""
    names = set(map(plain_name, shape.opened))
    values: dict[str, object] = {}
    for name, value in record.values.items():
        parts = object_in(value) if plain_name(name) in names else None
        if parts is None or (shape.chat and messages_in(parts) is not None):
            values[name] = value
        else:
            values |= {f"{name}.{part}": inner for part, inner in parts.items()}
    return Record(record.row, values)


def _candidates(shape: Shape, records: Sequence[Record]) -> dict[str, list[str]]:
    """Return field -> the columns that may be it, by their plain names, in their order."""
    there = dict.fromkeys(plain_name(name) for record in records for name in record.values)
    found = {
        field: [name for column in columns if (name := _present(column, there)) is not None]
        for field, columns in shape.columns.items()
    }
    return {field: known for field, known in found.items() if known}


def _picked(candidates: Mapping[str, list[str]], records: Sequence[Record]) -> dict[str, str]:
    """Return field -> the column that it is: the first that holds something, else the first."""
    there = {plain_name(name): name for record in records for name in record.values}
    holding = set(chain.from_iterable(map(_holding, records)))
    return {
        field: there[next((name for name in known if name in holding), known[0])]
        for field, known in candidates.items()
    }


def _holding(record: Record) -> dict[str, str]:
    """Return the names of what a record has a value for, by their plain names."""
    return {plain_name(name): name for name, v in record.values.items() if v is not None}


def _moved(
    record: Record,
    candidates: Mapping[str, list[str]],
    picked: Mapping[str, str],
    *,
    named: Collection[str],
) -> Record:
    """Return a record with each field in its column, where this record has it in another one.

    `named` are the columns that the user said, by their plain names: they stay as they are.
    """
    values, own = dict(record.values), _holding(record)
    taken = {*named, *map(plain_name, picked.values())}
    for target, known in candidates.items():
        name = plain_name(picked[target])
        if name in named or values.get(picked[target]) is not None:
            continue
        free = (own[other] for other in known if other in own)
        best = next((o for o in free if plain_name(o) == name or plain_name(o) not in taken), None)
        if best is not None:
            values[picked[target]] = values.pop(best)
    return Record(record.row, values)


def _present(column: str, there: Collection[str]) -> str | None:
    """Return the plain name of a column that is there; `inputs.*` is the only part of `inputs`."""
    if not column.endswith(ONLY):
        return plain_name(column) if plain_name(column) in there else None
    parts = [name for name in there if name.startswith(plain_name(column.removesuffix("*")))]
    return parts[0] if len(parts) == 1 else None


def _fitted(record: Record, shape: Shape, picked: Mapping[str, str]) -> Record:
    """Return a record with texts, ids and scores joined, and each field one turn and one value."""
    out = {*shape.left_out, *(name for name, sign in shape.errors.items() if sign == ANY)}
    out = set(map(plain_name, out)) - set(map(plain_name, picked.values()))
    values = {name: v for name, v in record.values.items() if plain_name(name) not in out}
    if shape.paired and "contexts" in picked:
        values = paired(values, picked["contexts"], parts=shape.paired)
    for joined in shape.joined:
        column = picked.get(joined, "")
        if (text := _joined(values.get(column))) is not None:
            values[column] = [piece for part in text.split("|") if (piece := part.strip())]
    if shape.chat:
        for role in ROLES.keys() & picked.keys():
            if picked[role] in values:
                values[picked[role]] = one_turn(values[picked[role]], role)
    return Record(record.row, values)


def _joined(value: object) -> str | None:
    """Return a text that holds several; None if the value is none."""
    if isinstance(value, str) and "|" in value and spelled(value) is None:
        return value
    return None


def _is_joined(rows: Iterable[Row], column: str) -> bool:
    return any(_joined(record.values.get(column)) is not None for record in _records(rows))


def _notes(
    table: Table, shape: Shape, rows: Sequence[Row], picked: Mapping[str, str], *, within: int
) -> tuple[str, ...]:
    """Return what a reader should know, and what was left out, that no sample can hold."""
    notes: tuple[str, ...] = (f"read as {shape.name}",)
    if shape.name == RESPONSES:
        return notes  # which say of themselves nothing but how they were collected
    there = {plain_name(name): name for record in _records(rows) for name in record.values}
    gone = [there[name] for name in map(plain_name, shape.left_out) if name in there]
    gone = [name for name in gone if name not in picked.values()]
    notes += (f"ignored in each row: {', '.join(gone)}",) if gone else ()
    joined = [picked[f] for f in shape.joined if f in picked and _is_joined(rows, picked[f])]
    notes += (f"split at |: {', '.join(joined)}",) if joined else ()
    notes += (f"nested rows, ignored: {within}",) if within else ()
    return (*table.notes, *notes)
