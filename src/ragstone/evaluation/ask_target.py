"""Collection: rows and a target -> rows with responses, contexts and ranking."""

from collections.abc import AsyncIterator, Iterable
from contextlib import AbstractAsyncContextManager
from dataclasses import replace

from ragstone._internal.concurrency import working
from ragstone.errors import CallError, Cause
from ragstone.targets.base import FIELDS, Answer, Target
from ragstone.targets.http import shaped
from ragstone.types.reply import Failure
from ragstone.types.row import Row

DROPPED = "the stored response was left out: the target gave contexts that it was not made from"
REPLACED = "the stored {} gave way to the target's: the fields of one answer belong together"


def collecting(
    rows: Iterable[Row], target: Target, *, wanted: frozenset[str], every: bool, concurrency: int
) -> AbstractAsyncContextManager[AsyncIterator[Row]]:
    """Ask the target for the wanted fields, `concurrency` rows at a time, rows as they finish.

    `every` asks for every row, even where it holds the fields; else only for what it lacks.
    """

    async def collect(row: Row) -> Row:
        missing = wanted if every else wanted - held(row)
        if not missing:
            return row
        answer = checked(await target.ask(row.sample, missing), missing)
        return collected(row, answer, every=every)

    return working(rows, collect, concurrency=concurrency)


def held(row: Row) -> frozenset[str]:
    """Return which of a target's fields the row holds already."""
    return frozenset(field for field in FIELDS if getattr(row.sample, field) is not None)


def checked(answer: Answer, wanted: frozenset[str]) -> Answer:
    """Return a target's answer with its fields in shape; what is not, or is absent, is lacking."""
    fields: dict[str, object] = {}
    lacking = dict(answer.lacking)
    for name, value in answer.fields.items():
        try:
            fields[name] = shaped(name, value)
        except CallError as error:
            lacking[name] = Failure(error.cause, str(error))
    met = {"ranking"} if "contexts" in fields else set[str]()
    for name in wanted - fields.keys() - lacking.keys() - met:
        lacking[name] = Failure(Cause.MALFORMED, f"the target gave no {name}")
    return replace(answer, fields=fields, lacking=lacking)


def collected(row: Row, answer: Answer, *, every: bool) -> Row:
    """Return the row with a target's answer; what failed is told in `lacking`.

    What the row held of a failed field is gone. Contexts of today are not joined with yesterday's
    response, nor, with `every`, with yesterday's ranking: the fields of a row belong together.
    """
    fields: dict[str, object] = {**dict.fromkeys(answer.lacking), **answer.fields}
    lacking = dict(answer.lacking)
    notes = row.notes
    if "contexts" in fields and every:
        fields.setdefault("ranking", None)
    if "contexts" in answer.fields and "response" not in fields:
        fields["response"] = None
        notes += (DROPPED,) if row.sample.response is not None else ()
    if not every:
        gone = [name for name in answer.fields if getattr(row.sample, name) is not None]
        notes += tuple(REPLACED.format(name) for name in gone)
        if "contexts" in gone and row.sample.ranking is None:
            fields.setdefault("ranking", row.sample.contexts)  # what was ranked stays ranked
    if "contexts" in lacking and fields.get("ranking", row.sample.ranking) is None:
        lacking.setdefault("ranking", lacking["contexts"])  # they would have stood in for it
    return replace(
        row,
        sample=row.sample.model_copy(update=fields),
        lacking=lacking,
        calls=answer.calls,
        notes=notes,
    )
