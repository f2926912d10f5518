"""Many texts in one buffer, hashed and compared without a Python object each; and their owners."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ragstone.types.row import LazySequence

Integers = NDArray[np.int64]
Hashes = NDArray[np.uint64]

PADDING = b"\xff" * 8
"""The bytes before and after a buffer's texts, so that eight bytes can be read at each end; none is
a blank."""

_WORD = np.dtype("<u8")
_START, _STEP, _END = (
    np.uint64(each) for each in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)
_HALF, _THIRD = np.uint64(32), np.uint64(29)


@dataclass(frozen=True)
class Texts:
    """N byte strings: where each begins in the buffer, and its length.

    Attributes:
        buffer: uint8, PADDING first and last.
        starts, lengths: int64[N].
    """

    buffer: NDArray[np.uint8]
    starts: Integers
    lengths: Integers

    @classmethod
    def of(cls, strings: Sequence[str]) -> "Texts":
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
        return cls(buffer, np.cumsum(lengths) - lengths + len(PADDING), lengths)

    def joined(self) -> NDArray[np.uint8]:
        """Return the bytes of all texts without gaps; their order must be that of the buffer."""
        full = self.lengths > 0
        edges = np.zeros(len(self.buffer), dtype=np.int8)
        edges[self.starts[full]] += 1
        edges[self.starts[full] + self.lengths[full]] -= 1  # where the next may begin
        return self.buffer[np.cumsum(edges, dtype=np.int8, out=edges).view(np.bool_)]

    def __len__(self) -> int:
        return len(self.starts)

    def part(self, places: "Integers | slice") -> "Texts":
        return Texts(self.buffer, self.starts[places], self.lengths[places])

    @property
    def words(self) -> Hashes:
        count = max(len(self.buffer) - 7, 0)
        return np.ndarray((count,), dtype=_WORD, buffer=self.buffer.data, strides=(1,))

    def word(self, number: int) -> Hashes:
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
        return -(-int(self.lengths.max(initial=0)) // 8)

    def hashes(self) -> Hashes:
        """Return uint64[N]: equal for equal texts, and almost never for others."""
        hashed = self.lengths.astype(np.uint64) * _START
        for number in range(max(self.longest, 2)):
            # two words of every text, because few texts are shorter
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
        same = self.lengths == other.lengths
        for number in range(min(self.longest, other.longest)):
            same &= self.word(number) == other.word(number)
        return same

    def changes(self) -> Integers:
        new = np.ones(len(self), dtype=np.bool_)
        new[1:] = self.lengths[1:] != self.lengths[:-1]
        for number in range(self.longest):
            word = self.word(number)
            new[1:] |= word[1:] != word[:-1]
        return np.flatnonzero(new)

    def falling(self) -> list[NDArray[np.uint64]]:
        words = [~self.word(number).byteswap() for number in range(self.longest)]
        return [~self.lengths.astype(np.uint64), *reversed(words)]

    def bytes_at(self, place: int) -> bytes:
        start = int(self.starts[place])
        return self.buffer[start : start + int(self.lengths[place])].tobytes()

    def text(self, place: int) -> str:
        found = self.bytes_at(place)
        try:
            return found.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return found.decode("utf-8", "surrogateescape")

    def strings(self) -> list[str]:
        view = memoryview(self.buffer.data)
        pairs = zip(self.starts.tolist(), (self.starts + self.lengths).tolist(), strict=True)
        try:
            return [str(view[start:end], "utf-8", "surrogatepass") for start, end in pairs]
        except UnicodeDecodeError:
            return [self.text(place) for place in range(len(self))]


def padded(content: bytes) -> NDArray[np.uint8]:
    return np.frombuffer(b"".join((PADDING, content, PADDING)), dtype=np.uint8)


CELLS = 1 << 17
"""Hashes that are compared at once: 1 MB."""
EMPTY = np.uint64(2**64 - 1)
"""Fills a table of hashes beyond an owner's items."""


