"""ClaimMetric: scores the verdicts and failures of one sample by a policy."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass as claim_metric_dataclass

from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.metrics.base import Ask
from ragstone.metrics.claim_checks import NO_REFERENCE_CLAIMS, Check, ClaimInputs, ClaimVerifier
from ragstone.types.claim import Claim, JudgedClaim, Label, Texts, Verdict
from ragstone.types.gate import reaches
from ragstone.types.policy import STRICT, Policy, PolicyName, PolicyOutcome, get_policy
from ragstone.types.questions import Explain
from ragstone.types.reply import Failure, JudgeFailureError
from ragstone.types.sample import Sample
from ragstone.types.score import ALL_SUPPORTED, MEAN_SUPPORT, Detail, MetricInfo, Score, State

NO_CONFIDENCE = (
    "the policy expected needs the judge's confidence in each verdict; use the offline judge, a "
    "local model or a panel, or another policy"
)


@dataclass(frozen=True)
class PolicyScorer:
    """Scores one metric by one policy.

    `label` is the metric's name in reasons, `against` what its claims are compared with;
    `threshold` overrides the policy's own. If lower is better, the value is 1 minus the policy's:
    the share of claims that are not supported.
    """

    policy: Policy
    label: str
    threshold: float | None = None
    higher_is_better: bool = True
    against: Texts = "contexts"

    @property
    def range(self) -> tuple[float, float]:
        """The minimum and maximum of a score."""
        ends = self._oriented(self.policy.low), self._oriented(1.0)
        return min(ends), max(ends)

    def _oriented(self, number: float) -> float:
        return number if self.higher_is_better else 1 - number

    def score_verdicts(
        self, judged: Sequence[JudgedClaim], *, flag: str | None = None, due: int | None = None
    ) -> Score:
        """Score verdicts; `flag` is the reason if the score is flagged.

        `due` is the number of claims, if it differs from the number of verdicts.
        """
        labels = [claim.label for claim in judged]
        detail: Detail = {"claims": len(labels) if due is None else due} | {
            label.value.lower(): labels.count(label)
            for label in Label
            if label is not Label.PARTIALLY_SUPPORTED or label in labels  # rarely used
        }
        quotes = [item.verified for claim in judged for item in claim.evidence]
        if unfound := quotes.count(False):
            detail = {**detail, "quotes_not_found": unfound}
        support = [claim.support for claim in judged if claim.support is not None]
        number = self.policy.number(labels, due=due)
        if len(support) == len(judged):
            mean, product = math.fsum(support) / len(support), math.prod(support)
            detail = {**detail, MEAN_SUPPORT: round(mean, 4), ALL_SUPPORTED: round(product, 4)}
            number = mean if self.policy.probable else number
        elif self.policy.probable:
            return Score.undefined(NO_CONFIDENCE)
        return self._scored(number, detail, tuple(judged), flag)

    def score_outcome(
        self, outcome: PolicyOutcome, reason: str, cause: Cause | None = None
    ) -> Score:
        """Score a situation for which the policy has a fixed outcome."""
        if outcome.value is not None:
            flag = reason if outcome.flagged else None
            note = None if outcome.flagged else f"no statements ({reason})"
            detail: Detail = {"why": reason}
            return self._scored(outcome.value, detail, (), flag, note, veto=not outcome.passes)
        if outcome.state is State.FAILED:
            return Score.failed(cause or Cause.MALFORMED, reason)
        return Score.undefined(reason)

    def score_failure(self, cause: Cause, reason: str) -> Score:
        """Score a sample with an unanswered question."""
        return self.score_outcome(self.policy.without_reply(cause), reason, cause)

    def score_partial(self, failure: Failure, claims: Sequence[Claim]) -> Score:
        """Score a reply without exactly one readable verdict per claim."""
        returned, due, reason = failure.returned, len(claims), failure.message
        if failure.cause is Cause.COUNT_MISMATCH:
            rule = self.policy.on_count_mismatch
            if rule is None:
                return Score.failed(failure.cause, reason)
            returned = returned[:due] if rule.ignore_extra else returned
            if not returned:
                return self.score_outcome(rule.if_no_verdicts, reason, failure.cause)
        elif failure.cause is Cause.MALFORMED and len(returned) == due:
            if self.policy.on_unreadable_label is None:
                return Score.failed(failure.cause, reason)
        else:
            return self.score_failure(failure.cause, reason)
        judged: list[JudgedClaim] = []
        for place, item in enumerate(returned, 1):
            verdict = item.verdict
            if verdict is None:
                if self.policy.on_unreadable_label is None:
                    return Score.failed(Cause.MALFORMED, reason)
                why = f"the label {item.written!r} cannot be read"
                verdict = Verdict(label=self.policy.on_unreadable_label, reason=why)
            number = item.number or place
            claim = Claim(text=f"(no claim has the number {number})")
            if 1 <= number <= due:
                claim = claims[number - 1]
            judged.append(JudgedClaim.of(claim, verdict, self.against))
        return self.score_verdicts(judged, flag=reason, due=due)

    def _scored(
        self,
        value: float,
        detail: Detail,
        claims: tuple[JudgedClaim, ...],
        flag: str | None,
        note: str | None = None,
        *,
        veto: bool = False,
    ) -> Score:
        """Compare the value with the threshold; scores with a `flag` or `veto` never pass.

        `note` is the reason why the value was not measured.
        """
        value, threshold = self._oriented(value), self.threshold
        if threshold is None and self.policy.threshold is not None:
            threshold = self._oriented(self.policy.threshold)
        passing, failing = (">=", "<") if self.higher_is_better else ("<=", ">")
        reached = threshold is not None and reaches(value, threshold, passing)
        parts: list[str] = []
        if threshold is not None:
            sign = passing if reached else failing
            parts.append(f"{self.label} {value:.2f} is {sign} {threshold:g}")
            if reached and (flag or veto):
                parts[0] += ", but does not pass" + (": it is flagged" if flag else "")
        if note:
            parts = [": ".join([*parts, note])]
        parts += [f"flagged: {flag}"] if flag else []
        return Score(
            state=State.SCORED,
            value=value,
            threshold=threshold,
            passed=None if threshold is None else reached and not flag and not veto,
            reason="; ".join(parts) or None,
            fallback=flag is not None,
            detail=detail,
            claims=claims,
        )


@claim_metric_dataclass(frozen=True)
class ClaimMetric(ClaimVerifier):
    """A metric that scores the claims of one check by a policy.

    Subclasses define the check. Questions never depend on the policy, so all policies share them.

    Attributes:
        policy: how verdicts and failures become a score.
        threshold: what a score must reach to pass; None is the policy's own.
        include_reason: ask the judge for a summary of the verdicts (detail `explanation`).
    """

    must_define: ClassVar[tuple[str, ...]] = ("check",)
    calls: ClassVar[int] = 2
    check: ClassVar[Check]

    def __init_subclass__(cls) -> None:
        """Derive `needs` from the check, unless the class defines it."""
        super().__init_subclass__()
        if "check" in cls.__dict__ and "needs" not in cls.__dict__:
            cls.needs = cls.check.needs

    policy: PolicyName = STRICT.name
    threshold: Annotated[float, Field(allow_inf_nan=False)] | None = None
    include_reason: bool = False

    def __post_init__(self) -> None:
        low, high = self.range
        if self.threshold is not None and not low <= self.threshold <= high:
            raise UsageError(
                f"threshold={self.threshold:g} is not between {low:g} and {high:g}; "
                "write 80 percent as 0.8"
            )

    @property
    def range(self) -> tuple[float, float]:
        """The range of the policy, whose weights can be negative."""
        return self._scorer.range

    @property
    def described(self) -> MetricInfo:
        """The description of this metric, with its policy."""
        return super().described.model_copy(update={"policy": self.policy})

    @property
    def active_checks(self) -> tuple[Check, ...]:
        """The one check of the metric."""
        return (self.check,)

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """The kinds of question with these parameters."""
        return (*super().question_kinds, *((Explain.kind,) if self.include_reason else ()))

    @property
    def _scorer(self) -> PolicyScorer:
        return PolicyScorer(
            get_policy(self.policy),
            self.label,
            self.threshold,
            higher_is_better=self.higher_is_better,
            against=self.check.against,
        )

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Extract and verify the claims, and apply the policy."""
        scorer, check = self._scorer, self.check
        if check.given_claims(sample) is None and not check.text(sample):
            if check.of == "reference":  # policies are about responses
                return Score.undefined("the reference is empty")
            return scorer.score_outcome(scorer.policy.empty_response, "the response is empty")
        if obstacle := check.obstacle(sample):
            return Score.undefined(obstacle)
        try:
            prepared = await self.prepare(check, sample, ask)
        except JudgeError as error:
            return scorer.score_failure(error.cause, str(error))
        score = await self._judged(prepared, scorer, ask)
        note = {} if prepared.note is None else {"note": prepared.note}
        update = {"truths": prepared.truths, "detail": {**score.detail, **note}}
        return score.model_copy(update=update) if note or prepared.truths else score

    async def _judged(self, prepared: ClaimInputs, scorer: PolicyScorer, ask: Ask) -> Score:
        check, claims, sources, *_ = prepared
        if not sources and scorer.policy.probable:  # nothing to judge, so no confidences
            scorer = replace(scorer, policy=STRICT)
        if not claims and check.of == "reference":
            return Score.undefined(NO_REFERENCE_CLAIMS)
        if not claims:
            return scorer.score_outcome(scorer.policy.no_claims, "the response makes no claims")
        if not sources and check.against == "contexts" and scorer.policy.no_contexts:
            return scorer.score_outcome(scorer.policy.no_contexts, check.no_sources_reason)
        try:
            verdicts = await self.verify_claims(prepared, ask)
        except JudgeFailureError as error:
            return scorer.score_partial(error.failure, claims)
        except JudgeError as error:
            return scorer.score_failure(error.cause, str(error))
        judged = [
            JudgedClaim.of(*pair, check.against) for pair in zip(claims, verdicts, strict=True)
        ]
        score = scorer.score_verdicts(judged)
        if not (self.include_reason and sources):  # without sources, nothing was judged
            return score
        question = Explain(
            claims=tuple(claim.text for claim in judged),
            labels=tuple(claim.label for claim in judged),
            reasons=tuple(claim.reason or "" for claim in judged),
        )
        try:
            explanation = await ask(question)
        except JudgeError as error:
            explanation = f"none: {error}"
        return score.model_copy(update={"detail": {**score.detail, "explanation": explanation}})
