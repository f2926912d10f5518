"""Places: which rows of a run are stored, in one byte a row."""

from collections.abc import Collection, Iterable, Iterator
from typing import Self


class Places(Collection[int]):
    """A set of places of a data set, small for a million of them."""

    def __init__(self, flags: bytes = b"") -> None:
        self._flags = flags

    @classmethod
    def of(cls, places: Iterable[int]) -> Self:
        """Make the set of these places, from 0."""
        flags = bytearray()
        for place in places:
            if place >= len(flags):
                flags.extend(bytes(place + 1 - len(flags)))
            flags[place] = 1
        return cls(bytes(flags))

    def __contains__(self, place: object) -> bool:
        return isinstance(place, int) and 0 <= place < len(self._flags) and self._flags[place] == 1

    def __len__(self) -> int:
        return self._flags.count(1)

    def __iter__(self) -> Iterator[int]:
        return (place for place, flag in enumerate(self._flags) if flag)

    def __repr__(self) -> str:
        return f"<{len(self)} places>"