@dataclass(frozen=True)
class Spans:
    """N items of Q owners, one owner after the other; `sizes` is int64[Q], the items of each."""

    sizes: Integers

    @cached_property
    def starts(self) -> Integers:
        return np.cumsum(self.sizes) - self.sizes

    def of_some(self, owners: Integers) -> "Spans":
        known = owners >= 0
        sizes = np.zeros(len(owners), dtype=np.int64)
        sizes[known] = self.sizes[owners[known]]
        return Spans(sizes)

    def members(self, owners: Integers) -> Integers:
        sizes = self.sizes[owners]
        return np.repeat(self.starts[owners], sizes) + self.ranks(sizes)

    @staticmethod
    def ranks(sizes: Integers) -> Integers:
        starts = np.cumsum(sizes) - sizes
        return np.arange(int(sizes.sum())) - np.repeat(starts, sizes)

    def owner(self, place: int) -> int:
        return int(np.searchsorted(self.starts + self.sizes, place, side="right"))

    def twice(self, texts: Texts, hashes: Hashes) -> Iterator[tuple[int, int]]:
        for owners in self.blocks():
            items, sizes = self.between(owners), self.sizes[owners]
            keys = np.full((len(sizes), int(sizes.max(initial=0))), EMPTY)
            fill(keys, hashes[items] >> np.uint64(1), sizes)
            keys.sort(axis=1)
            if not np.any((keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] != EMPTY)):
                continue
            first: dict[tuple[int, bytes], int] = {}
            for place in range(items.start, items.stop):
                key = self.owner(place), texts.bytes_at(place)
                if key in first:
                    yield first[key], place
                else:
                    first[key] = place

    def between(self, owners: slice) -> slice:
        last = owners.stop - 1
        return slice(int(self.starts[owners.start]), int(self.starts[last] + self.sizes[last]))

    def blocks(self, other: "Spans | None" = None) -> Iterator[slice]:
        """Yield consecutive owners, as many as fit into a table of CELLS cells.

        The table has one line per owner, as wide as its longest line. With `other`, each line has
        the owner's items there, too.
        """
        beside = np.zeros_like(self.sizes) if other is None else other.sizes
        sizes = self.sizes + beside
        if not len(sizes):
            return
        widest = int(self.sizes.max() + beside.max())
        if widest <= 2 * sizes.mean():  # they have similar sizes
            step = max(1, CELLS // max(widest, 1))
            for start in range(0, len(sizes), step):
                yield slice(start, min(start + step, len(sizes)))
            return
        start, deep, wide = 0, 0, 0
        pairs = zip(self.sizes.tolist(), beside.tolist(), strict=True)
        for place, (one, two) in enumerate(pairs):
            deep, wide = max(deep, one), max(wide, two)
            if place > start and (place + 1 - start) * (deep + wide) > CELLS:
                yield slice(start, place)
                start, deep, wide = place, one, two
        yield slice(start, len(sizes))


def fill(table: Hashes, values: Hashes, sizes: Integers) -> None:
    width = table.shape[1]
    if width and int(sizes.min()) == width:
        table[:] = values.reshape(-1, width)
    else:
        table[np.repeat(np.arange(len(sizes)), sizes), Spans.ranks(sizes)] = values


S = TypeVar("S", bound=np.generic)


class GrowingArray(Generic[S]):
    """An array filled part by part; joining the parts at the end would take twice the memory."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        self._content = bytearray()
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, part: NDArray[np.generic]) -> None:
        self._content += part.astype(self._kind, copy=False).tobytes()
        self._size += part.size

    def array(self) -> NDArray[S]:
        return np.frombuffer(self._content, dtype=self._kind)


T = TypeVar("T")


class Lazy(LazySequence[T]):
    """`size` items, each made from its position when it is read, and not stored."""

    def __init__(self, size: int, make: Callable[[int], T]) -> None:
        self._size, self._make = size, make

    def __len__(self) -> int:
        return self._size

    def at(self, place: int) -> T:
        return self._make(place)
