"""HTTP targets: calls of an API, and Sample fields from its replies in JSON or event streams.

A reply that cannot be parsed raises a CallError.
"""

import asyncio
import json
import re
from collections.abc import Collection, Mapping, Sequence, Sized
from functools import partial
from itertools import groupby, islice, pairwise
from time import perf_counter
from typing import TYPE_CHECKING, Self, cast
from urllib.parse import urlsplit
from uuid import uuid4

import jmespath
from jmespath.exceptions import JMESPathError
from jmespath.visitor import TreeInterpreter
from pydantic import ValidationError

from ragstone._internal.concurrency import parse
from ragstone._internal.documents import read_document
from ragstone._internal.fields import is_object
from ragstone._internal.http import Client, Connection
from ragstone._internal.rate_limit import Limits
from ragstone._internal.secrets import HIDDEN, VARIABLE, is_secret, redact_known
from ragstone._internal.text import describe_fault, public_url, quoted
from ragstone.errors import CallError, Cause, TargetError, nearest
from ragstone.targets import spec
from ragstone.targets.base import SETTINGS, Answer, Target, settings_of
from ragstone.types.config import Plan
from ragstone.types.reply import Failure
from ragstone.types.row import TargetCall
from ragstone.types.sample import Context, Sample

if TYPE_CHECKING:
    from jmespath.visitor import _TreeNode as Node  # pyright: ignore[reportPrivateUsage]

LONGEST_CONNECT = 10.0  # seconds to wait for a connection to an API without a health check
MOST_ITEMS = 10_000  # documents of a reply; real rankings have a thousand at most
_NOT_READY = (
    "the RAG system is not ready: {}\nStart it, or specify another target. If it has other paths, "
    "describe it in a file: `ragstone init --target URL --ask QUESTION` writes one. "
    "`ragstone demo --serve` starts a system for testing."
)
_DONE = "[DONE]"
_NEW = "select only the new text, not {!r}"
_LINE_END = re.compile(r"\r\n|\r|\n")
_EVENT_END = re.compile(r"(?:\r\n?+|\n){2,}")
_FAILED = re.compile(
    r"error|response\.(failed|incomplete)|thread\.run\.(failed|incomplete|expired|cancelled)"
)


def malformed(seen: str) -> CallError:
    return CallError(Cause.MALFORMED, seen)


