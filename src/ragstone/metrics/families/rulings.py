"""PolicyScorer: applies a policy to what the ledger holds of one sample."""

from collections.abc import Sequence
from dataclasses import dataclass

from ragstone.claims import Claim, JudgedClaim, Label, Texts, Verdict
from ragstone.errors import Cause
from ragstone.exchanges import Failure, PartialVerdict
from ragstone.policies import CLOSE, Policy, PolicyOutcome
from ragstone.scores import Detail, Score, State


@dataclass(frozen=True)
class PolicyScorer:
    """Makes the scores of one metric under one policy.

    `label` is the metric's name in a reason, `against` what its claims are held to; `mark` goes
    before the policy's own. Where lower is better, a number is what the policy's lacks of 1: the
    share of claims that are not backed.
    """

    policy: Policy
    label: str
    mark: float | None = None
    higher_is_better: bool = True
    against: Texts = "contexts"

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that a score can be."""
        ends = self._turned(self.policy.low), self._turned(1.0)
        return min(ends), max(ends)

    def _turned(self, number: float) -> float:
        return number if self.higher_is_better else 1 - number

    def score_verdicts(
        self, judged: Sequence[JudgedClaim], *, doubt: str | None = None, due: int | None = None
    ) -> Score:
        """Score by the verdicts; with a `doubt` the score is flagged, and that is the reason.

        `due` is the number of claims, where not as many verdicts came.
        """
        labels = [claim.label for claim in judged]
        detail: Detail = {"claims": len(labels) if due is None else due} | {
            label.value.lower(): labels.count(label)
            for label in Label
            if label is not Label.PARTIALLY_SUPPORTED or label in labels  # few judges use it
        }
        quotes = [item.verified for claim in judged for item in claim.evidence]
        if unfound := quotes.count(False):
            detail = {**detail, "quotes_not_found": unfound}
        return self._scored(self.policy.number(labels, due=due), detail, tuple(judged), doubt)

    def score_outcome(
        self, ruling: PolicyOutcome, reason: str, cause: Cause | None = None
    ) -> Score:
        """Score a situation that is no matter of weights."""
        if ruling.value is not None:
            doubt = reason if ruling.flagged else None
            never = None if ruling.passes else reason
            return self._scored(ruling.value, {"why": reason}, (), doubt, never)
        if ruling.state is State.FAILED:
            return Score.failed(cause or Cause.MALFORMED, reason)
        return Score.undefined(reason)

    def score_failure(self, cause: Cause, reason: str) -> Score:
        """Score a sample one of whose questions was not answered."""
        return self.score_outcome(self.policy.without_reply(cause), reason, cause)

    def score_partial(self, failure: Failure, claims: Sequence[Claim]) -> Score:
        """Score verdicts that came back, but not one that can be read for each claim."""
        returned, due = failure.returned, len(claims)
        if failure.cause is Cause.COUNT_MISMATCH:
            return self._miscounted(failure, claims)
        if failure.cause is Cause.MALFORMED and len(returned) == due:
            if self.policy.misread is None:
                return Score.failed(failure.cause, failure.message)
            return self._flagged(returned, claims, failure.message)
        return self.score_failure(failure.cause, failure.message)

    def _miscounted(self, failure: Failure, claims: Sequence[Claim]) -> Score:
        rule = self.policy.miscounted
        if rule is None:
            return Score.failed(failure.cause, failure.message)
        returned = failure.returned[: len(claims)] if rule.cut else failure.returned
        if not returned:
            return self.score_outcome(rule.nothing, failure.message, failure.cause)
        return self._flagged(returned, claims, failure.message)

    def _flagged(
        self, returned: Sequence[PartialVerdict], claims: Sequence[Claim], reason: str
    ) -> Score:
        judged: list[JudgedClaim] = []
        for place, item in enumerate(returned, 1):
            verdict = item.verdict
            if verdict is None:
                if self.policy.misread is None:
                    return Score.failed(Cause.MALFORMED, reason)
                said = f"the label {item.written!r} cannot be read"
                verdict = Verdict(label=self.policy.misread, reason=said)
            judged.append(
                JudgedClaim.of(_claim(claims, item.number or place), verdict, self.against)
            )
        return self.score_verdicts(judged, doubt=reason, due=len(claims))

    def _scored(
        self,
        value: float,
        detail: Detail,
        claims: tuple[JudgedClaim, ...],
        doubt: str | None,
        never: str | None = None,
    ) -> Score:
        """Hold the value against the mark; what is in doubt, or `never` passes, does not."""
        value, mark = self._turned(value), self.mark
        if mark is None and self.policy.mark is not None:
            mark = self._turned(self.policy.mark)
        reached = mark is not None and self._reaches(value, mark)
        parts: list[str] = []
        if mark is not None:
            sign = (
                (">=" if reached else "<") if self.higher_is_better else ("<=" if reached else ">")
            )
            parts.append(f"{self.label} {value:.2f} is {sign} {mark:g}")
            if reached and (doubt or never):
                parts[0] += f", but never passes: {'it is flagged' if doubt else never}"
        parts += [f"flagged: {doubt}"] if doubt else []
        return Score(
            state=State.SCORED,
            value=value,
            mark=mark,
            passed=None if mark is None else reached and not doubt and not never,
            reason="; ".join(parts) or None,
            fallback=doubt is not None,
            detail=detail,
            claims=claims,
        )

    def _reaches(self, value: float, mark: float) -> bool:
        return value >= mark - CLOSE if self.higher_is_better else value <= mark + CLOSE


def _claim(claims: Sequence[Claim], number: int) -> Claim:
    if 1 <= number <= len(claims):
        return claims[number - 1]
    return Claim(text=f"(no claim has the number {number})")
