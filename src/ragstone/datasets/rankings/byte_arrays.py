"""Texts: many byte strings in one buffer, hashed and compared without an object each."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar, overload

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

PADDING = b"\xff" * 8
"""The bytes before and after a buffer's texts, so that eight bytes can be read at each end; none is
blank."""

_WORD = np.dtype("<u8")
_START, _STEP, _END = (
    np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_HALF, _THIRD = np.uint64(32), np.uint64(29)


@dataclass(frozen=True)
class Texts:
    """N byte strings: where each begins in the buffer, and its bytes.

    Attributes:
        buffer: uint8, PADDING first and last.
        starts, lengths: int64[N].
    """

    buffer: NDArray[np.uint8]
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, strings: Sequence[str]) -> "Texts":
        """Take strings as UTF-8; half a character, which UTF-8 has not, keeps bytes of its own."""
        joined = "\n".join(strings).encode("utf-8", "surrogatepass")
        buffer = padded(joined)
        breaks = np.flatnonzero(buffer == ord("\n"))
        if len(breaks) == len(strings) - 1:
            starts = np.append(len(PADDING), breaks + 1)
            return cls(buffer, starts, np.append(breaks, len(joined) + len(PADDING)) - starts)
        sizes = (len(each.encode("utf-8", "surrogatepass")) for each in strings)
        lengths = np.fromiter(sizes, dtype=np.int64, count=len(strings))
        return cls(buffer, np.cumsum(lengths + 1) - lengths - 1 + len(PADDING), lengths)

    @classmethod
    def joint(cls, buffer: NDArray[np.uint8], lengths: Integers) -> "Texts":
        """Take texts that follow each other without gaps."""
        return cls(buffer, np.cumsum(lengths) - lengths + len(PADDING), lengths)

    def joined(self) -> NDArray[np.uint8]:
        """Return the bytes of all texts, one right behind the other.

        They are in the buffer in their order.
        """
        full = self.lengths > 0
        edges = np.zeros(len(self.buffer), dtype=np.int8)
        edges[self.starts[full]] += 1
        edges[self.starts[full] + self.lengths[full]] -= 1  # where the next may begin
        return self.buffer[np.cumsum(edges, dtype=np.int8, out=edges).view(np.bool_)]

    def __len__(self) -> int:
        """N."""
        return len(self.starts)

    def part(self, places: "Integers | slice") -> "Texts":
        """Return some of the texts, in the same buffer."""
        return Texts(self.buffer, self.starts[places], self.lengths[places])

    @property
    def words(self) -> Hashes:
        """The eight bytes at each place of the buffer as one number, without a copy."""
        count = max(len(self.buffer) - 7, 0)
        return np.ndarray((count,), dtype=_WORD, buffer=self.buffer.data, strides=(1,))

    def word(self, number: int) -> Hashes:
        """Return uint64[N]: eight bytes of each text, from the 8 * number-th; 0 past its end."""
        starts, left = self.starts, self.lengths
        if number:
            starts = np.minimum(starts + 8 * number, len(self.buffer) - 8)
            left = np.maximum(left - 8 * number, 0)
        gap = (8 - np.minimum(left, 8)) << 3
        word = self.words[starts]
        word <<= gap.view(np.uint64)
        word >>= gap.view(np.uint64)  # NumPy's shift by 64 bits leaves nothing
        return word

    @property
    def longest(self) -> int:
        """The words that the longest text takes."""
        return -(-int(self.lengths.max(initial=0)) // 8)

    def hashes(self) -> Hashes:
        """Return uint64[N]: equal for equal texts, and for others hardly ever."""
        hashed = self.lengths.astype(np.uint64) * _START
        for number in range(max(self.longest, 2)):
            # two words of each, so that few texts have to be picked out
            some = slice(None) if number < 2 else np.flatnonzero(self.lengths > 8 * number)
            mixed = self.part(some).word(number)
            mixed ^= hashed[some]
            mixed *= _STEP
            mixed ^= mixed >> _HALF
            hashed[some] = mixed
        hashed *= _END
        hashed ^= hashed >> _THIRD
        return hashed

    def equal(self, other: "Texts") -> NDArray[np.bool_]:
        """Return bool[N]: which texts are the other's of the same place, byte by byte."""
        same = self.lengths == other.lengths
        for number in range(min(self.longest, other.longest)):
            same &= self.word(number) == other.word(number)
        return same

    def changes(self) -> Integers:
        """Return where a text differs from the one before it; 0 is the first of these places."""
        new = np.ones(len(self), dtype=np.bool_)
        new[1:] = self.lengths[1:] != self.lengths[:-1]
        for number in range(self.longest):
            word = self.word(number)
            new[1:] |= word[1:] != word[:-1]
        return np.flatnonzero(new)

    def falling(self) -> list[NDArray[np.uint64]]:
        """Return the keys by which `numpy.lexsort` puts the greatest text first, byte by byte."""
        words = [~self.word(number).byteswap() for number in range(self.longest)]
        return [~self.lengths.astype(np.uint64), *reversed(words)]

    def bytes_at(self, place: int) -> bytes:
        """Return one text as bytes."""
        start = int(self.starts[place])
        return self.buffer[start : start + int(self.lengths[place])].tobytes()

    def text(self, place: int) -> str:
        """Return one text; a byte that is not UTF-8 becomes half a character."""
        found = self.bytes_at(place)
        try:
            return found.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return found.decode("utf-8", "surrogateescape")

    def strings(self) -> list[str]:
        """Return all texts, as `text` does."""
        view = memoryview(self.buffer.data)
        pairs = zip(self.starts.tolist(), (self.starts + self.lengths).tolist(), strict=True)
        try:
            return [str(view[start:end], "utf-8", "surrogatepass") for start, end in pairs]
        except UnicodeDecodeError:
            return [self.text(place) for place in range(len(self))]


