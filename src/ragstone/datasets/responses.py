"""Saved responses in the format of `rag_evaluation`, and failed calls that files record."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from ragstone._internal.fields import is_list, is_object
from ragstone._internal.text import plain_name, quoted
from ragstone.datasets.columns import field_of
from ragstone.datasets.table import Record, Row, records_in
from ragstone.errors import Cause
from ragstone.types.reply import Failure
from ragstone.types.sample import Sample

MODES: Mapping[str, tuple[str, ...]] = {"chat": ("response", "contexts"), "search": ("ranking",)}
"""The mode of a collection -> the Sample fields that it requests."""
Failures = Mapping[str, Failure]  # sample field -> why the target did not give it


def repetitions(rows: Iterable[Row]) -> tuple[str, ...]:
    indexes = (record.values.get("query_index") for record in records_in(rows))
    times = Counter(str(index) for index in indexes if index is not None)
    twice = [f"{index} ({many} rows)" for index, many in times.items() if many > 1]
    more = ", ..." if len(twice) > 5 else ""
    return (f"repeated query_index: {', '.join(twice[:5])}{more}",) if twice else ()


def absences(mode: object, file: str) -> Mapping[str, str]:
    if mode != "search":
        return {}
    seen = f"{file} was collected in mode search, so no row has"
    return {field: f"{seen} {field}; collect in mode chat" for field in MODES["chat"]}


FIELDS = tuple(chain.from_iterable(MODES.values()))  # fields of a Sample that a call can return
ANY = ""  # any value that describes an error
_NOTHING = frozenset(("", "none", "null", "nan", "n/a", "false"))
"""Values of a successful call, in any case."""
_TEXTS = ("message", "error", "detail", "type", "name")  # of messages in errors that are objects
_CAUSES = (  # cause -> pattern of its messages; all other errors are `unreachable`
    (Cause.RATE_LIMITED, re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE)),
    (Cause.TIMEOUT, re.compile(r"time.?out|timed.?out|deadline.?exceeded", re.IGNORECASE)),
)


def failed_fields(error: str | None) -> Mapping[str, str]:
    return {} if error is None else dict.fromkeys(FIELDS, error)


def error_message(value: object) -> str | None:
    if is_object(value):
        value = next((value[name] for name in _TEXTS if value.get(name)), str(value or ""))
    if value is None or str(value).strip().casefold() in _NOTHING:
        return None
    return "no reason given" if value is True else quoted(str(value).strip().splitlines()[0])


def error_in(record: Record, signs: Mapping[str, str], cause: str) -> str | None:
    """Return the error of a record's call; `signs` is column -> its value for failure, or ANY."""
    given = {plain_name(n): value for n, value in record.values.items() if value is not None}
    for column, sign in signs.items():
        value = given.get(plain_name(column))
        if error_message(value) is not None and sign in (ANY, str(value).casefold()):
            return error_message(given.get(plain_name(cause))) or f"{column} is {value}"
    return None


def failed_calls(
    samples: Sequence[Sample], errors: Mapping[int, Mapping[str, str]], *, asked: Sequence[str] = ()
) -> Mapping[int, Failures]:
    """Return index of a sample -> its failures: the fields that it is missing, and why."""
    if not errors:
        return {}
    answered = (sample for index, sample in enumerate(samples) if index not in errors)
    returned = {n for each in answered for n in FIELDS if getattr(each, n) is not None}
    usual = asked or returned or MODES["chat"]  # a failed call is missing what others returned
    failures: dict[int, Failures] = {}
    for index, error in errors.items():
        missing: dict[str, Failure] = {}
        sample = samples[index]
        for name in error:
            if (name == "response" and sample.response is not None) or (
                name in usual and not getattr(sample, name)
            ):
                matching = (cause for cause, words in _CAUSES if words.search(error[name]))
                cause = next(matching, Cause.UNREACHABLE)
                missing[name] = Failure(cause, f"the file records a failed call: {error[name]}")
        if missing:
            failures[index] = missing
    return failures


