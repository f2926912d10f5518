"""All exceptions of ragstone, and the causes of failed scores.

    RagstoneError
    ├── UsageError                     invalid input or options: exit code 2
    │   ├── InputError                 invalid file content; lists all problems found
    │   ├── UnknownNameError           no metric, judge, policy or option has this name
    │   └── TargetError                the RAG system under test cannot be called at all
    ├── QuestionNotSupportedError      this judge does not answer this kind of question
    └── CallError                      one call failed: becomes a failed score, never a number
        └── JudgeError                 a call to the judge failed

Other modules define `StoreError` (a UsageError), `JudgeFailureError` (a JudgeError that carries
the partial reply) and `RunInterruptedError` (a KeyboardInterrupt that carries the run).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like a name, whatever its case; None if none is."""
    names = {other.casefold(): other for other in known}
    near = get_close_matches(name.casefold(), names, n=1)
    return names[near[0]] if near else None


class Cause(StrEnum):
    """Why a question that arose was not answered."""

    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    COUNT_MISMATCH = "count_mismatch"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    UNREACHABLE = "unreachable"
    BUDGET = "budget"
    METRIC_ERROR = "metric_error"
    JUDGE_ERROR = "judge_error"
    TARGET_ERROR = "target_error"


class RagstoneError(Exception):
    """Anything that ragstone itself says went wrong."""


class UsageError(RagstoneError):
    """What was asked cannot be done; the message says what was seen and what to do."""


@dataclass(frozen=True)
class Problem:
    """One thing wrong with a file: where it stands, what was seen, and what to do."""

    seen: str
    fix: str = ""
    sheet: str | None = None
    row: int | None = None
    column: str | None = None
    sample_id: str | None = None

    def __str__(self) -> str:
        places = (
            ("sheet", self.sheet),
            ("row", self.row),
            ("column", self.column),
            ("sample", self.sample_id),
        )
        where = ", ".join(f"{name} {place}" for name, place in places if place is not None)
        what = f"{where}: {self.seen}" if where else self.seen
        return f"{what}; {self.fix}" if self.fix else what


class InputError(UsageError):
    """A file's content is wrong; `problems` holds everything found, not the first."""

    shown = 20

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        lines = [f"  {problem}" for problem in self.problems[: self.shown]]
        if (more := len(self.problems) - self.shown) > 0:
            lines.append(f"  ... and {more} more")
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) != 1 else "")
        super().__init__("\n".join([f"{file}: {count}", *lines]))


class UnknownNameError(UsageError):
    """A name stands for nothing; the message offers the nearest right ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names)}"
        super().__init__(f"there is no {kind} named {name!r}; {hint}")


class TargetError(UsageError):
    """The RAG system under test cannot be asked at all, so no row was tried."""


class QuestionNotSupportedError(RagstoneError):
    """A judge was asked a kind of question that it does not take."""


class CallError(RagstoneError):
    """One call was not answered; `cause` is the class of reason, the message the details.

    `status` is the HTTP status of the reply, where one came; `tries` the calls that were made.
    """

    def __init__(
        self, cause: Cause, message: str, *, status: int | None = None, tries: int = 1
    ) -> None:
        self.cause = cause
        self.status = status
        self.tries = tries
        super().__init__(message)


class JudgeError(CallError):
    """The judge did not answer one question."""
