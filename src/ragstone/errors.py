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

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from functools import cache
from pathlib import Path

from ragstone._internal.secrets import redact


def nearest(name: str, known: Iterable[str], *, cutoff: float = 0.6) -> str | None:
    """Return the most similar known name, ignoring case; None if none is similar.

    `cutoff` is the least ratio of difflib, from 0 to 1.
    """
    names = {other.casefold(): other for other in known}
    near = get_close_matches(name.casefold(), names, n=1, cutoff=cutoff)
    return names[near[0]] if near else None


def other_name(section: str, name: str) -> str | None:
    """Return what to use here for a name of another tool, such as `api_base_url`; None if unknown.

    The sections of other_names.toml are `setting`, `metric`, `ragstone` (imports) and classes.
    """
    return _other_names().get(section, {}).get(_folded(name))


@cache
def _other_names() -> Mapping[str, Mapping[str, str]]:
    from tomllib import loads  # needed for messages only

    read = loads(Path(__file__).with_name("other_names.toml").read_text(encoding="utf-8"))
    return {section: {_folded(k): v for k, v in names.items()} for section, names in read.items()}


def _folded(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


class Cause(StrEnum):
    """Why a score failed."""

    REFUSAL = "refusal"
    TRUNCATED = "truncated"
    MALFORMED = "malformed"
    COUNT_MISMATCH = "count_mismatch"
    NO_CLAIMS = "no_claims"
    TIMEOUT = "timeout"
    RATE_LIMITED = "rate_limited"
    UNREACHABLE = "unreachable"
    REJECTED = "rejected"
    BUDGET = "budget"
    METRIC_ERROR = "metric_error"
    JUDGE_ERROR = "judge_error"
    TARGET_ERROR = "target_error"


class RagstoneError(Exception):
    """Base class of all exceptions of ragstone; their messages contain no secrets."""

    def __init__(self, message: str = "") -> None:
        super().__init__(redact(message))


class UsageError(RagstoneError):
    """Invalid input or options; the message names what was found and what to do."""


@dataclass(frozen=True)
class Problem:
    """One problem in a file: its place, what was found (`seen`) and what to do (`fix`).

    `unit` is what `row` counts: `row`, `line` (of a text file) or `item` (of a list).
    """

    seen: str
    fix: str = ""
    sheet: str | None = None
    row: int | None = None
    column: str | None = None
    sample_id: str | None = None
    unit: str = "row"

    def __str__(self) -> str:
        places = (
            ("sheet", self.sheet),
            (self.unit, self.row),
            ("column", self.column),
            ("sample", self.sample_id),
        )
        where = ", ".join(f"{name} {place}" for name, place in places if place is not None)
        what = f"{where}: {self.seen}" if where else self.seen
        return redact(f"{what}; {self.fix}" if self.fix else what)


class InputError(UsageError):
    """Invalid content of a file; `problems` lists all problems, not only the first.

    `advice` is what else could be done, if anything.
    """

    shown = 20

    def __init__(self, file: str, problems: Sequence[Problem], advice: str = "") -> None:
        self.file = file
        self.advice = advice
        self.problems = tuple(problems)
        lines = [f"  {problem}" for problem in self.problems[: self.shown]]
        if (more := len(self.problems) - self.shown) > 0:
            lines.append(f"  ... and {more} more")
        lines += [advice] if advice else []
        count = f"{len(self.problems)} problem" + ("s" if len(self.problems) != 1 else "")
        super().__init__("\n".join([f"{file}: {count}", *lines]))


class UnknownNameError(UsageError):
    """A name does not exist; the message has the name to use, or a similar one."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names, is_setting = sorted(known), kind.startswith(("setting", "option of evaluate"))
        hint = other_name("setting" if is_setting else kind, name)
        if hint is None:
            near = nearest(name, names)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names)}"
        super().__init__(f"there is no {kind} named {name!r}; {hint}")


class TargetError(UsageError):
    """The RAG system under test cannot be called at all; no row was evaluated."""


class QuestionNotSupportedError(RagstoneError):
    """The judge does not support this kind of question."""


class CallError(RagstoneError):
    """A call failed, for this `cause`; the message has the details.

    `status` is the HTTP status of the reply, if there was one; `tries` is the number of calls.
    `lost` is true if a request was sent whose reply is missing or unreadable: it may be charged.
    `body` is the reply to read, longer than in the message and not redacted.
    """

    lost = False
    body = ""

    def __init__(
        self, cause: Cause, message: str, *, status: int | None = None, tries: int = 1
    ) -> None:
        self.cause = Cause(cause)
        self.status = status
        self.tries = tries
        super().__init__(message)


class JudgeError(CallError):
    """The judge did not answer one question."""
