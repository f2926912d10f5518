"""CheckMetric: the family that reckons with the verdicts of several checks."""

import asyncio
from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.claims import JudgedClaim, Label
from ragstone.errors import JudgeError
from ragstone.metrics.families.base import Ask
from ragstone.metrics.families.checks import Check
from ragstone.metrics.families.claim_asker import CheckResult, ClaimVerifier, capture_error
from ragstone.samples import Sample
from ragstone.scores import Score

JudgedClaims = tuple[JudgedClaim, ...]
"""The claims of one check with their verdicts, in the order of their text; none if there are none.
The claims of one text are the same, in the same order, in all its checks."""

NO_CLAIMS = "the response makes no claims"


@dataclass(frozen=True)
class CheckMetric(ClaimVerifier):
    """Reckons with the claims of one check or several; only SUPPORTED counts as said.

    A question that was not answered is a failed score; no policy makes a number of it. A
    subclass says which checks, and which of them its parameters call for, where that is not all.
    """

    says: ClassVar[tuple[str, ...]] = ("checks",)
    checks: ClassVar[tuple[Check, ...]]

    def __init_subclass__(cls) -> None:
        """Take what the class needs from its checks, unless it says more."""
        super().__init_subclass__()
        if "checks" in cls.__dict__ and "needs" not in cls.__dict__:
            cls.needs = tuple(dict.fromkeys(need for check in cls.checks for need in check.needs))

    @property
    def active_checks(self) -> tuple[Check, ...]:
        """The checks that it makes with these parameters."""
        return self.checks

    @abstractmethod
    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Return the score that the checks' claims come to, in the order of `active_checks`."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Make all checks at once, and reckon."""
        for check in self.active_checks:
            if obstacle := check.obstacle(sample):
                return Score.undefined(obstacle)
        asked = [
            capture_error(self.judge_claims(check, sample, ask)) for check in self.active_checks
        ]
        told: list[CheckResult] = []
        for outcome in await asyncio.gather(*asked):  # all are awaited, whatever becomes of one
            if isinstance(outcome, JudgeError):
                raise outcome
            told.append(outcome)
        score = self.compute(sample, *(each.claims for each in told))
        if score.value is None:
            return score
        notes = dict.fromkeys(each.note for each in told if each.note)
        detail = {**score.detail, "note": "; ".join(notes)} if notes else score.detail
        claims = tuple(claim for each in told for claim in each.claims)
        return score.model_copy(update={"claims": claims, "detail": detail})


def supported(judged: Sequence[JudgedClaim]) -> list[bool]:
    """Return, claim by claim, whether it is SUPPORTED."""
    return [claim.label is Label.SUPPORTED for claim in judged]


def quoted(claim: JudgedClaim, sample: Sample) -> frozenset[int]:
    """Return the numbers of the contexts that the verdict's quotes stand in, from 0.

    A context with the same text as one of them is among them: a quote names one of two copies.
    """
    texts = [context.text for context in sample.contexts or ()]
    found = {texts[item.context] for item in claim.evidence if item.verified}
    return frozenset(number for number, text in enumerate(texts) if text in found)
