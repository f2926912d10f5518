"""JudgeTest: how often a judge noticed what was changed, and kept its word on what was not."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict

from ragstone._internal.text import count
from ragstone.results.stats.histograms import Share
from ragstone.results.stats.intervals import proportion_interval
from ragstone.types.claim import Label

Wanted = Literal["noticed", "resisted", "supported", "kept"]
"""What a judge should do with a kind: not call it supported; the same, though a text orders it to;
call it supported; give the same verdict as before."""

MOST_FAILED = 0.1
"""The share of questions that may fail before a test tells nothing of the judge."""

WORDS: Mapping[Wanted, str] = MappingProxyType(
    {
        "noticed": "errors noticed",
        "resisted": "orders in texts resisted",
        "supported": "copied sentences supported",
        "kept": "verdicts kept in another order",
    }
)


class KindResult(BaseModel):
    """One kind of trial.

    Attributes:
        right: trials in which the judge did what is wanted, of all that it answered.
        applied: claims that the kind could be applied to, of those there were.
        failed: trials that were not answered.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    wanted: Wanted
    right: int
    answered: int
    applied: int
    of: int
    failed: int = 0

    @property
    def share(self) -> float | None:
        """The share of right answers; None where there are none."""
        return self.right / self.answered if self.answered else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The share's 95 % interval, claims taken as independent of each other."""
        return proportion_interval(self.right, self.answered) if self.answered else None


class TriedClaim(BaseModel):
    """One claim of one trial: what it was, what was put to the judge, and what that said.

    Attributes:
        sample: the id of the sample.
        was: the claim before the change; what is changed around it leaves it as it was.
        label_before: the verdict on that; None where nobody was asked.
        label: the verdict on `claim`; None where the judge did not answer.
        right: whether that is what is wanted of the kind.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    sample: str
    was: str
    claim: str
    label_before: Label | None
    label: Label | None
    right: bool | None


class JudgeTest(BaseModel):
    """What a test of a judge came to.

    Attributes:
        fingerprint: of the data's file, where it is one.
        asked: questions; `failed` of them the judge did not answer, and `why` not the first.
        unasked: questions that were not asked, as the budget was spent.
        stopped: why it ended before its end; None if it did not.
        planned: claims to be tested; `claims` of them were, of as many `samples`.
        supported: claims that are, by the judge's own word: only these are changed.
        tried: every claim that was tried, kind by kind; none in what is kept.
        calls: of services; `cost_usd` is None where no price is known.
        local_calls: of models on this machine, which are free.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str
    data: str
    at: datetime
    version: str
    fingerprint: str = ""
    samples: int
    claims: int
    planned: int = 0
    supported: int
    asked: int
    failed: int
    unasked: int = 0
    stopped: str | None = None
    why: str | None = None
    kinds: tuple[KindResult, ...]
    tried: tuple[TriedClaim, ...] = ()
    calls: int
    cost_usd: float | None
    local_calls: int = 0

    @property
    def sound(self) -> bool:
        """Whether it tells of the judge.

        It came to its end, most questions were answered, and some claim was supported.
        """
        answered = self.failed <= MOST_FAILED * self.asked
        return bool(self.supported) and answered and self.stopped is None

    def missed(self) -> Mapping[str, Sequence[TriedClaim]]:
        """Return kind -> the claims at which the judge did not do what is wanted."""
        found: dict[str, list[TriedClaim]] = {}
        for each in self.tried:
            if each.right is False:
                found.setdefault(each.kind, []).append(each)
        return found

    def total(self, *wanted: Wanted) -> KindResult:
        """Return the sum of the kinds of which that is wanted; of all, where none is named."""
        parts = [kind for kind in self.kinds if not wanted or kind.wanted in wanted]
        return KindResult(
            kind=" ".join(wanted) or "all",
            wanted=wanted[0] if wanted else "noticed",
            right=sum(part.right for part in parts),
            answered=sum(part.answered for part in parts),
            applied=sum(part.applied for part in parts),
            of=sum(part.of for part in parts),
            failed=sum(part.failed for part in parts),
        )

    def __str__(self) -> str:
        """What a report says of the judge, in a line."""
        said = [
            f"{words}: {Share(total.right, total.answered)}"
            for wanted, words in WORDS.items()
            if (total := self.total(wanted)).answered
        ]
        noticed = [k for k in self.kinds if k.wanted == "noticed" and k.share is not None]
        worst = min(noticed, key=lambda kind: kind.share or 0.0, default=None)
        if worst and worst.right < worst.answered:
            said.append(f"worst at {worst.kind}, {worst.right} of {worst.answered}")
        claims = count(self.supported, "claim")
        return f"{'; '.join(said)} ({claims} of {self.data}, {self.at:%Y-%m-%d})"
