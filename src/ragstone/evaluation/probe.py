"""How an unknown HTTP API is called, and where its reply has the answer and the contexts."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from operator import itemgetter
from statistics import fmean
from typing import Any
from uuid import uuid4

import yaml

from ragstone._internal.documents import PART_OF, answer_of, read_document, role_of
from ragstone._internal.fields import is_list, is_object
from ragstone._internal.http import Client, Connection
from ragstone._internal.text import plain_name, quoted
from ragstone._internal.yaml import NAME
from ragstone.datasets.columns import ALIASES, EITHER
from ragstone.errors import CallError, Cause, RagstoneError, UsageError
from ragstone.targets import factory
from ragstone.targets.base import settings_of
from ragstone.targets.http import malformed, parse_fields
from ragstone.targets.spec import ApiDescription, fill, fill_headers
from ragstone.types.config import Plan

Path = tuple[str | int, ...]  # keys of objects and places of lists in JSON

FIELDS_TRIED = "query question message input prompt text q frage messages".split()
HOPELESS = frozenset((401, 403, 404, 405))  # another body changes nothing


def _named(field: str, *more: str) -> frozenset[str]:
    given = (name for name, of in factory.FIELD_OF.items() if of == field)
    return frozenset(map(plain_name, chain(ALIASES.get(field, ()), given, more)))


_ANSWERS, _CONTEXTS = _named("response", *EITHER, "reply"), _named("contexts", "hits", "results")
_TEXTS = frozenset("text content message value result".split())
_OTHERS = _named("query", "query", "error", "errors", "detail")
_ID = re.compile(r"(?<!page)(?<!seiten)(?:id|nr|number|nummer|key|ur[il]|source|file|datei)$")
_SCORE = re.compile("score|relevan|similar")


class NoAnswerError(RagstoneError):
    """No request was answered; `tries` is body -> what was returned."""

    def __init__(self, tries: Mapping[str, str]) -> None:
        self.tries = tries
        super().__init__("; ".join(tries.values()))


async def ask_api(
    url: str, query: str, *, body: object = None, headers: Mapping[str, str]
) -> tuple[str, str, Mapping[str, tuple[str, Any]]]:
    """Ask an API with this body, or with likely ones until one is answered.

    Return the target file, the reply, and Sample field -> its JMESPath and value.
    """
    bodies = [{each: "{messages}" if each == "messages" else "{query}"} for each in FIELDS_TRIED]
    values = {**settings_of(Plan(), 5), "query": query, "session_id": f"ragstone-{uuid4()}"}
    values |= {"id": "1", "messages": [{"role": "user", "content": query}]}
    tries: dict[str, str] = {}
    async with Client(Connection()) as client:
        for each in bodies if body is None else [body]:
            call: dict[str, object] = {"url": url, "body": each, "reply": {"response": "@"}}
            described = {"headers": dict(headers), "calls": {"ask": call}}
            api = ApiDescription.parse(_dump(described), "the request")
            api.remember_secrets()
            sent, filled = fill(each, values), fill_headers(headers, values)
            try:
                reply = await client.send("POST", url, headers=filled, body=sent, retries=0)
                content = reply.content
                call["reply"] = paths = find_paths(content, query)
                fields = parse_fields(content, paths, stream=False)
            except (CallError, UsageError) as error:
                tries[json.dumps(each, ensure_ascii=False)] = str(error).partition("\n")[0]
                if isinstance(error, UsageError):
                    break
                if error.cause is Cause.TIMEOUT or error.status in HOPELESS:
                    break
            else:
                found = {field: (paths[field], fields[field]) for field in paths}
                return _dump(described), content.decode("utf-8", "replace"), found
    raise NoAnswerError(tries)


def _dump(value: object) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=1000)


def find_paths(content: bytes, query: str) -> dict[str, str]:
    """Return the JMESPath of the response, and that of the contexts if there are some."""
    try:
        reply: object = json.loads(content)
    except ValueError:
        seen = quoted(content.decode("utf-8", "replace"))
        raise malformed(f"the reply is not JSON: {seen}") from None
    known = answer_of(reply) or {}
    answer = known.get("response")
    lists: list[tuple[bool, Path, str]] = []
    for path, items in _lists(reply):
        is_named = items is known.get("contexts") or not _CONTEXTS.isdisjoint(_names(path))
        parts = _document_parts(items, is_named=is_named)
        if path and parts is not None and answer not in dict(_leaves(items)).values():
            lists.append((not is_named, path, f"{_jmespath(path)}{parts}"))
    _, taken, contexts = min(lists, key=itemgetter(0), default=(False, None, None))
    best: list[tuple[int, bool, int, Path]] = []
    failed = is_object(reply) and (reply.get("error") or reply.get("errors"))
    for path, text in () if failed else _leaves(reply):
        names, last = _names(path), _last(path)
        is_other = not _OTHERS.isdisjoint(names) or (taken and path[: len(taken)] == taken)
        if not isinstance(text, str) or text.strip() in ("", query) or is_other:
            continue
        signs = text == answer, not _ANSWERS.isdisjoint(names), last in _TEXTS
        if any(signs) or len(text.split()) > 2:
            rank = [*signs, True].index(True)
            best.append((rank, last not in _ANSWERS | _TEXTS, -len(text), path))
    if not best:
        seen = quoted(json.dumps(reply, ensure_ascii=False))
        raise malformed(f"the reply has no answer that can be recognized: {seen}")
    paths = {"response": _jmespath(min(best, key=itemgetter(0, 1, 2))[-1])}
    return paths | ({"contexts": contexts} if contexts else {})


def _leaves(value: object, path: Path = ()) -> Iterator[tuple[Path, object]]:
    """Yield the texts, numbers and truth values in JSON; of a list, those of its two ends."""
    if is_object(value):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif is_list(value):
        for place in (0, -1)[: len(value)]:
            yield from _leaves(value[place], (*path, place))
    elif value is not None:
        yield path, value


def _lists(value: object, path: Path = ()) -> Iterator[tuple[Path, list[object]]]:
    if is_object(value):
        for name, part in value.items():
            yield from _lists(part, (*path, name))
    elif is_list(value) and value:
        yield path, value


def _names(path: Path) -> list[str]:
    return [plain_name(name) for name in path if isinstance(name, str)]


def _last(path: Path) -> str:
    return "".join(_names(path)[-1:])


def _jmespath(path: Path) -> str:
    text = ""
    for part in path:
        name = part if re.fullmatch(NAME, str(part)) else json.dumps(part, ensure_ascii=False)
        text += f"[{part}]" if isinstance(part, int) else f".{name}" if text else f"{name}"
    return text or "@"


def _document_parts(items: Sequence[object], *, is_named: bool) -> str | None:
    """Return the path of the text, id and score in each item; None for other lists."""
    if is_named and all(isinstance(item, str) for item in items):
        return ""
    if not all(is_object(item) and not role_of(item) for item in items):
        return None
    rows = [dict(_leaves(item)) for item in items]
    paths = [path for path in rows[0] if all(path in row for row in rows)]

    def of_type(*types: type) -> list[Path]:
        return [path for path in paths if all(type(row[path]) in types for row in rows)]

    def words(path: Path) -> float:
        return fmean(len(str(row[path]).split()) for row in rows)

    known = {PART_OF.get(_last(path)): path for path in reversed(paths)}
    text = known.get("text", max(of_type(str), key=words, default=None))
    if text not in of_type(str) or words(text) < (1 if is_named else 4):
        return None
    ids = (path for path in of_type(str, int) if path != text and _ID.search(_last(path)))
    scores = (path for path in of_type(int, float) if _SCORE.search("".join(_names(path))))
    parts = {"id": known.get("id", next(ids, None)), "text": text}
    parts |= {"score": known.get("score", next(scores, None))}
    found = {part: _jmespath(path) for part, path in parts.items() if path}
    if all((read_document(item) or {}).keys() >= found.keys() for item in items):
        return ""
    return f"[].{{{', '.join(f'{part}: {path}' for part, path in found.items())}}}"
