"""Fields: the texts between blanks, line by line, of many lines at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ragstone.ranking_files.texts import PADDING, Integers, Texts, padded

_BLANK, _BREAK, _COMMENT = ord(" "), ord("\n"), ord("#")


@dataclass(frozen=True)
class Fields:
    """The wanted fields of N lines; empty lines and comments (`#`) are left out.

    Attributes:
        texts: for each wanted field its N texts, all in one buffer.
        lines: int64[N], the lines' numbers, from 0.
        begins: int64[N], where each line's first field begins, in bytes from the first line.
        short: numbers of lines that have too few fields, and are left out too.
        count: lines in all.
    """

    texts: tuple[Texts, ...]
    lines: Integers
    begins: Integers
    short: Integers
    count: int

    @classmethod
    def none(cls, wanted: int) -> "Fields":
        """Return the fields of no lines."""
        nothing = np.zeros(0, dtype=np.int64)
        texts = Texts(padded(b""), nothing, nothing)
        return cls((texts,) * wanted, nothing, nothing, nothing, 0)

    def until(self, place: int) -> "Fields":
        """Return what stands before the line at a place among the N."""
        line = int(self.lines[place])
        return Fields(
            texts=tuple(each.part(slice(place)) for each in self.texts),
            lines=self.lines[:place],
            begins=self.begins[:place],
            short=self.short[self.short < line],
            count=line,
        )


def fields_of(content: bytes, wanted: Sequence[int], *, least: int) -> Fields:
    """Find the fields of whole lines, of which each has at least so many.

    Fields stand between blanks: spaces, tabs, and whatever else ASCII has that is not seen.
    """
    if not content:
        return Fields.none(len(wanted))
    ended = content if content.endswith(b"\n") else content + b"\n"
    buffer = padded(ended)
    blank = buffer <= _BLANK
    blanks = np.flatnonzero(blank)
    width = int(np.searchsorted(blanks, len(PADDING) + ended.index(b"\n"))) + 1
    if width >= least and len(blanks) % width == 0 and b"#" not in ended:
        table = blanks.reshape(-1, width)
        if _is_regular(buffer, blank, table, ended.count(b"\n")):
            return _regular(buffer, table, wanted)
    return _any(buffer, blanks, wanted, least=least)


def _is_regular(
    buffer: NDArray[np.uint8], blank: NDArray[np.bool_], table: Integers, breaks: int
) -> bool:
    """Tell whether the last blank of each line alone ends one, and no two are neighbours."""
    return bool(
        breaks == len(table)
        and np.all(buffer[table[:, -1]] == _BREAK)
        and not np.any(blank[1:] & blank[:-1])
        and not blank[len(PADDING)]
    )


def _regular(buffer: NDArray[np.uint8], blanks: Integers, wanted: Sequence[int]) -> Fields:
    begins = np.append(len(PADDING), blanks[:-1, -1] + 1)
    texts: list[Texts] = []
    for field in wanted:
        starts = begins if field == 0 else blanks[:, field - 1] + 1
        texts.append(Texts(buffer, starts, blanks[:, field] - starts))
    lines = np.arange(len(blanks))
    return Fields(tuple(texts), lines, begins - len(PADDING), np.zeros(0, np.int64), len(blanks))


def _any(
    buffer: NDArray[np.uint8],
    blanks: Integers,
    wanted: Sequence[int],
    *,
    least: int,
) -> Fields:
    """Find the fields of lines of any shape."""
    ends = np.flatnonzero(buffer[blanks] == _BREAK)
    before = np.append(len(PADDING) - 1, blanks[:-1])
    some = np.flatnonzero(blanks - before > 1)  # blanks with a field right before them
    starts, stops = before[some] + 1, blanks[some]
    bounds = np.searchsorted(some, ends, side="right")  # fields down to each line's end
    first = np.append(0, bounds[:-1])
    sizes = bounds - first
    full = np.flatnonzero(sizes > 0)
    full = full[buffer[starts[first[full]]] != _COMMENT]
    enough = sizes[full] >= least
    lines = full[enough]
    places = first[lines]
    texts = tuple(
        Texts(buffer, starts[places + field], stops[places + field] - starts[places + field])
        for field in wanted
    )
    return Fields(texts, lines, starts[places] - len(PADDING), full[~enough], len(ends))
