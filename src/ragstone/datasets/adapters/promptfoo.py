"""What `promptfoo eval -o FILE` wrote -> records: one a test, prompt and provider."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TypeGuard, cast

from ragstone.datasets.adapters.responses import error_message, failed_fields
from ragstone.datasets.columns import FIELD_OF, plain_name
from ragstone.datasets.table import Record
from ragstone.errors import Problem
from ragstone.types.sample import Sample

# A test of promptfoo as a row of data: its variables, what was asked, and what came back.

NOTHING: Mapping[str, object] = MappingProxyType({})
NO_COLUMNS: Mapping[str, str] = MappingProxyType({})
REPLACED = ("id", "response")
"""Fields that variables do not set: the response is the provider's."""


def record_of(
    variables: Mapping[str, object],
    response: object,
    prompt: str,
    *,
    given: Mapping[str, object] = NOTHING,
    columns: Mapping[str, str] = NO_COLUMNS,
) -> dict[str, object]:
    """Return a test as a row of data, for `datasets.samples_of`.

    The variables are read as the columns of a data file are; `columns` is our field -> a variable.
    Without a variable for the query, the prompt is the query; without one for the contexts, they
    are what came with the response (`given`, the provider's metadata).
    """
    kept = {name: value for name, value in variables.items() if field_of(name) not in REPLACED}
    fields = {*columns, *map(field_of, kept)}
    if "query" not in fields:
        kept["query"] = prompt
    if "contexts" not in fields:
        kept |= {name: value for name, value in given.items() if field_of(name) == "contexts"}
    return {**kept, "response": text_of(response)}


def text_of(output: object) -> str | None:
    """Return what a provider answered as text: JSON, where it answered with something else."""
    if output is None or isinstance(output, str):
        return output
    return json.dumps(output, ensure_ascii=False)


def field_of(name: str) -> str | None:
    """Return the field of a Sample that a variable of this name is; None for a tag."""
    return FIELD_OF.get(plain_name(name))


Row = Record | Sample | Problem
Values = Mapping[str, object]

ON_CONTEXTS = ("context-", "not-context-")
"""How the types of assertion begin whose metadata hold the contexts; others' are the user's."""
RECALL = "context-recall"
"""The type of assertion whose value is the expected answer."""
PREFIX = "promptfoo"
"""What the names of tags begin with that are promptfoo's own words on a test."""
ASSERTED = 1
"""What `failureReason` is where an assertion failed, and not the call."""
NOTE = "read from each test: vars, prompt, response, and promptfoo's scores as tags"


def results(rows: Iterable[Row]) -> list[Row]:
    """Return a record for each result, by test and prompt, with promptfoo's own scores as tags.

    Its id is the test's number and the prompt's, such as `3.1`. The contexts are those that an
    assertion looked at, and the reference is what a context-recall expected. What no assertion
    tells is the test's variable by any name that ragstone reads; where there is none, the query is
    the prompt, and the contexts are those in the provider's metadata. A test whose provider failed
    says so in its `errors`.
    """
    given = list(rows)
    tests = [row for row in given if isinstance(row, Record)]
    rest = [row for row in given if not isinstance(row, Record)]
    tests.sort(key=lambda test: (_at(test.values, "test"), _at(test.values, "prompt")))
    return [
        *rest,
        *(
            Record(test.row, _record(test.values), failed_fields(_error(test.values)))
            for test in tests
        ),
    ]


def _record(test: Values) -> Values:
    response = _part(test, "response")
    prompt = _part(test, "prompt")
    given = _part(response, "metadata")
    record = record_of(
        _variables(test),
        response.get("output"),
        prompt=str(prompt.get("raw", "")),
        given={"contexts": next((v for k, v in given.items() if field_of(k) == "contexts"), None)},
    )
    number = f"{_at(test, 'test') + 1}.{_at(test, 'prompt') + 1}"
    return {**record, "id": number, **_tags(test, prompt)}


def _variables(test: Values) -> Values:
    """Return the variables, with what the assertions looked at in the place of the like.

    It is what promptfoo's own scores are of: a transform may have made the contexts, and templates
    within a variable are filled there.
    """
    found = dict(_part(test, "vars"))
    for field, seen in (("contexts", _looked_at(test)), ("reference", _expected(test))):
        if seen:
            found[next((name for name in found if field_of(name) == field), field)] = seen
    return found


def _tags(test: Values, prompt: Values) -> Values:
    provider = _part(test, "provider")
    own: dict[str, object] = {
        "provider": provider.get("label") or provider.get("id"),
        "prompt": prompt.get("label"),
        "passed": test.get("success"),
        "score": test.get("score"),
        "error": None if test.get("success") else _first_line(test.get("error")),
    }
    times = Counter[str]()
    for one in _assertions(test):
        kind = _kind(one)
        times[kind] += 1
        own.setdefault(kind if times[kind] == 1 else f"{kind}_{times[kind]}", one.get("score"))
    return {f"{PREFIX}_{name}": value for name, value in own.items()}


def _error(test: Values) -> str | None:
    """Return why the provider gave no answer; failed assertions do not count."""
    response = _part(test, "response")
    if said := error_message(response.get("error")):
        return said
    output = response.get("output")
    unanswered = output is None or (output == "" and not _part(test, "gradingResult"))
    return (
        error_message(test.get("error"))
        if unanswered and test.get("failureReason") != ASSERTED
        else None
    )


def _first_line(error: object) -> str | None:
    """Return what went wrong, without the trace that may follow."""
    return error.partition("\n")[0] if isinstance(error, str) else None


def _looked_at(test: Values) -> object:
    """Return the contexts that the first assertion on contexts looked at."""
    asserted = (one for one in _assertions(test) if _kind(one).startswith(ON_CONTEXTS))
    found = (_part(one, "metadata").get("context") for one in asserted)
    return next((context for context in found if context), None)


def _expected(test: Values) -> object:
    for one in _assertions(test):
        if _kind(one) == RECALL:
            value = _part(one, "assertion").get("value")
            return _part(one, "metadata").get("renderedAssertionValue", value)
    return None


def _kind(assertion: Values) -> str:
    return str(_part(assertion, "assertion").get("type"))


def _assertions(test: Values) -> list[Values]:
    found = _part(test, "gradingResult").get("componentResults")
    items = cast("Sequence[object]", found) if isinstance(found, list) else ()
    return [item for item in items if _is_object(item) and _part(item, "assertion")]


def _at(test: Values, of: str) -> int:
    place = test.get(f"{of}Idx")
    return place if isinstance(place, int) else 0


def _part(of: Values, name: str) -> Values:
    found = of.get(name)
    return found if _is_object(found) else {}


def _is_object(value: object) -> TypeGuard[Values]:
    return isinstance(value, Mapping)
