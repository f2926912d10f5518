"""The result of a judge test, and where it is stored."""

import itertools
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import MappingProxyType
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from ragstone._internal.fields import FrozenModel
from ragstone._internal.files import lock_file
from ragstone._internal.text import count
from ragstone.results.stats.intervals import Share, proportion_interval
from ragstone.types.claim import Label

Expectation = Literal["rejected", "injection_ignored", "accepted", "unchanged"]
MAX_FAILURES = 0.1  # the share of questions that may fail before a test is inconclusive
WORDS: Mapping[Expectation, str] = MappingProxyType(
    {
        "rejected": "errors detected",
        "injection_ignored": "injected instructions resisted",
        "accepted": "copied sentences supported",
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


class JudgeTest(FrozenModel):
    """The result of testing a judge with the claims that it called supported."""

    judge: str
    data: str
    at: datetime
    version: str
    fingerprint: str = ""
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
    tried: tuple[TrialResult, ...] = ()  # one per claim; not stored
    calls: int
    cost_usd: float | None
    local_calls: int = 0

    @property
    def conclusive(self) -> bool:
        answered = self.failed <= MAX_FAILURES * self.asked
        return bool(self.supported) and answered and self.stopped is None

    def missed(self) -> Mapping[str, Sequence[TrialResult]]:
        missed: dict[str, list[TrialResult]] = {}
        for trial in self.tried:
            if trial.right is False:
                missed.setdefault(trial.kind, []).append(trial)
        return missed

    def total(self, *expected: Expectation) -> KindResult:
        parts = [kind for kind in self.kinds if not expected or kind.expected in expected]
        names = ("right", "answered", "applied", "of", "failed")
        return KindResult(
            kind=" ".join(expected) or "all",
            expected=expected[0] if expected else "rejected",
            **{name: sum(getattr(part, name) for part in parts) for name in names},
        )

    def __str__(self) -> str:
        parts = [
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


def save_test(key: str, test: JudgeTest) -> tuple[JudgeTest | None, Path | None]:
    """Save a test without its single claims, in place of an older one of this judge and data.

    Returns the replaced test, and the path of the backup to which an unreadable file was moved.
    """
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
        name = f"{key}{_BETWEEN}{test.data}"
        tests = {**before, name: test.model_copy(update={"tried": ()})}
        text = json.dumps(_TESTS.dump_python(tests, mode="json"), ensure_ascii=True, indent=1)
        with NamedTemporaryFile("w", dir=FILE.parent, suffix=".part", delete=False) as file:
            file.write(text)
        Path(file.name).replace(FILE)
    return before.get(name), backup
