"""Saved responses: a target's answers in a file, to be judged later; and failed calls in files.

The format is that of `rag_evaluation`, `{metadata, responses}`, with separate names for the ids and
scores of what was retrieved, tags, and failures of calls.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import cast

from ragstone._internal.text import quoted
from ragstone.datasets.columns import plain_name
from ragstone.datasets.table import Record, Row, records_in
from ragstone.errors import Cause, InputError, Problem
from ragstone.types.reply import Failure
from ragstone.types.sample import Sample

MODES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"chat": ("response", "contexts"), "search": ("ranking",)}
)
"""The mode of a collection -> the Sample fields that it requests."""
UNFINISHED = ".part"
"""Suffix of a file that is not complete yet, after the name of the complete file."""
Failures = Mapping[str, Failure]
"""Sample field -> why the target did not give it."""


def response_record(
    index: int, sample: Sample, failures: Failures, *, mode: str
) -> dict[str, object]:
    retrieved = sample.ranking if mode == "search" else sample.contexts
    ids = [each.id for each in retrieved or ()]
    scores = [each.score for each in retrieved or ()]
    relevant: object = None if sample.relevance is None else dict(sample.relevance)
    if sample.relevance and all(grade == 1 for grade in sample.relevance.values()):
        relevant = [
            int(name) if name.isdecimal() and str(int(name)) == name else name
            for name in sample.relevance
        ]
    record: dict[str, object] = {
        "query_index": index,
        "id": sample.id,
        "query": sample.query,
        "response": None if mode == "search" else sample.response,
        "retrieved_contexts": None if retrieved is None else [each.text for each in retrieved],
        **({"retrieved_ids": ids} if any(each is not None for each in ids) else {}),
        **({"retrieved_scores": scores} if any(each is not None for each in scores) else {}),
        "ground_truth_answer": sample.reference,
        "ground_truth_ids": relevant,
    }
    if sample.reference_claims is not None:
        record["reference_claims"] = list(sample.reference_claims)
    if sample.history is not None:
        record["history"] = [each.model_dump() for each in sample.history]
    if sample.tags:
        record["tags"] = dict(sample.tags)
    if failures:
        record["failures"] = {
            field: {"cause": failure.cause.value, "message": failure.message}
            for field, failure in failures.items()
        }
    return record


def failures_in(rows: Iterable[Row], file: str) -> Mapping[int, Failures]:
    found: dict[int, Failures] = {}
    problems: list[Problem] = []
    for index, record in enumerate(records_in(rows)):
        failures = cast("Mapping[str, Mapping[str, str]] | None", record.values.get("failures"))
        if failures is None:
            continue
        try:
            found[index] = {
                field: Failure(Cause(each["cause"]), str(each["message"]))
                for field, each in failures.items()
            }
        except (ValueError, TypeError, AttributeError, LookupError):
            seen = "expected {field: {cause, message}}; the causes are " + ", ".join(Cause)
            problems.append(Problem(seen, row=record.row, column="failures"))
    if problems:
        raise InputError(file, problems)
    return found


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
