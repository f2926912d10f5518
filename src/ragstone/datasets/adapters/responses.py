"""Saved responses: what a target answered, in a file, to be judged later; written and read here.

The shape is that of `rag_evaluation`: `{metadata, responses}`. Ids and scores of what was
retrieved, tags, and failures of calls are stored too, under separate names.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from types import MappingProxyType
from typing import cast

from ragstone._internal.text import quoted
from ragstone.datasets.columns import plain_name
from ragstone.datasets.table import Record
from ragstone.errors import Cause, InputError, Problem
from ragstone.types.reply import Failure
from ragstone.types.sample import Context, Sample

MODES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"chat": ("response", "contexts"), "search": ("ranking",)}
)
"""How a target was asked -> the Sample fields that it was asked for."""
UNFINISHED = ".part"
"""What the name of a file ends in whose answers are not whole yet, after that of the whole file."""
Failures = Mapping[str, Failure]
"""Sample field -> why the target did not give it."""


def response_record(
    index: int, sample: Sample, failures: Failures, *, mode: str
) -> dict[str, object]:
    """Return one row of a file of saved responses."""
    retrieved = sample.ranking if mode == "search" else sample.contexts
    record: dict[str, object] = {
        "query_index": index,
        "id": sample.id,
        "query": sample.query,
        "response": None if mode == "search" else sample.response,
        "retrieved_contexts": None if retrieved is None else [each.text for each in retrieved],
        **_parts(retrieved or ()),
        "ground_truth_answer": sample.reference,
        "ground_truth_ids": None if sample.relevance is None else _graded(sample.relevance),
    }
    if sample.reference_claims is not None:
        record["reference_claims"] = list(sample.reference_claims)
    if sample.tags:
        record["tags"] = dict(sample.tags)
    if failures:
        record["failures"] = {
            field: {"cause": failure.cause.value, "message": failure.message}
            for field, failure in failures.items()
        }
    return record


def failures_in(records: Iterable[object], file: str) -> Mapping[int, Failures]:
    """Return place of a row, from 0 -> what failed there, for the rows where something did.

    Raises:
        InputError: the failures of a row are not in this format.
    """
    found: dict[int, Failures] = {}
    problems: list[Problem] = []
    for index, record in enumerate(records):
        if not isinstance(record, Record) or record.values.get("failures") is None:
            continue
        try:
            found[index] = _failures(record.values["failures"])
        except (ValueError, TypeError, AttributeError, LookupError):
            seen = "expected {field: {cause, message}}; the causes are " + ", ".join(Cause)
            problems.append(Problem(seen, row=record.row, column="failures"))
    if problems:
        raise InputError(file, problems)
    return found


def repetitions(records: Iterable[object]) -> tuple[str, ...]:
    """Return a note on rows that are of one place of the data that was asked for, if there are."""
    places = (r.values.get("query_index") for r in records if isinstance(r, Record))
    times = Counter(str(place) for place in places if place is not None)
    twice = [f"{place} ({many} rows)" for place, many in times.items() if many > 1]
    more = ", ..." if len(twice) > 5 else ""
    return (f"repeated query_index: {', '.join(twice[:5])}{more}",) if twice else ()


def absences(mode: object, file: str) -> Mapping[str, str]:
    """Return Sample field -> why a file of this mode has none of it."""
    if mode != "search":
        return {}
    why = f"{file} was collected with --mode search, so no row has {{}}; collect with --mode chat"
    return {field: why.format(field) for field in MODES["chat"]}


def _failures(said: object) -> Failures:
    return {
        field: Failure(Cause(each["cause"]), str(each["message"]))
        for field, each in cast("Mapping[str, Mapping[str, str]]", said).items()
    }


def _parts(retrieved: Sequence[Context]) -> dict[str, object]:
    """Return the lists of ids and scores, where there are any."""
    parts = {
        "retrieved_ids": [each.id for each in retrieved],
        "retrieved_scores": [each.score for each in retrieved],
    }
    return {name: values for name, values in parts.items() if any(v is not None for v in values)}


def _graded(relevance: Mapping[str, float]) -> object:
    """Return ids as a list, numbers where they are such; with their grades if one is not 1."""
    if not relevance or any(grade != 1 for grade in relevance.values()):
        return dict(relevance)
    return [
        int(name) if name.isdecimal() and str(int(name)) == name else name for name in relevance
    ]


# Failed calls: what other tools' files say of calls that errored; nothing is judged of these.

FIELDS = tuple(chain.from_iterable(MODES.values()))
"""Fields of a Sample that a call gives."""
ANY = ""
"""Any value that describes an error."""
_NOTHING = frozenset(("", "none", "null", "nan", "n/a", "false"))
"""What is written, in any case, where nothing went wrong."""
_TEXTS = ("message", "error", "detail", "type", "name")
"""Names of the message in an error that is an object."""
_CAUSES = (
    (Cause.RATE_LIMITED, re.compile(r"\b429\b|rate.?limit|too many requests", re.IGNORECASE)),
    (Cause.TIMEOUT, re.compile(r"time.?out|timed.?out|deadline.?exceeded", re.IGNORECASE)),
)
"""Cause -> pattern of its messages; all other errors are `unreachable`."""


def whole(said: str | None) -> Mapping[str, str]:
    """Return field -> what went wrong, for a call that gave nothing; nothing for None."""
    return {} if said is None else dict.fromkeys(FIELDS, said)


def told(value: object) -> str | None:
    """Return the first line of an error; None if the value is not an error."""
    if isinstance(value, Mapping):
        parts = cast("Mapping[object, object]", value)
        value = next((parts[name] for name in _TEXTS if parts.get(name)), str(parts or ""))
    if value is None or str(value).strip().casefold() in _NOTHING:
        return None
    return "no reason given" if value is True else quoted(str(value).strip().splitlines()[0])


def error_in(record: Record, signs: Mapping[str, str], causes: Sequence[str]) -> str | None:
    """Return the error of a record's call; None if it did not fail.

    `signs` is column -> its value for failure, or ANY; the message is in the
    first of the columns `causes` that has one.
    """
    held = {plain_name(name): value for name, value in record.values.items() if value is not None}
    for column, sign in signs.items():
        value = held.get(plain_name(column))
        if told(value) is None or (sign != ANY and str(value).casefold() != sign.casefold()):
            continue
        said = (told(held.get(plain_name(name))) for name in causes)
        return next(filter(None, said), f"{column} is {value}")
    return None


def without_failed(
    samples: Sequence[Sample], errors: Sequence[Mapping[str, str]], *, asked: Sequence[str] = ()
) -> tuple[tuple[Sample, ...], Mapping[int, Failures]]:
    """Return samples without what failed calls gave, and place of a row -> why it lacks what.

    `errors` is field -> what went wrong, for each sample, or empty if nothing did. A failed call
    lacks the fields that were `asked` for: without these, those that a call gave which did not
    fail; if all failed, the answer and its contexts. What it gave of them stays, but for the answer
    and what is empty.
    """
    if not any(errors):
        return tuple(samples), {}
    pairs = list(zip(samples, errors, strict=True))
    gave = [name for name in FIELDS if any(not e and _has(s, name) for s, e in pairs)]
    usual = asked or gave or MODES["chat"]
    made: list[Sample] = []
    lacking: dict[int, Failures] = {}
    for index, (sample, said) in enumerate(pairs):
        gone = [name for name in said if _is_gone(sample, name, usual)]
        made.append(sample.model_copy(update=dict.fromkeys(gone)) if gone else sample)
        if gone:
            lacking[index] = {name: _failure(said[name]) for name in gone}
    return tuple(made), lacking


def _is_gone(sample: Sample, name: str, usual: Sequence[str]) -> bool:
    if name == "response" and sample.response is not None:
        return True
    return name in usual and not getattr(sample, name)


def _has(sample: Sample, name: str) -> bool:
    return getattr(sample, name) is not None


def _failure(said: str) -> Failure:
    cause = next((cause for cause, words in _CAUSES if words.search(said)), Cause.UNREACHABLE)
    return Failure(cause, f"the file records a failed call: {said}")
