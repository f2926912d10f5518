"""Record: what one row puts into the tables, and how records are written."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce
from itertools import chain
from operator import add

from sqlalchemy import Connection, Table

from ragstone.rows import Row
from ragstone.scores import State
from ragstone.store.codec import column, encoded, query_fingerprint
from ragstone.store.schema import ROWS, SCORES, TEXTS
from ragstone.usage import NOTHING_SPENT

AT_ONCE = 2000
"""Lines of one statement, at most: some databases take 32,766 values in one."""

_STATES = {state: state.value for state in State}  # an enumeration's own way is slow


@dataclass(frozen=True)
class Record:
    """One row as the values of the tables' columns, in their order.

    Attributes:
        size: characters of text in it.
    """

    row: tuple[object, ...]
    scores: tuple[tuple[object, ...], ...]
    texts: tuple[object, ...]
    size: int

    @classmethod
    def of(cls, run: int, row: Row, *, transcript: bool) -> "Record":
        """Make the record of a row of the run with that number."""
        place, sample = row.index, row.sample
        spent = [exchange.outcome.usage for exchange in row.exchanges]
        usage = reduce(add, spent) if spent else NOTHING_SPENT
        texts = encoded(row, transcript=transcript)
        return cls(
            row=(
                run,
                place,
                column(sample.id),
                query_fingerprint(sample.query),
                usage.calls,
                usage.cached,
                usage.retries,
                usage.prompt_tokens,
                usage.completion_tokens,
                usage.cached_tokens,
                usage.reasoning_tokens,
                usage.cost_usd,
            ),
            scores=tuple(
                (
                    run,
                    column(name),
                    place,
                    _STATES[score.state],
                    score.value,
                    score.passed,
                    score.fallback,
                    score.cause and score.cause.value,
                )
                for name, score in row.scores.items()
            ),
            texts=(run, place, texts.body, texts.transcript),
            size=len(texts.body) + len(texts.transcript),
        )


def write(connection: Connection, records: Sequence[Record]) -> None:
    """Write records within the connection's transaction, in place of those of the same places."""
    last = {record.row[:2]: record for record in records}.values()
    for table, lines in (
        (ROWS, [record.row for record in last]),
        (SCORES, [score for record in last for score in record.scores]),
        (TEXTS, [record.texts for record in last]),
    ):
        for start in range(0, len(lines), AT_ONCE):
            some = lines[start : start + AT_ONCE]
            sql = _put(table, lines=len(some), dialect=connection.dialect.name)
            connection.exec_driver_sql(sql, tuple(chain.from_iterable(some)))


@lru_cache(maxsize=64)
def _put(table: Table, *, lines: int, dialect: str) -> str:
    """Return the statement that inserts lines and replaces those whose key is there.

    One statement for many: a statement for each line would have the writer's thread and the
    event loop pass Python's lock to and fro thousands of times a second.
    """
    names = [each.name for each in table.c]
    keys = [each.name for each in table.primary_key]
    replaced = ", ".join(f"{name} = excluded.{name}" for name in names if name not in keys)
    mark = "?" if dialect == "sqlite" else "%s"
    line = f"({', '.join(mark for _ in names)})"
    return (
        f"INSERT INTO {table.name} ({', '.join(names)}) "  # noqa: S608 - our own names
        f"VALUES {', '.join(line for _ in range(lines))} "
        f"ON CONFLICT ({', '.join(keys)}) DO UPDATE SET {replaced}"
    )