def padded(content: bytes) -> NDArray[np.uint8]:
    """Return a buffer of these bytes."""
    return np.frombuffer(b"".join((PADDING, content, PADDING)), dtype=np.uint8)


# Spans: which of many things, one after the other, belong to which owner.

CELLS = 1 << 17
"""What is looked at at once: 1 MB of hashes."""
_EMPTY = np.uint64(2**64 - 1)


@dataclass(frozen=True)
class Spans:
    """Q owners of N things, the first owner's first.

    Attributes:
        sizes: int64[Q], how many each owns.
        starts: int64[Q], where each one's begin.
    """

    sizes: Integers
    starts: Integers

    @classmethod
    def of(cls, sizes: Integers) -> "Spans":
        """Take how many each owns."""
        return cls(sizes, np.cumsum(sizes) - sizes)

    def of_some(self, owners: Integers) -> "Spans":
        """Return how many each of some owners has, as if they were all; -1 is one with nothing."""
        known = owners >= 0
        sizes = np.zeros(len(owners), dtype=np.int64)
        sizes[known] = self.sizes[owners[known]]
        return Spans.of(sizes)

    def members(self, owners: Integers) -> Integers:
        """Return the places of the things of some owners, one owner's after the other's."""
        sizes = self.sizes[owners]
        return np.repeat(self.starts[owners], sizes) + self.ranks(sizes)

    @staticmethod
    def ranks(sizes: Integers) -> Integers:
        """Return 0, 1, 2 and so on for each owner, one owner after the other."""
        starts = np.cumsum(sizes) - sizes
        return np.arange(int(sizes.sum())) - np.repeat(starts, sizes)

    def owner(self, place: int) -> int:
        """Return who owns the thing at a place."""
        return int(np.searchsorted(self.starts + self.sizes, place, side="right"))

    def twice(self, texts: Texts, hashes: Hashes) -> Iterator[tuple[int, int]]:
        """Yield the places of two texts of one owner that are the same; `hashes` are theirs."""
        for owners in self.blocks(CELLS):
            things = self.between(owners)
            if not self._crowded(owners, hashes[things]):
                continue
            first: dict[tuple[int, bytes], int] = {}
            for place in range(things.start, things.stop):
                key = self.owner(place), texts.bytes_at(place)
                if key in first:
                    yield first[key], place
                else:
                    first[key] = place

    def _crowded(self, owners: slice, hashes: Hashes) -> bool:
        sizes = self.sizes[owners]
        keys = np.full((len(sizes), int(sizes.max(initial=0))), _EMPTY)
        fill(keys, hashes >> np.uint64(1), sizes)
        keys.sort(axis=1)
        return bool(np.any((keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] != _EMPTY)))

    def between(self, owners: slice) -> slice:
        """Return the positions of the items of consecutive owners."""
        last = owners.stop - 1
        return slice(int(self.starts[owners.start]), int(self.starts[last] + self.sizes[last]))

    def blocks(self, cells: int, other: "Spans | None" = None) -> Iterator[slice]:
        """Yield consecutive owners, as many as fit into a table of so many cells.

        The table has one line per owner, as wide as the most that one of them owns; with `other`,
        what they own there is beside it.
        """
        beside = np.zeros_like(self.sizes) if other is None else other.sizes
        sizes = self.sizes + beside
        if not len(sizes):
            return
        widest = int(self.sizes.max() + beside.max())
        if widest <= 2 * sizes.mean():  # they have similar sizes
            step = max(1, cells // max(widest, 1))
            for start in range(0, len(sizes), step):
                yield slice(start, min(start + step, len(sizes)))
            return
        start, deep, wide = 0, 0, 0
        pairs = zip(self.sizes.tolist(), beside.tolist(), strict=True)
        for place, (one, two) in enumerate(pairs):
            deep, wide = max(deep, one), max(wide, two)
            if place > start and (place + 1 - start) * (deep + wide) > cells:
                yield slice(start, place)
                start, deep, wide = place, one, two
        yield slice(start, len(sizes))


def fill(table: Hashes, values: Hashes, sizes: Integers) -> None:
    """Enter each owner's values into its line of the table, from the left."""
    width = table.shape[1]
    if width and int(sizes.min()) == width:
        table[:] = values.reshape(-1, width)
    else:
        table[np.repeat(np.arange(len(sizes)), sizes), Spans.ranks(sizes)] = values


# Growing: columns of numbers that are filled part by part, and never held twice.

Numbers = NDArray[np.int32] | NDArray[np.int64] | NDArray[np.uint64] | NDArray[np.float64]
Kind = type[np.int32] | type[np.int64] | type[np.uint64] | type[np.float64]


class Growing:
    """Columns of numbers, each of its kind; joined parts would take twice the room for a moment."""

    def __init__(self, *kinds: Kind) -> None:
        self._kinds = kinds
        self._columns = [bytearray() for _ in kinds]

    def add(self, *parts: Numbers) -> None:
        """Add some numbers to each column."""
        for column, kind, part in zip(self._columns, self._kinds, parts, strict=True):
            column += part.astype(kind, copy=False).tobytes()

    def integers(self, column: int) -> NDArray[np.int64]:
        """Return a column of int64."""
        return np.frombuffer(self._columns[column], dtype=np.int64)

    def small_integers(self, column: int) -> NDArray[np.int32]:
        """Return a column of int32."""
        return np.frombuffer(self._columns[column], dtype=np.int32)

    def hashes(self, column: int) -> NDArray[np.uint64]:
        """Return a column of uint64."""
        return np.frombuffer(self._columns[column], dtype=np.uint64)

    def floats(self, column: int) -> NDArray[np.float64]:
        """Return a column of float64."""
        return np.frombuffer(self._columns[column], dtype=np.float64)


# Lazy: a sequence whose items are made when they are looked at.

T = TypeVar("T")


class Lazy(Sequence[T]):
    """`size` items, each made from its place, and kept nowhere."""

    def __init__(self, size: int, make: Callable[[int], T]) -> None:
        self._size, self._make = size, make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self[each] for each in range(*index.indices(self._size))]
        place = index + self._size if index < 0 else index
        if not 0 <= place < self._size:
            raise IndexError(f"item {index} of {self._size}")
        return self._make(place)
