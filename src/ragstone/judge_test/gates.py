"""Marks that a test of a judge is held against: `number=80%`, or `80%` for all kinds together."""

from collections.abc import Iterable
from dataclasses import dataclass

from ragstone.errors import UnknownNameError, UsageError
from ragstone.gates import EPSILON, share
from ragstone.judge_test.result import WORDS, JudgeTest, KindResult
from ragstone.judge_test.trials import KINDS

ALL = "all"


@dataclass(frozen=True)
class Mark:
    """The least share that a kind, or all of what is wanted alike, has to come to."""

    kind: str
    least: float

    @classmethod
    def of(cls, text: str) -> "Mark":
        """Read `KIND=80%`, or `80%`.

        Raises:
            UsageError: it is not written so, or there is no such kind.
        """
        kind, _, least = text.rpartition("=")
        name = kind.strip() or ALL
        known = (ALL, *WORDS, *KINDS)
        if name not in known:
            raise UnknownNameError("kind of trial", name, known)
        mark = share(least)
        if not 0 <= mark <= 1:
            raise UsageError(f"--fail-under {text}: a share lies between 0 and 1, such as 80%")
        return cls(name, mark)

    def held(self, test: JudgeTest) -> KindResult:
        """Return what of a test it is held against."""
        for wanted in WORDS:
            if wanted == self.kind:
                return test.total(wanted)
        return next((kind for kind in test.kinds if kind.kind == self.kind), test.total())

    def passed(self, test: JudgeTest) -> bool | None:
        """Tell whether the test reaches it; None where nothing was answered."""
        reached = self.held(test).share
        return None if reached is None else reached >= self.least - EPSILON


def unmet(marks: Iterable[Mark], test: JudgeTest) -> tuple[list[Mark], list[Mark]]:
    """Return the marks that the test does not reach, and those of which it tells nothing."""
    told = [(mark, mark.passed(test)) for mark in marks]
    missed = [mark for mark, passed in told if passed is False]
    return missed, [mark for mark, passed in told if passed is None]
