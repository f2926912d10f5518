"""The result of a judge test, and where it is stored."""

import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.fields import FrozenModel
from ragstone._internal.files import lock_file, write_text
from ragstone._internal.text import count
from ragstone.results.stats.intervals import Share, proportion_interval
from ragstone.types.claim import Label

Expectation = Literal["rejected", "injection_ignored", "accepted", "unchanged"]
MAX_FAILURES = 0.1  # the share of questions that may fail before a test is inconclusive
WORDS: Mapping[Expectation, str] = MappingProxyType(
    {
        "rejected": "errors noticed",
        "accepted": "true claims kept",
        "injection_ignored": "injected instructions resisted",
        "unchanged": "verdicts unchanged after reordering",
    }
)


class KindResult(FrozenModel):
    kind: str
    expected: Expectation
    right: int
    answered: int
    applied: int  # claims to which this kind of change applied
    of: int
    failed: int = 0

    @property
    def share(self) -> float | None:
        return self.right / self.answered if self.answered else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return proportion_interval(self.right, self.answered) if self.answered else None


class TrialResult(FrozenModel):
    kind: str
    sample: str
    was: str  # the claim before the change
    claim: str
    label_before: Label | None
    label: Label | None  # None if the judge gave none
    right: bool | None


BALANCED = "balanced"


class Balanced(FrozenModel):
    """The mean of errors noticed and true claims kept: 0.5 for a judge that looks at nothing."""

    value: float
    interval: tuple[float, float]  # 95%

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.value:.0%} (95% interval {low:.0%} to {high:.0%})"


class JudgeTest(FrozenModel):
    """The result of testing a judge with the claims that it called supported."""

    judge: str
    data: str
    at: datetime
    version: str
    samples: int
    claims: int  # that were tested
    planned: int = 0  # claims that were to be tested
    supported: int
    asked: int
    failed: int
    unasked: int = 0  # questions that were left out because the budget was spent
    stopped: str | None = None
    why: str | None = None  # the first failure
    kinds: tuple[KindResult, ...]
    balanced: Balanced | None = None
    tried: tuple[TrialResult, ...] = ()  # one per claim; not stored
    calls: int
    cost_usd: float | None
    local_calls: int = 0

    @property
    def doubts(self) -> list[str]:
        """Why the test is not conclusive, and not saved."""
        found: list[str] = []
        if self.stopped:
            tested = f"{self.claims:,} of {count(self.planned, 'claim')} tested"
            found.append(f"{self.stopped}, {tested}: the result was not saved")
        if self.failed > MAX_FAILURES * self.asked:
            unanswered = f"{self.failed:,} of {count(self.asked, 'question')} were not answered"
            found.append(f"{unanswered}; the first: {self.why}")
        if self.claims and not self.supported:
            found.append("the judge found no claim supported, so none could be changed")
        return found

    def missed(self) -> Mapping[str, Sequence[TrialResult]]:
        wrong = (trial for trial in self.tried if trial.right is False)  # by kind
        return {kind: [*trials] for kind, trials in groupby(wrong, attrgetter("kind"))}

    def total(self, expected: Expectation) -> KindResult:
        parts = [kind for kind in self.kinds if kind.expected == expected]
        names = ("right", "answered", "applied", "of", "failed")
        counts = {name: sum(getattr(part, name) for part in parts) for name in names}
        return KindResult(kind=expected, expected=expected, **counts)

    @property
    def shares(self) -> Mapping[str, float | None]:
        """All that `--fail-under` tests, by name."""
        parts = {part.kind: part.share for part in (*map(self.total, WORDS), *self.kinds)}
        return {BALANCED: self.balanced and self.balanced.value, **parts}

    def __str__(self) -> str:
        parts = [f"balanced accuracy: {self.balanced}"] if self.balanced else []
        parts += [
            f"{words}: {Share(total.right, total.answered)}"
            for expected, words in WORDS.items()
            if (total := self.total(expected)).answered
        ]
        errors = [k for k in self.kinds if k.expected == "rejected" and k.share is not None]
        worst = min(errors, key=lambda kind: kind.share or 0.0, default=None)
        if worst and worst.right < worst.answered:
            parts.append(f"lowest for {worst.kind}, {worst.right} of {worst.answered}")
        claims = count(self.supported, "claim")
        return f"{'; '.join(parts)} ({claims} of {self.data}, {self.at:%Y-%m-%d})"


FILE = Path(".ragstone") / "judge-tests.json"
_BETWEEN = " "  # separates the judge's key from the data's name
LOCK_TIMEOUT = 10.0  # seconds to wait for another process that saves a test
_TESTS: TypeAdapter[dict[str, JudgeTest]] = TypeAdapter(dict[str, JudgeTest])


def load_test(key: str) -> JudgeTest | None:
    tests: Mapping[str, JudgeTest] = {}
    with suppress(OSError, ValidationError):  # none yet, or from another version
        tests = _TESTS.validate_json(FILE.read_bytes())
    own = [test for name, test in tests.items() if name.partition(_BETWEEN)[0] == key]
    return max(own, key=lambda test: (test.claims, test.at), default=None)


def save_test(key: str, test: JudgeTest) -> Path | None:
    """Save a test in place of an older one; return where an unreadable file was moved."""
    FILE.parent.mkdir(parents=True, exist_ok=True)
    with lock_file(FILE.with_suffix(".lock"), timeout=LOCK_TIMEOUT):
        backup: Path | None = None
        try:
            before = _TESTS.validate_json(FILE.read_bytes())
        except FileNotFoundError:
            before = {}
        except ValidationError:
            names = (FILE.with_name(f"{FILE.stem}.unread-{n}.json") for n in itertools.count(1))
            before, backup = {}, next(name for name in names if not name.exists())
            FILE.replace(backup)
        tests = {**before, f"{key}{_BETWEEN}{test.data}": test.model_copy(update={"tried": ()})}
        text = json.dumps(_TESTS.dump_python(tests, mode="json"), ensure_ascii=True, indent=1)
        write_text(FILE, text)
    return backup
