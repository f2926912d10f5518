"""Saved responses in the format of `rag_evaluation`, and failed calls that files record."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import cast

from ragstone._internal.text import quoted
from ragstone.datasets.columns import plain_name
from ragstone.datasets.table import Record, Row, records_in
from ragstone.errors import Cause
from ragstone.types.reply import Failure
from ragstone.types.sample import Sample

MODES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"chat": ("response", "contexts"), "search": ("ranking",)}
)
"""The mode of a collection -> the Sample fields that it requests."""
Failures = Mapping[str, Failure]
"""Sample field -> why the target did not give it."""


def repetitions(rows: Iterable[Row]) -> tuple[str, ...]:
    indexes = (record.values.get("query_index") for record in records_in(rows))
    times = Counter(str(index) for index in indexes if index is not None)
    twice = [f"{index} ({many} rows)" for index, many in times.items() if many > 1]
    more = ", ..." if len(twice) > 5 else ""
    return (f"repeated query_index: {', '.join(twice[:5])}{more}",) if twice else ()


def absences(mode: object, file: str) -> Mapping[str, str]:
    if mode != "search":
        return {}
    why = f"{file} was collected with --mode search, so no row has {{}}; collect with --mode chat"
    return {field: why.format(field) for field in MODES["chat"]}


FIELDS = tuple(chain.from_iterable(MODES.values()))
"""Fields of a Sample that a call can return."""
ANY = ""
"""Any value that describes an error."""
_NOTHING = frozenset(("", "none", "null", "nan", "n/a", "false"))
"""Values of a successful call, in any case."""
_TEXTS = ("message", "error", "detail", "type", "name")
"""Names of the message in an error that is an object."""
_CAUSES = (
    (Cause.RATE_LIMITED, re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE)),
    (Cause.TIMEOUT, re.compile(r"time.?out|timed.?out|deadline.?exceeded", re.IGNORECASE)),
)
"""Cause -> pattern of its messages; all other errors are `unreachable`."""


def failed_fields(error: str | None) -> Mapping[str, str]:
    return {} if error is None else dict.fromkeys(FIELDS, error)


def error_message(value: object) -> str | None:
    if isinstance(value, Mapping):
        parts = cast("Mapping[object, object]", value)
        value = next((parts[name] for name in _TEXTS if parts.get(name)), str(parts or ""))
    if value is None or str(value).strip().casefold() in _NOTHING:
        return None
    return "no reason given" if value is True else quoted(str(value).strip().splitlines()[0])


def error_in(record: Record, signs: Mapping[str, str], causes: Sequence[str]) -> str | None:
    """Return the error of a record's call; None if it did not fail.

    `signs` is column -> its value for failure in lower case, or ANY; the message is in the first of
    the columns `causes` that has one.
    """
    given = {plain_name(n): value for n, value in record.values.items() if value is not None}
    for column, sign in signs.items():
        value = given.get(plain_name(column))
        if error_message(value) is not None and sign in (ANY, str(value).casefold()):
            messages = (error_message(given.get(plain_name(name))) for name in causes)
            return next(filter(None, messages), f"{column} is {value}")
    return None


def failed_calls(
    samples: Sequence[Sample],
    errors: Mapping[int, Mapping[str, str]],
    *,
    asked: Sequence[str] = (),
) -> Mapping[int, Failures]:
    """Return index of a sample -> its failures: the fields that it is missing, and why.

    `errors` is index -> field -> error, of failed calls. A failed call is missing the fields that
    were `asked` for, by default those that successful calls returned; if all failed, the response
    and its contexts. Other fields that it returned are kept.
    """
    if not errors:
        return {}
    returned = set[str]()
    for index, sample in enumerate(samples):
        if index not in errors:
            returned.update(name for name in FIELDS if getattr(sample, name) is not None)
    usual = asked or returned or MODES["chat"]
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
