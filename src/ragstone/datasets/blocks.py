"""Rows of a large file, which are read in blocks when they are needed."""

from abc import abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Self
from zlib import crc32

from ragstone._internal.files import read_parts
from ragstone.datasets.table import Record, Row, Table
from ragstone.errors import Problem, UsageError
from ragstone.types.row import LazySequence

IN_MEMORY = 2**22
"""The largest file, in bytes, whose rows are read at once and stored in memory: 4 MiB."""


class Block(NamedTuple):
    """Some rows of a file.

    Attributes:
        place: the place of its first row in the data set, from 0.
        line: the number of its first row or line in messages.
        start, end: its bytes, and their CRC-32 in `checksum`; not in files of columns.
        file: the number of its file, if there are several.
        first: in files of columns, the place of its first row in its file.
    """

    place: int
    rows: int
    line: int
    start: int
    end: int
    checksum: int
    file: int = 0
    first: int = 0


class FileRows(LazySequence[Row]):
    """Rows of a file; a subclass reads one format. Few of them are in memory at a time.

    A copy in another process reads the same rows if it sees the same file. Rows of a block that
    changed since the file was opened raise a UsageError.

    Attributes:
        blocks: what was found in the file, in order.
        places: the places in the file of the rows that this sequence has.
        tail: a problem after which nothing more can be read; it is the last row.
        size: how many bytes of text a block has, about; at least one row.
    """

    size = 2**18

    def __init__(self, path: Path, *, limit: int | None) -> None:
        self.path = path
        self.tail: Problem | None = None
        self._read: tuple[Block, Sequence[Any]] | None = None
        self.blocks: Sequence[Block] = tuple(self._scan(limit))
        self.places: Sequence[int] = range(sum(block.rows for block in self.blocks))
        self._maps: tuple[Callable[[Record], Record], ...] = ()

    @abstractmethod
    def _scan(self, limit: int | None) -> Iterator[Block]:
        """Yield the blocks of the file, with `limit` rows at most; sets `tail`."""

    @abstractmethod
    def _parts(self, block: Block) -> Sequence[Any]:
        """Read a block, as one value for each row; raise `changed` if it has changed."""

    @abstractmethod
    def _row(self, part: Any) -> Row:
        """Return the row of such a value."""

    @property
    def is_small(self) -> bool:
        return self.end <= IN_MEMORY

    @property
    def end(self) -> int:
        return self.blocks[-1].end if self.blocks else 0

    def in_memory(self) -> list[Row]:
        return list(self)

    def chosen(self, places: Sequence[int], tail: Problem | None = None) -> Self:
        made = copy(self)
        made.tail, made.places = tail, places
        if places:
            first, last = self._block_of(places[0]), self._block_of(places[-1])
            made.blocks = self.blocks[first : last + 1]
        return made

    def mapped(self, function: Callable[[Record], Record]) -> Self:
        made = copy(self)
        made._maps = (*self._maps, function)
        return made

    def unlimited(self) -> Self:
        made = copy(self)
        made._read = None
        made.blocks = tuple(made._scan(None))
        made.places = range(sum(block.rows for block in made.blocks))
        return made

    def _block_of(self, place: int) -> int:
        return bisect_right(self.blocks, place, key=lambda block: block.place) - 1

    def __len__(self) -> int:
        return len(self.places) + (self.tail is not None)

    def at(self, place: int) -> Row:
        if self.tail is not None and place == len(self.places):
            return self.tail
        place = self.places[place]
        if self._read is None or not 0 <= place - self._read[0].place < self._read[0].rows:
            self.parts(self.blocks[self._block_of(place)])
            assert self._read
        block, parts = self._read
        row = self._row(parts[place - block.place])
        for function in self._maps:
            row = function(row) if isinstance(row, Record) else row
        return row

    def parts(self, block: Block) -> Sequence[Any]:
        if self._read is None or self._read[0].place != block.place:
            self._read = block, self._parts(block)
        return self._read[1]

    def __getstate__(self) -> dict[str, object]:
        return {**self.__dict__, "_read": None}

    def bytes_of(self, block: Block) -> bytes:
        content = b"".join(read_parts(self.path, block.start, block.end))
        if crc32(content) != block.checksum:
            raise self.changed()
        return content

    def changed(self) -> UsageError:
        return UsageError(
            f"{self.path.name} changed while it was read; run the command again with a file that "
            "no program writes to"
        )


def draw_rows(table: Table, number: int, seed: int) -> Table:
    """Return rows drawn at random without replacement, in their order.

    A seed draws the same places in any version of Python, which guarantees what `random()` returns.
    """
    rows = table.rows
    count = len(rows.places) if isinstance(rows, FileRows) else len(rows)
    uniform, places = Random(seed).random, array("q")  # noqa: S311 - no secrets
    for place in range(count):
        if uniform() * (count - place) < number - len(places):
            places.append(place)
    if isinstance(rows, FileRows):
        drawn = rows.chosen(array("q", map(rows.places.__getitem__, places)), rows.tail)
    else:
        drawn = [rows[place] for place in places]
    numbers = table.numbers or range(1, count + 1)
    note = f"{number:,} of {count:,} rows, drawn at random with seed {seed}"
    if number >= count:
        note = f"all {count:,} rows are used, because there are no more than --sample {number}"
    return replace(
        table,
        rows=drawn,
        numbers=array("q", map(numbers.__getitem__, places)),
        notes=(*table.notes, note),
    )
