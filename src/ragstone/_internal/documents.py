"""Documents, messages and answers of LangChain, LlamaIndex, Haystack, OpenAI and OpenInference.

These libraries are not imported: their objects are recognized by the names of their attributes.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from typing import cast
from uuid import UUID

from ragstone._internal.fields import document_id, is_list, is_object
from ragstone._internal.text import plain_name

CONTEXT_ALIASES: Mapping[str, tuple[str, ...]] = {  # part of a Context -> its other names
    "text": ("page_content", "content", "chunk", "context"),
    "id": ("point_id", "doc_id", "document_id"),
    "score": (),
}


def by_name(aliases: Mapping[str, tuple[str, ...]]) -> Mapping[str, str]:
    return {plain_name(name): ours for ours, others in aliases.items() for name in (ours, *others)}


PART_OF = by_name(CONTEXT_ALIASES)  # plain name -> part of a Context
_LAST_IS_OURS = tuple(reversed([*PART_OF.items()]))
_CONTENTS = (
    "page_content content text metadata meta response documents choices message delta".split()
)
"""Attributes of documents, messages and answers; an object has one of them, or a node."""
_MOST = 50  # how deep objects may be nested
_READ = (*_CONTENTS, *"id id_ score ref_doc_id type role artifact source_nodes data".split())


def opened(value: object, depth: int = 0) -> object:
    """Return an object, also in a list, as a mapping of the attributes that are read here."""
    if depth > _MOST:  # which is refused later, or has itself as a part
        return value
    if isinstance(value, list | tuple):
        return [opened(item, depth + 1) for item in cast("Sequence[object]", value)]
    if value is None or isinstance(value, (str, int, float, dict, Mapping, type)):
        return cast("object", value)
    if callable(convert := getattr(value, "tolist", None)):  # NumPy
        return convert()
    is_node = hasattr(value, "node") and hasattr(value, "score")
    given = {n: getattr(value, n, None) for n in (("node", "score") if is_node else _READ)}
    if not given.get("text") and callable(content := getattr(value, "get_content", None)):
        given |= {"text": content(), "id_": getattr(value, "node_id", None)}  # of LlamaIndex
    parts = {n: opened(part, depth + 1) for n, part in given.items() if part is not None}
    return value if parts.keys().isdisjoint(("node", *_CONTENTS)) else parts


# Documents

ID_NAMES = ("id", "doc_id", "document_id", "point_id", "doc_uri")  # of an id in metadata
_PARENTS = ("ref_doc_id", "source_id")  # of the id of the document that was split
_FILES = ("source", "file_name", "file_path", "url")  # which are ids if there is no other
_ABOUT = frozenset(("metadata", "meta"))
_THEIRS = frozenset(("pagecontent", "meta", "relationships", "refdocid"))


def read_document(item: object, relevant: Collection[str] = ()) -> dict[str, object] | None:
    """Return the text, id and score of a document, as far as it has them; None if it is none.

    Libraries give random UUIDs and hashes to texts without an id. Such an id is used only if a
    `relevant` one is like it, or in a mapping in our form, which has no metadata.
    """
    value = opened(item)
    if is_list(value) and len(value) == 2 and is_object(value[0]):
        value = {**value[0], "score": value[1]}
    if not is_object(value):
        return None
    given: Mapping[str, object] = value
    inner = given.get("node", given.get("kwargs", given.get("document")))
    if is_object(inner) and "text" in map(
        PART_OF.get, map(plain_name, map(str, inner))
    ):  # of LlamaIndex, LangChain and OpenInference
        filled = {name: part for name, part in inner.items() if part is not None}
        given = {"score": given.get("score"), "meta": {}, **filled}
    named = {plain_name(str(n)).removeprefix("document."): part for n, part in given.items()}
    parts: dict[str, object] = {}
    for name, part in _LAST_IS_OURS:
        if (found := named.get(name)) is not None:
            parts[part] = (part == "text" and is_object(found) and text_of(found)) or found
    metadata = named.get("metadata") or named.get("meta")
    if isinstance(metadata, str):
        with suppress(ValueError, RecursionError):
            metadata = cast("object", json.loads(metadata))
    if "blob" in given and metadata is None:  # Haystack's metadata, beside the other parts
        metadata, named["meta"] = {n: part for n, part in given.items() if n != "id"}, {}
    is_theirs = "document.content" in given or not _THEIRS.isdisjoint(named)
    if not is_theirs and not is_object(metadata):
        return parts

    about: Mapping[str, object] = metadata if is_object(metadata) else {}
    known, links = {**given, **about}, named.get("relationships")
    source = links.get("1") if is_object(links) else None
    tiers = [[parts.pop("id", None)], [about.get(name) for name in ID_NAMES]]
    tiers = tiers[::-1] if is_theirs else tiers
    tiers.append([known.get(name) for name in _PARENTS])
    tiers.append([source.get("node_id") if is_object(source) else None])
    tiers += [[known.get(name)] for name in _FILES]
    keeps = any(map(_is_random, relevant))
    ids = next(filter(None, (_ids(values, random=keeps) for values in tiers)), set[str]())
    return {**parts, "id": ids.pop()} if len(ids) == 1 else parts


def _ids(values: Iterable[object], *, random: bool) -> set[str]:
    found: set[str] = set()
    for value in values:
        with suppress(ValueError):
            name = document_id(value)
            found |= {name} if random or not _is_random(name) else set()
    return found


def _is_random(name: str) -> bool:
    with suppress(ValueError):
        return UUID(name).version == 4
    return re.fullmatch("[0-9a-f]{64}", name) is not None


# Messages and answers

_ENDS = ("", "message", "messagechunk")
_ANSWERING = frozenset(
    "assistant ai aimessage aimessagechunk model bot chatbot agent gpt apimessage".split()
)
ROLES: Mapping[str, frozenset[str]] = {  # Sample field -> roles of its author in a list of messages
    "query": frozenset("user human humanmessage humanmessagechunk usermessage".split()),
    "response": _ANSWERING,
    "reference": _ANSWERING,
}
TOOLS = frozenset(f"{role}{end}" for role in ("tool", "function") for end in _ENDS)
_SYSTEM = [*(f"system{end}" for end in _ENDS), "developer"]
KNOWN_ROLES = frozenset((*chain.from_iterable(ROLES.values()), *TOOLS, *_SYSTEM))
"""All roles in a list of messages, as named by OpenAI, LangChain, Gemini, Cohere and ShareGPT."""
_ROLES = ("role", "speaker", "from")  # the names of a role
_PLAIN = frozenset(("text", "input_text", "output_text"))  # other parts are thoughts or images
_INNER = ("kwargs", "message", "data")  # what a message of LangChain or a log may be in
_TEXTS = ("content", "parts", "text", "value", *_INNER)
_DEEPEST = 8  # how deep a message's text may be nested; real ones have 3 levels


def role_of(message: Mapping[str, object]) -> str:
    """Return a message's role in lower case; other objects have a type, too, but no known role."""
    inner = next((message[name] for name in _INNER if name in message), None)
    named = inner if is_object(inner) else message
    if not any(name in named for name in (*_TEXTS, "tool_calls")):
        return ""
    role = next((named[name] for name in _ROLES if name in named), None)
    if isinstance(role, str):
        return role.casefold()
    kind = named.get("type", message.get("type"))
    return kind.casefold() if isinstance(kind, str) and kind.casefold() in KNOWN_ROLES else ""