def parse_events(content: bytes) -> list[str]:
    """Return the data of each server-sent event (HTML standard, section 9.2), without `[DONE]`."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise malformed(f"the reply is not UTF-8 text: {error.reason}") from error
    events: list[str] = []
    for block in _EVENT_END.split(text):
        fields = [line.partition(":") for line in _LINE_END.split(block)]
        data = [value.removeprefix(" ") for field, _, value in fields if field == "data"]
        names = [value.removeprefix(" ") for field, _, value in fields if field == "event"]
        if names and _FAILED.fullmatch(names[-1]):
            seen = quoted(" ".join(data))
            raise CallError(Cause.UNREACHABLE, f"the reply ended with an error: {seen}")
        if [part.strip() for part in data] == [_DONE]:
            break
        if data:
            events.append("\n".join(data))
    if not events:
        raise malformed(f"the reply contains no events: {quoted(text)}")
    return events


def parse_fields(
    content: bytes, paths: Mapping[str, str], relevant: Collection[str] = (), *, stream: bool
) -> dict[str, object]:
    if stream:
        events = parse_events(content)
        whole = [*paths.items()] == [("response", "@")]
        data = [] if whole else [_event(event) for event in events]
        found = {field: _streamed(field, path, events, data) for field, path in paths.items()}
        return {field: parse_field(field, value, relevant) for field, value in found.items()}
    try:
        data: object = json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        seen = _excerpt(content.decode("utf-8", "replace"))
        raise malformed(f"the reply is not valid JSON: {seen}") from error
    fields: dict[str, object] = {}
    for field, path in paths.items():
        if (value := _search(field, data, path)) is None:
            raise malformed(_absence(data, path))
        fields[field] = parse_field(field, value, relevant)
    return fields


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs) and (two := [name for name, one in pairs if found[name] != one]):
        raise malformed(f"the reply has two values for {quoted(repr(two[0]))}")
    return found


def _absence(data: object, path: str) -> str:
    place = ""
    for name in re.split(r"\W", path, flags=re.ASCII):
        if not is_object(data) or name not in data:
            break
        data, place = data[name], f"{place}.{name}".lstrip(".")
    has = _seen(data).removeprefix("an object with ")
    return f"the reply has no value at {path!r}; {repr(place) if place else 'it'} has {has}"


def _seen(value: object) -> str:
    if not is_object(value):
        return _excerpt(value)
    keys = quoted(", ".join(map(str, islice(value, 12))))
    return f"an object with {f'the keys {keys}' if keys else 'no keys'}"


def parse_field(field: str, value: object, relevant: Collection[str] = ()) -> object:
    if field == "response":
        if not isinstance(value, str):
            raise malformed(f"expected the response to be text, got {_seen(value)}")
        return _join_halves(value)
    if not isinstance(value, list | tuple):
        raise malformed(f"expected {field} to be a list, got {_seen(value)}")
    _check_count(items := cast("Sequence[object]", value), field)
    return tuple(_context(item, number, field, relevant) for number, item in enumerate(items, 1))


def _check_count(items: Sized, what: str) -> None:
    if len(items) > MOST_ITEMS:
        raise malformed(f"{what} has {len(items):,} items, more than the limit of {MOST_ITEMS:,}")


def _context(item: object, number: int, field: str, relevant: Collection[str]) -> Context:
    if isinstance(item, Context):
        return item
    place = f"item {number} of {field}"
    if item is None:
        fix = "correct the list, or leave such items out with a filter such as results[?id]"
        raise malformed(f"{place} is null or missing; {fix}")
    bare = "id" if field == "ranking" else "text"
    known = {bare: item} if (found := read_document(item, relevant)) is None else found
    # an item of a ranking without its id would count as a wrong document
    needed = "id" if field == "ranking" and (not is_object(item) or "id" in item) else "text"
    if needed not in known:
        raise malformed(f"{place} has no {needed}: {_seen(item)}")
    shown = {key: _join_halves(it) if isinstance(it, str) else it for key, it in known.items()}
    if HIDDEN in str(shown.get("id")) and HIDDEN not in str(known["id"]):
        fix = "use other ids, or write the value into the target file if it may be shown"
        raise malformed(f"the id of {place} contains a key or variable; {fix}")
    try:
        return Context.model_validate(shown)
    except ValidationError as error:
        fault = error.errors()[0]
        part = ".".join(map(str, fault["loc"]))
        raise malformed(f"{place}: {part}: {describe_fault(fault)}") from error


def _streamed(field: str, path: str, events: list[str], data: list[object]) -> object:
    if field == "response" and path == "@":  # the whole reply
        # Events are plain text, or JSON strings if all of them are.
        strings = [text for event in events if isinstance(text := _event(event, plain=True), str)]
        return joined(strings if len(strings) == len(events) else events, _NEW.format(path))
    found = (_search(field, event, path) for event in data)
    if not (pieces := [piece for piece in found if piece is not None]):
        raise malformed(f"no event of the reply has a value at {path!r}")
    if field != "response":
        return pieces[-1]
    if other := [piece for piece in pieces if not isinstance(piece, str)]:
        raise malformed(f"expected text in each event of the response, got {_excerpt(other[0])}")
    return joined(cast("list[str]", pieces), _NEW.format(path))


def joined(pieces: list[str], fix: str) -> str:
    """Return the text of a stream, unless a piece of it repeats the text before it."""
    texts = [text for text in pieces if text]
    steps = [text for text, _ in groupby(texts)]
    growing = len(steps) > 2 and all(b.startswith(a) for a, b in pairwise(steps))
    if growing or (len(texts) > 1 and len(texts[-1]) > 20 and "".join(texts[:-1]) == texts[-1]):
        seen = "a piece of the response repeats the text before it, which would be read twice"
        raise malformed(f"{seen}; {fix}")
    return _join_halves("".join(texts))


def _event(text: str, *, plain: bool = False) -> object:
    try:
        data: object = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:
        if plain or text.lstrip()[:1] not in ("{", "["):
            return None
        raise malformed(f"an event is not valid JSON: {_excerpt(text)}") from error
    if is_object(data) and (error := data.get("error")):
        raise CallError(Cause.UNREACHABLE, f"the reply ended with an error: {_excerpt(error)}")
    return data


class _Lists(TreeInterpreter):
    """JMESPath whose lists keep nulls, so that no rank shifts; except within an object."""

    def visit_projection(self, node: "Node", value: object) -> list[object] | None:
        base, part, *conditions = node["children"]
        found: object = self.visit(base, value)
        if not isinstance(found, dict if node["type"] == "value_projection" else list):
            return None
        given = cast("dict[str, object] | list[object]", found)
        items = list(given.values() if isinstance(given, dict) else given)
        for condition in conditions:
            no: Node = {"type": "not_expression", "value": None, "children": [condition]}
            items = [item for item in items if not self.visit_not_expression(no, item)]
        _check_count(items, "a list of the reply")
        return [self.visit(part, item) for item in items]

    visit_filter_projection = visit_value_projection = visit_projection

    def visit_multi_select_dict(self, node: "Node", value: object) -> object:
        return _TEXTS.visit(node, value)


_TEXTS = TreeInterpreter()
_LISTS = _Lists()


def _search(field: str, data: object, path: str) -> object:
    interpreter = _TEXTS if field == "response" else _LISTS
    try:
        return cast("object", interpreter.visit(jmespath.compile(path).parsed, data))
    except (JMESPathError, RecursionError) as error:
        why = quoted(str(error))
        raise malformed(f"{path!r} cannot be applied to the reply: {why}") from error


def _join_halves(text: str) -> str:
    """Remove secrets, and join halves of surrogate pairs, which streams cut apart."""
    text = redact_known(text)
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _excerpt(value: object) -> str:
    try:
        pieces = json.JSONEncoder(ensure_ascii=False).iterencode(value)
        text = value if isinstance(value, str) else "".join(islice(pieces, 100))
    except (TypeError, ValueError):
        text = repr(value)
    return quoted(text, 80)


class HttpTarget(Target):
    """Calls an HTTP API; each row gets its own session, so that rows share no memory."""

    def __init__(self, name: str, description: spec.ApiDescription, plan: Plan, *, k: int) -> None:
        self.name = name
        self.gives = frozenset(field for call in description.calls.values() for field in call.reply)
        described = description.model_dump_json()
        sent = {used for name, used in SETTINGS.items() if f"{{{name}}}" in described}
        self.uses = frozenset(sent | {"delay", "timeout", "retries"})
        self.has_history = "{messages}" in described
        sets = [description.headers, *(call.headers for call in description.calls.values())]
        keys = "".join(text for each in sets for name, text in each.items() if is_secret(name))
        # variables other than keys may name another system or tenant tomorrow
        self.is_certain = len(VARIABLE.findall(keys)) == len(VARIABLE.findall(described))
        self._description = description
        self._base = description.base or ""
        self._given = {**settings_of(plan, k), "base": spec.fill_variables(self._base)}
        description.remember_secrets()
        self._timeout = plan.timeout
        connection = Connection(
            timeout=plan.timeout,
            limits=Limits(concurrency=plan.concurrency, retries=plan.retries, delay=plan.delay),
            verify_tls=description.verify_tls,
            proxy=spec.fill_variables(description.proxy) if description.proxy else None,
        )
        self._client = Client(connection)
        self._parts = (self._client,)

    def check(self, samples: Sequence[Sample]) -> None:
        tags = dict.fromkeys(tag for sample in samples for tag in sample.tags)
        problems: dict[str, None] = {}
        for name, call in self._description.calls.items():
            sent = spec.fields_in([call.url, *self._headers(call).values(), call.body])
            sent_tags = {each.removeprefix("tags.") for each in sent if each.startswith("tags.")}
            if not sent_tags and {"query", "messages", "id", "reference"}.isdisjoint(sent):
                same = f"the call {name!r} is the same for every row"
                problems[f"{same}; put {{query}} into its url, headers or body"] = None
            for tag in sorted(sent_tags - tags.keys()) if samples else ():
                near = nearest(tag, tags)
                has = "the data has " + (f"the tags {', '.join(tags)}" if tags else "no tags")
                hint = f"did you mean {{tags.{near}}}?" if near else has
                problems[f"{{tags.{tag}}}: no row has this tag; {hint}"] = None
        if problems:
            raise TargetError(f"{self.name}: {'; '.join(problems)}")

    def _headers(self, call: spec.CallDescription) -> Mapping[str, str]:
        return {**self._description.headers, **call.headers}

    async def __aenter__(self) -> Self:
        await super().__aenter__()
        try:
            await self._check_health()
        except BaseException:
            await super().__aexit__()
            raise
        return self

    async def _check_health(self) -> None:
        described = self._description
        if described.health is not None:
            url = spec.fill_url(described.health, {}, base=self._base)
            headers = spec.fill_headers(described.headers, self._given)
            try:
                await self._client.send("GET", url, headers=headers, retries=0)
            except CallError as error:
                if error.status not in (404, 405):  # these mean that there is no health check
                    raise TargetError(_NOT_READY.format(error)) from error
            return
        for call in described.calls.values() if described.proxy is None else ():
            url = spec.fill_url(call.url, {}, base=self._base)
            try:
                parts = urlsplit(url)
                port = parts.port or (443 if parts.scheme == "https" else 80)
            except ValueError as error:
                raise TargetError(f"{public_url(url)} is not a usable URL: {error}") from None
            if not parts.hostname:  # it depends on the row
                continue
            try:
                async with asyncio.timeout(min(self._timeout, LONGEST_CONNECT)):
                    _, writer = await asyncio.open_connection(parts.hostname, port)
            except (OSError, UnicodeError) as error:  # a TimeoutError is an OSError
                why = f"cannot connect to {parts.scheme}://{parts.hostname}:{port}"
                raise TargetError(_NOT_READY.format(why)) from error
            writer.close()

    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        values = {
            **self._given,
            "query": sample.query,
            "messages": sample.messages,
            "id": sample.id,
            "reference": sample.reference_cell,
            "session_id": f"ragstone-{uuid4()}",
            **{f"tags.{name}": value for name, value in sample.tags.items()},
        }
        fields: dict[str, object] = {}
        failures: dict[str, Failure] = {}
        calls: list[TargetCall] = []
        for name, call in self._description.calls.items():
            if not needed.intersection(call.reply):
                continue
            start = perf_counter()
            try:
                reply = await self._client.send(
                    call.method,
                    spec.fill_url(call.url, values, base=self._base),
                    headers=spec.fill_headers(self._headers(call), values),
                    body=spec.fill(call.body, values),
                )
                stream = call.stream is not None
                asked = {**call.reply}, tuple(sample.relevance or ())
                function = partial(parse_fields, reply.content, *asked, stream=stream)
                fields |= await parse(reply.content, function)
                calls.append(TargetCall(name, reply.latency_ms))
            except CallError as error:
                failure = Failure(error.cause, f"{name}: {error}")
                failures |= dict.fromkeys(call.reply, failure)
                calls.append(TargetCall(name, (perf_counter() - start) * 1000, failure))
        return Answer(fields, failures, tuple(calls))
