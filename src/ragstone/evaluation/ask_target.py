"""Asks a target for responses, contexts and rankings, and adds them to rows."""

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import cast

from ragstone._internal.concurrency import Results, working
from ragstone._internal.plugins import describe_exception, is_builtin, is_from_code
from ragstone.errors import CallError, Cause, RagstoneError
from ragstone.targets.base import FIELDS, Answer, Target
from ragstone.targets.http import parse_field
from ragstone.types.reply import Failure
from ragstone.types.row import Row

DROPPED = "the stored response was discarded, because it does not belong to the target's contexts"
REPLACED = (
    "the stored value of {} was replaced, so that all fields come from one reply of the target"
)


def ask_target(
    rows: Iterable[Row], target: Target, *, wanted: frozenset[str], every: bool, concurrency: int
) -> AbstractAsyncContextManager[Results[Row]]:
    """Ask the target for the wanted fields, `concurrency` rows at a time, in finishing order.

    With `every`, the target is asked for all rows; otherwise only for missing fields.
    """

    async def ask(row: Row) -> Row:
        present = {field for field in FIELDS if getattr(row.sample, field) is not None}
        missing = wanted if every else wanted - present
        if not missing:
            return row
        try:
            answer = await target.ask(row.sample, missing)
            if not isinstance(cast("object", answer), Answer):
                raise TypeError(f"it returned a {type(answer).__name__}, not an Answer")
        except RagstoneError:
            raise
        except BaseException as error:
            if is_builtin(target) or not is_from_code(error):
                raise
            failure = Failure(Cause.TARGET_ERROR, describe_exception("the target", error))
            answer = Answer({}, dict.fromkeys(missing, failure))
        return add_answer(row, validate_answer(answer, missing), every=every)

    return working(rows, ask, concurrency=concurrency)


def validate_answer(answer: Answer, wanted: frozenset[str]) -> Answer:
    fields: dict[str, object] = {}
    failures = dict(answer.failures)
    for name, value in answer.fields.items():
        try:
            fields[name] = parse_field(name, value)
        except CallError as error:
            failures[name] = Failure(error.cause, str(error))
    optional = {"ranking"} if "contexts" in fields else set[str]()
    for name in wanted - fields.keys() - failures.keys() - optional:
        failures[name] = Failure(Cause.MALFORMED, f"the target returned no {name}")
    return replace(answer, fields=fields, failures=failures)


def add_answer(row: Row, answer: Answer, *, every: bool) -> Row:
    """Return the row with a target's answer; failed fields are cleared and listed in `failures`.

    The fields of a row must come from one reply, so new contexts discard an old response and, with
    `every`, an old ranking.
    """
    fields: dict[str, object] = {**dict.fromkeys(answer.failures), **answer.fields}
    failures = dict(answer.failures)
    notes = row.notes
    if "contexts" in fields and every:
        fields.setdefault("ranking", None)
    if "contexts" in answer.fields and "response" not in fields:
        fields["response"] = None
        notes += (DROPPED,) if row.sample.response is not None else ()
    if not every:
        replaced = [name for name in answer.fields if getattr(row.sample, name) is not None]
        notes += tuple(REPLACED.format(name) for name in replaced)
        if "contexts" in replaced and row.sample.ranking is None:
            fields.setdefault("ranking", row.sample.contexts)  # the old contexts were ranked
    if "contexts" in failures and fields.get("ranking", row.sample.ranking) is None:
        failures.setdefault("ranking", failures["contexts"])  # they would have been the ranking
    return replace(
        row,
        sample=row.sample.model_copy(update=fields),
        failures=failures,
        calls=answer.calls,
        notes=notes,
    )
