"""Section: a part of a report in words and tables, before anybody knows where it is shown."""

from dataclasses import dataclass
from enum import StrEnum


class Mood(StrEnum):
    """How a line or a row is meant."""

    PLAIN = "plain"
    GOOD = "good"
    BAD = "bad"


@dataclass(frozen=True)
class Line:
    """A sentence; it may hold text from outside, as every cell may."""

    words: str
    mood: Mood = Mood.PLAIN


@dataclass(frozen=True)
class GridRow:
    """One row of a grid; the mood is that of its last cell."""

    cells: tuple[str, ...]
    mood: Mood = Mood.PLAIN


@dataclass(frozen=True)
class Grid:
    """A table; `figures` names the columns of numbers, and a `prose` one is long texts."""

    heads: tuple[str, ...]
    rows: tuple[GridRow, ...]
    figures: frozenset[str] = frozenset()
    prose: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Section:
    """A part of the report under its title."""

    title: str
    parts: tuple[Line | Grid, ...]