def text_of(value: object, depth: int = 0) -> str:
    """Return the text of a message, or of a part of it."""
    if isinstance(value, str):
        return value
    if depth <= _DEEPEST and is_list(value):
        return "".join(text_of(part, depth + 1) for part in value)
    if depth <= _DEEPEST and is_object(value):
        kind = value.get("type")
        if not depth or not isinstance(kind, str) or kind.casefold() in _PLAIN | KNOWN_ROLES:
            return next((text for n in _TEXTS if (text := text_of(value.get(n), depth + 1))), "")
    return ""


def answer_of(value: object) -> dict[str, object] | None:
    """Return the response and the contexts in what a library returned; None if it is not known.

    That is an answer or a message, the state of an agent with its messages, or the outputs of a
    pipeline's components.
    """
    if not is_object(given := opened(value)):
        return None
    if is_list(messages := given.get("messages")):
        return _answer_in(messages)
    if is_list(choices := given.get("choices")):
        choice = next(filter(is_object, choices), None)
        said = choice and (choice.get("message") or choice.get("delta"))
        return {"response": None if said is None else text_of(said)}
    for response, contexts in ("response", "source_nodes"), ("data", "documents"):
        if contexts in given and response in given:
            return {"response": given[response], "contexts": given[contexts]}
    parts = [part for part in given.values() if is_object(part)]
    is_pipeline = bool(parts) and len(parts) == len(given)  # the last component has the answer
    outputs = {n: part for each in parts for n, part in each.items()} if is_pipeline else given
    documents = outputs.get("documents")
    answers = outputs.get("answers", outputs.get("replies"))
    if is_list(answers) and answers:
        text = text_of(opened(answers[0]))
        response = None if text.startswith("ChatMessage(") else text  # written by `repr`
        return {"response": response, "contexts": documents, **(answer_of(answers[0]) or {})}
    if is_pipeline and is_list(documents):
        return {"contexts": documents}
    role, is_ours = role_of(given), is_object(value) or not _ABOUT.isdisjoint(given)
    if role or (isinstance(given.get("content"), str | list) and not is_ours):
        return {"response": text_of(given) if role in ("", *ROLES["response"]) else None}
    return None


def _answer_in(messages: Sequence[object]) -> dict[str, object]:
    """Return the last answer, and what tools returned since the last question."""
    response, contexts = None, list[object]()
    for message in filter(is_object, map(opened, messages)):
        role, text, documents = role_of(message), text_of(message), message.get("artifact")
        if role in ROLES["query"]:
            response, contexts = None, []
        elif role in ROLES["response"]:
            response = text or response
        elif role in TOOLS:
            is_read = is_list(documents) and documents and all(map(read_document, documents))
            contexts += documents if is_list(documents) and is_read else [text]
    return {"response": response, "contexts": contexts or None}
