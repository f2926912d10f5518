"""ValueBlock: what ranking metrics say of some thousand queries, as the store holds it.

Numbers are float64, little-endian, a metric's side by side; all is packed by zlib.
"""

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter
from sqlalchemy import Connection

from ragstone.ranked_values import RankedValues
from ragstone.store.codec import column, from_text
from ragstone.store.schema import QUERY_BLOCKS, VALUE_BLOCKS

AT_ONCE = 10_000
"""Queries of one block: what is read to look at one of them."""
FAST = 1
"""Of zlib: a second's work for what the next level makes a fifth smaller."""
_FLOAT = np.dtype("<f8")
_NAMES: TypeAdapter[tuple[list[str], dict[str, str]]] = TypeAdapter(
    tuple[list[str], dict[str, str]]
)
_FAILED: TypeAdapter[list[tuple[int, str]]] = TypeAdapter(list[tuple[int, str]])


@dataclass(frozen=True)
class Names:
    """The queries of a block.

    Attributes:
        ids: of the queries.
        texts: query id -> its text, where there is one.
        why: uint8[Q], as of RankedRows.
    """

    ids: Sequence[str]
    texts: Mapping[str, str]
    why: NDArray[np.uint8]


def blocks_of(values: RankedValues) -> Iterator[tuple[int, RankedValues]]:
    """Yield the values a block at a time, with the place of its first query."""
    for start in range(0, len(values), AT_ONCE):
        some = slice(start, start + AT_ONCE)
        ids = values.ids[some]
        ends = start, start + len(ids)
        yield (
            start,
            RankedValues(
                ids=ids,
                texts={name: values.texts[name] for name in ids if name in values.texts},
                metrics=values.metrics,
                values=values.values[some],
                why=values.why[some],
                failed={name: _within(failed, *ends) for name, failed in values.failed.items()},
            ),
        )


def write_block(connection: Connection, run: int, place: int, block: RankedValues) -> None:
    """Write one block of the run with that number, within the connection's transaction."""
    line = {"run": run, "place": place, "queries": len(block)}
    names = json.dumps([list(block.ids), dict(block.texts)])
    packed = {"why": _packed(block.why.tobytes()), "names": _packed(names.encode())}
    connection.execute(QUERY_BLOCKS.insert().values(line | packed))
    lines = [
        {
            "run": run,
            "metric": column(metric),
            "place": place,
            "failed": _packed(json.dumps(list(failed.items())).encode()) if failed else None,
            "numbers": _packed(block.numbers(metric).astype(_FLOAT).tobytes()),
        }
        for metric in block.metrics
        for failed in [block.failures(metric)]
    ]
    if lines:
        connection.execute(VALUE_BLOCKS.insert(), lines)


def names_of(names: bytes, why: bytes) -> Names:
    """Return the queries that two cells of QUERY_BLOCKS were made of.

    Raises:
        ValueError: they were not made so.
    """
    ids, texts = from_text(_NAMES, _unpacked(names).decode())
    found = np.frombuffer(_unpacked(why), dtype=np.uint8)
    if len(ids) != len(found):
        raise ValueError(f"{len(ids)} ids are there, and of {len(found)} is known whether scored")
    return Names(ids, texts, found)


def numbers_of(numbers: bytes, queries: int) -> NDArray[np.float64]:
    """Return the numbers, one a query, that a cell of VALUE_BLOCKS was made of.

    Raises:
        ValueError: it was not made so.
    """
    found = np.frombuffer(_unpacked(numbers), dtype=_FLOAT).astype(np.float64, copy=False)
    if len(found) != queries:
        raise ValueError(f"{len(found)} numbers are there for {queries} queries")
    return found


def failures_of(failed: bytes) -> dict[int, str]:
    """Return where in its block a metric failed, and why.

    Raises:
        ValueError: the cell was not made of that.
    """
    return dict(from_text(_FAILED, _unpacked(failed).decode()))


def _within(failed: Mapping[int, str], start: int, end: int) -> dict[int, str]:
    return {place - start: words for place, words in failed.items() if start <= place < end}


def _packed(content: bytes) -> bytes:
    return zlib.compress(content, FAST)


def _unpacked(content: bytes) -> bytes:
    try:
        return zlib.decompress(content)
    except zlib.error as error:
        raise ValueError(str(error)) from error
