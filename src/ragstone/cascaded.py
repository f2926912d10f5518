"""Cascaded: how many verdicts of a cheap judge went up to a dear one, and how far both agreed."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce


@dataclass(frozen=True)
class Cascaded:
    """What a cascade did, in verdicts, and in calls.

    Attributes:
        verdicts: that were asked for.
        up: of them, those that the dear judge gave as the cheap one was not sure enough.
        control: of the others, those that were asked of both; the dear one's word counts.
        alike: of the control, those on which both said supported, or both did not.
        same: of the control, those on which both said the same.
        saved: calls of the dear judge that were not made, windows and re-asks not counted.
        unanswered: claims that went up and came back without a verdict, beside `verdicts`: the
            questions that they are of are failed, and so are the scores that hang on them.
    """

    verdicts: int = 0
    up: int = 0
    control: int = 0
    alike: int = 0
    same: int = 0
    saved: int = 0
    unanswered: int = 0

    def __add__(self, other: "Cascaded") -> "Cascaded":
        return Cascaded(
            self.verdicts + other.verdicts,
            self.up + other.up,
            self.control + other.control,
            self.alike + other.alike,
            self.same + other.same,
            self.saved + other.saved,
            self.unanswered + other.unanswered,
        )


def added_up(parts: Iterable[Cascaded | None]) -> Cascaded | None:
    """Return the sum; None where there is nothing to add."""
    told = [part for part in parts if part is not None]
    return reduce(Cascaded.__add__, told) if told else None