def record_of(
    variables: Mapping[str, object],
    response: object,
    prompt: str,
    *,
    given: Mapping[str, object] | None = None,  # the provider's metadata
    columns: Iterable[str] = (),
) -> dict[str, object]:
    """Return a test as a row of data; variables are its columns, except id and response."""
    own = ("id", "response")
    row = {name: value for name, value in variables.items() if field_of(name) not in own}
    fields = {*columns, *map(field_of, row)}
    if "query" not in fields:
        row["query"] = prompt
    if "contexts" not in fields and given:
        row |= {name: value for name, value in given.items() if field_of(name) == "contexts"}
    if response is not None and not isinstance(response, str):
        response = json.dumps(response, ensure_ascii=False)
    return {**row, "response": response}


Values = Mapping[str, object]
NOTE = "read from each test: vars, prompt, response, and promptfoo's scores as tags"


def results(tests: Iterable[Record]) -> list[Record]:
    """Return a record for each result, by test and prompt, with its scores as tags."""
    return [
        Record(test.row, _record(test.values), failed_fields(_error(test.values)))
        for test in sorted(tests, key=lambda t: (_at(t.values, "test"), _at(t.values, "prompt")))
    ]


def _record(test: Values) -> Values:
    response, prompt, provider = (_part(test, name) for name in ("response", "prompt", "provider"))
    components = _part(test, "gradingResult").get("componentResults")
    assertions = [
        (str(assertion.get("type")), assertion, item)
        for item in (components if is_list(components) else ())
        if is_object(item) and (assertion := _part(item, "assertion"))
    ]

    # promptfoo scored what the assertions used, which may differ from the variables: a transform
    # can make the contexts, and templates in variables are filled in.
    contexts = (
        _part(item, "metadata").get("context")
        for kind, _, item in assertions
        if kind.startswith(("context-", "not-context-"))
    )
    references = (
        _part(item, "metadata").get("renderedAssertionValue", assertion.get("value"))
        for kind, assertion, item in assertions
        if kind == "context-recall"
    )
    variables = dict(_part(test, "vars"))
    used = {"contexts": next(filter(None, contexts), None), "reference": next(references, None)}
    for field, value in used.items():
        if value:
            variables[next((name for name in variables if field_of(name) == field), field)] = value
    metadata = _part(response, "metadata").items()
    record = record_of(
        variables,
        response.get("output"),
        prompt=str(prompt.get("raw", "")),
        given={"contexts": next((v for k, v in metadata if field_of(k) == "contexts"), None)},
    )

    error = None if test.get("success") else test.get("error")
    tags: dict[str, object] = {
        "provider": provider.get("label") or provider.get("id"),
        "prompt": prompt.get("label"),
        "passed": test.get("success"),
        "score": test.get("score"),
        "error": error.partition("\n")[0] if isinstance(error, str) else None,
    }
    times = Counter[str]()
    for kind, _, item in assertions:
        times[kind] += 1
        tags.setdefault(kind if times[kind] == 1 else f"{kind}_{times[kind]}", item.get("score"))
    number = f"{_at(test, 'test') + 1}.{_at(test, 'prompt') + 1}"
    return {**record, "id": number, **{f"promptfoo_{name}": tags[name] for name in tags}}


def _error(test: Values) -> str | None:
    response = _part(test, "response")
    if error := error_message(response.get("error")):
        return error
    output = response.get("output")
    unanswered = output is None or (output == "" and not _part(test, "gradingResult"))
    if not unanswered or test.get("failureReason") == 1:  # an assertion failed, not the call
        return None
    return error_message(test.get("error"))


def _at(test: Values, of: str) -> int:
    place = test.get(f"{of}Idx")
    return place if isinstance(place, int) else 0


def _part(of: Values, name: str) -> Values:
    found = of.get(name)
    return found if is_object(found) else {}
