"""Parts of other tools' values: the turns of a chat, texts with ids, and parts of objects."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain, islice

import jmespath
from jmespath.exceptions import JMESPathError

from ragstone._internal.documents import (
    KNOWN_ROLES,
    PART_OF,
    ROLES,
    TOOLS,
    read_document,
    role_of,
    text_of,
)
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.text import count, plain_name
from ragstone.datasets import values as cells
from ragstone.datasets.columns import ALIASES, Layout, field_of
from ragstone.datasets.table import FileRows, Record, Row, Table, Unreadable, records_in
from ragstone.errors import Problem

_LISTS = ("messages", "input_messages", "output_messages")


@dataclass
class Turn:
    """A question of the user, the messages before it, and what followed."""

    query: str
    history: Sequence[Mapping[str, str]]
    response: str | None = None
    tools: list[str] = field(default_factory=list[str])  # what tools returned, such as documents
    fields: dict[str, object] = field(default_factory=dict[str, object])


IN_MESSAGES = ("contexts", "ranking", "reference", "reference_claims", "relevance")
"""Sample fields that a message of a conversation may have, under any of their names."""


def turns_in(messages: Sequence[Mapping[str, object]]) -> list[Turn]:
    """Return the turns of a conversation; only the last one may have no response."""
    turns: list[Turn] = []
    early: list[dict[str, object]] = []  # after an answer, fields belong to the next question
    said: list[Mapping[str, str]] = []
    for message in messages:
        role, text = role_of(message), text_of(message)
        if role not in KNOWN_ROLES:
            expected = "expected user, assistant, system or tool"
            raise ValueError(f"unknown message role {role!r}; {expected}")
        if role in ROLES["query"] and text:
            if turns and turns[-1].response is None:
                raise ValueError("two user messages in a row; merge them")
            turns.append(Turn(text, tuple(said)))
            said.append({"role": "user", "content": text})
        elif role in ROLES["response"] and text:
            if turns and turns[-1].response is not None and said[-1]["role"] == "assistant":
                said.pop()  # answers before the last one called tools
            said.append({"role": "assistant", "content": text})
            if turns:
                turns[-1].response = text
        early.append(_fields(message))
        if role in TOOLS and text and turns and message.get("status") != "error":
            turns[-1].tools.append(text)
        if turns and (turns[-1].response is None or (role in ROLES["response"] and text)):
            _add_fields(turns[-1], early)
            early = []
    if turns:
        _add_fields(turns[-1], early)
    return turns


def _add_tools(turn: Turn) -> None:
    returned = list[object]()
    for text in turn.tools:
        found = cells.spelled(text)
        parts = [read_document(i) or {"text": i} for i in found] if is_list(found) else []
        texts = bool(parts) and all(isinstance(part.get("text"), str) for part in parts)
        returned += found if is_list(found) and texts else [text]
    if returned:
        turn.fields.setdefault("contexts", returned)


def _fields(message: Mapping[str, object]) -> dict[str, object]:
    names: dict[str, str] = {}
    for name, value in message.items():
        of = field_of(str(name))
        if of in IN_MESSAGES and value is not None and names.setdefault(of, name) != name:
            raise ValueError(f"a message has {names[of]!r} and {name!r}, both {of}; remove one")
    return {of: message[name] for of, name in names.items()}


def _add_fields(turn: Turn, found: Sequence[Mapping[str, object]]) -> None:
    for of, value in chain.from_iterable(each.items() for each in found):
        known = turn.fields.setdefault(of, value)
        if known != value and of != "contexts":
            raise ValueError(f"two messages of one turn have {of}; write it into one of them")
        if known != value:
            texts, more = (
                each if isinstance(each := cells.spelled(given), list) else [given] if given else []
                for given in (known, value)
            )
            turn.fields[of] = [*texts, *(text for text in more if text not in texts)]


def history(value: cells.Plain) -> list[Mapping[str, str]]:
    messages = messages_in(value)
    if messages is None and cells.spelled(value) != []:
        raise ValueError("expected a list of messages, each with role and content")
    turns = turns_in([*(messages or ()), {"role": "user", "content": "-"}])
    return [*turns[-1].history]


def one_turn(value: object, field: str) -> object:
    """Return the last question or answer in a list of messages; any other value as it is."""
    messages = messages_in(value)
    if messages is None:
        return value
    try:
        turns = turns_in(messages)
    except ValueError as error:
        return Unreadable(str(error))
    if field == "query":
        return turns[-1].query if turns else None
    texts = [text for each in messages if role_of(each) in ROLES[field] and (text := text_of(each))]
    return texts[-1] if texts else None


def one_text(value: cells.Plain, field: str) -> object:
    """Return the text of a message, or of a list of one; any other value as it is."""
    if field != "query" and not isinstance(value, str) and messages_in(value) is not None:
        return one_turn(value, field)
    if isinstance(value, list) and len(value) == 1:
        return value[0] if value[0] is None else one_text(value[0], field)
    return (text_of(value) or value) if isinstance(value, dict) else value


def history_before(value: object) -> Sequence[Mapping[str, str]] | None:
    with suppress(ValueError, IndexError):
        return turns_in(messages_in(value) or ())[-1].history or None
    return None


CONVERSATION = "conversation_id"  # the tag of rows that are turns of a conversation
_LOOKED_AT = 1000  # rows of a large file searched for conversations; UNSPLIT and the docs name it


def split_conversations(table: Table, chosen: Mapping[str, str]) -> Table:
    """Return a table in which each turn of a conversation is a row: `a/1`, `a/2` and so on."""
    chosen = {field_of(name) or name: column for name, column in chosen.items()}
    rows, layouts = table.rows, dict[tuple[str, ...], Layout]()

    def found_in(record: Record) -> tuple[Layout, str] | None:
        names = tuple(name for name, value in record.values.items() if value is not None)
        if (layout := layouts.get(names)) is None:
            layout = layouts[names] = Layout.of(names, chosen)
        query = layout.fields.get("query")
        for column in (*layout.conversations, *([query] if query else [])):
            value = record.values[column]
            is_list = not isinstance(value, str) or value.lstrip()[:1] in ("[", "{")
            if is_list and messages_in(value) is not None:
                return layout, column
        return None

    first = islice(records_in(rows), _LOOKED_AT if isinstance(rows, FileRows) else None)
    if not any(map(found_in, first)):
        return table
    split, tools = list[Row](), 0
    for number, row in enumerate(rows, 1):
        if isinstance(row, Record) and (found := found_in(row)):
            split += _turn_rows(row, number, *found, chosen)
            messages = messages_in(row.values[found[1]]) or ()
            tools += any(role_of(each) in TOOLS for each in messages)
        else:
            split.append(row)
    notes = table.notes
    if tools:
        notes += (f"texts of tools are read as contexts: {count(tools, 'conversation')}",)
    return replace(table, rows=split, columns=None, names=None, notes=notes)


def _turn_rows(
    record: Record, number: int, layout: Layout, column: str, chosen: Mapping[str, str]
) -> Sequence[Row]:
    values, fields = record.values, layout.fields
    names = {**fields, **chosen}
    given = values.get(fields.get("id", ""))
    name = str(number if given is None else given)

    def problem(seen: str, fix: str = "") -> Sequence[Problem]:
        return [Problem(seen, fix, row=record.row, column=column, sample_id=name)]

    try:
        cell = cells.normalize_cell(given)
        name = name if cell is None else cells.sample_id(cell)
        turns = turns_in(messages_in(values[column]) or ())
    except ValueError as error:
        return problem(str(error))
    if not turns:
        return problem("the conversation has no user message", "delete the row")
    if others := [each for each in layout.conversations if each != column]:
        return problem(f"the row has two conversations, {column!r} and {others[0]!r}", "remove one")
    # fields of the row are those of its only turn, or of a last question without an answer
    of_row = {of: c for of, c in fields.items() if of not in ("id", "tags") and c != column}
    of_row |= {of: names[0] for of, names in layout.ambiguous.items() if of != "tags"}
    for turn in turns if "contexts" not in of_row else ():
        _add_tools(turn)
    last = {**turns[-1].fields, "response": turns[-1].response}
    for of, other in of_row.items():
        if of in ("query", "history"):
            fix = f"rename {column!r} to history if it is the conversation before the query"
            return problem(f"the row has a conversation and {other!r}", fix)
        if (len(turns) > 1 and turns[-1].response is not None) or last.get(of) is not None:
            seen = f"{other!r} is a column, and the conversation has {len(turns)} turns"
            return problem(seen, f"write {of} into the message that it belongs to")
    asked = fields.get("query") == column and turns[-1].response is None
    first = len(turns) if asked and of_row.keys() & {"response", "reference", "contexts"} else 1
    left = {fields.get("id"), column, *of_row.values()}
    rest = {
        key: value
        for key, value in values.items()
        if key not in left and value is not None and str(value).strip()
    }
    rows: list[Row] = []
    for place, turn in enumerate(turns[first - 1 :], first):  # the row may be of the last one
        whole = {of: values[c] for of, c in of_row.items()} if place == len(turns) else {}
        own = {"id": f"{name}/{place}", "query": turn.query, "response": turn.response}
        made = {**own, "history": [*turn.history] or None, **turn.fields, **whole}
        named = {names.get(of, of): value for of, value in made.items() if value is not None}
        rows.append(Record(record.row, {CONVERSATION: name, **rest, **named}))
    return rows


def messages_in(value: object) -> Sequence[Mapping[str, object]] | None:
    found: object = cells.spelled(value)
    if is_object(found):
        found = next((found[name] for name in _LISTS if name in found), [found])
    if not is_list(found) or not found:
        return None
    messages = [item for item in found if is_object(item) and role_of(item)]
    return messages if len(messages) == len(found) else None


def pair_texts(
    values: Mapping[str, object], column: str, *, parts: Mapping[str, str]
) -> dict[str, object]:
    """Join the texts of a column with their ids and scores; ids without texts become a ranking."""
    there = {plain_name(name): name for name in values}
    plain = {part: plain_name(name) for part, name in parts.items()}
    columns = {part: there[name] for part, name in plain.items() if name in there}
    rest = {name: value for name, value in values.items() if name not in columns.values()}
    lists: dict[str, list[object]] = {}
    for part, name in columns.items():
        try:
            if (found := _ids_or_scores(values[name], part)) is not None:
                lists[part] = found
        except ValueError as error:
            return rest | {column: Unreadable(f"{name}: {error}")}
    given, place = values.get(column), column
    parsed = cells.spelled(given)
    if isinstance(parsed, list):
        texts = parsed
    elif isinstance(given, str) and not given.lstrip().startswith("["):
        texts = [given] if given.strip() else []
    elif given is not None or "id" not in lists:
        return rest
    else:
        texts, place = [None] * len(lists["id"]), columns["id"]
    for part, found in lists.items():
        if len(found) != len(texts):
            many = count(len(texts), "text" if place == column else "id")
            return rest | {place: Unreadable(f"{many}, but {len(found)} in {columns[part]}")}
    documents: list[object] = []
    for at, text in enumerate(texts):
        more = {part: found[at] for part, found in lists.items()}
        own = text if is_object(text) else {"text": text}
        has = {PART_OF.get(plain_name(str(n))) for n, value in own.items() if value is not None}
        documents.append({**own, **{part: more[part] for part in more if part not in has}})
    return rest | {place: documents}


def _ids_or_scores(value: object, part: str) -> list[object] | None:
    if isinstance(value, str):
        value = cells.spelled_ids(value) if value.strip() else None
    if value is None:
        return None
    items = [*value] if is_list(value) else [value]
    if any(isinstance(item, dict | list) for item in items):
        raise ValueError("expected a list of ids or scores")
    if part == "score":
        for at, item in enumerate(items):
            with suppress(ValueError):  # other texts are refused later
                items[at] = float(item) if isinstance(item, str) else item
    return items


_OPENED = frozenset(map(plain_name, ("tags", *ALIASES["tags"])))
"""Columns whose parts also become columns under their own names alone: each is a tag."""


def open_parts(record: Record, *, named: Sequence[str]) -> Record:
    """Make columns of named parts of a record: `metadata.contexts`, a tag's name, or JMESPath."""
    values = {**record.values}
    for name in named:
        head, _, inner = name.partition(".")
        for column in [column for column in values if plain_name(column) in _OPENED]:
            parts = {**(cells.object_in(values[column]) or {})}
            wanted = plain_name(inner if plain_name(head) == plain_name(column) else name)
            if key := next((key for key in parts if plain_name(str(key)) == wanted), None):
                values |= {name: parts.pop(key), column: parts}
                break
        else:
            data = {c: cells.spelled(v) or v for c, v in values.items() if c in name}
            for path in name, '"{}"'.format(name.replace(".", '"."')):  # names may have spaces
                with suppress(JMESPathError):
                    if (part := jmespath.search(path, data)) is not None:
                        part = [p for p in part if p is not None] if is_list(part) else part
                        values[name] = part
    return replace(record, values=values)
