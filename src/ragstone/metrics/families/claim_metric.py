"""ClaimMetric: the family that scores one check's claims by a policy."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone.claims import JudgedClaim
from ragstone.errors import JudgeError, UsageError
from ragstone.exchanges import JudgeFailureError
from ragstone.metrics.families.base import Ask
from ragstone.metrics.families.checks import Check
from ragstone.metrics.families.claim_asker import ClaimInputs, ClaimVerifier
from ragstone.metrics.families.rulings import PolicyScorer
from ragstone.policies import STRICT, PolicyName, get_policy
from ragstone.questions import Explain
from ragstone.samples import Sample
from ragstone.scores import MetricInfo, Score, State


@dataclass(frozen=True)
class ClaimMetric(ClaimVerifier):
    """Scores the claims of one check by the verdicts on them; the policy makes the number.

    A subclass says which check. What is asked never depends on the policy: any policy reads the
    same ledger.

    Attributes:
        policy: how verdicts become a number, and what happens where there are none.
        mark: what a score has to reach to pass; None is the policy's own.
        include_reason: have the verdicts summed up in words: the detail `explanation`.
    """

    says: ClassVar[tuple[str, ...]] = ("check",)
    calls: ClassVar[int] = 2
    check: ClassVar[Check]

    def __init_subclass__(cls) -> None:
        """Take what the class needs from its check, unless it says more."""
        super().__init_subclass__()
        if "check" in cls.__dict__ and "needs" not in cls.__dict__:
            cls.needs = cls.check.needs

    policy: PolicyName = STRICT.name
    mark: Annotated[float, Field(allow_inf_nan=False)] | None = None
    include_reason: bool = False

    def __post_init__(self) -> None:
        low, high = self.range
        if self.mark is not None and not low <= self.mark <= high:
            said = f"mark={self.mark:g} is not between {low:g} and {high:g}"
            raise UsageError(f"{said}; 80 per cent is written 0.8")

    @property
    def range(self) -> tuple[float, float]:
        """The policy's: weights may be less than 0."""
        return self._scorer.range

    @property
    def described(self) -> MetricInfo:
        """What this metric is; its policy among that."""
        return super().described.model_copy(update={"policy": self.policy})

    @property
    def active_checks(self) -> tuple[Check, ...]:
        """Its one check."""
        return (self.check,)

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """Those of every metric of claims, and what the parameters add."""
        return (*super().question_kinds, *((Explain.kind,) if self.include_reason else ()))

    @property
    def _scorer(self) -> PolicyScorer:
        policy = get_policy(self.policy)
        return PolicyScorer(
            policy,
            self.label,
            self.mark,
            higher_is_better=self.higher_is_better,
            against=self.check.against,
        )

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have the claims found and verified, and let the policy make the number."""
        scorer, check = self._scorer, self.check
        if check.given_claims(sample) is None and not check.text(sample):
            if check.of == "reference":  # no policy rules on an answer to expect
                return Score.undefined("the reference is empty")
            return scorer.score_outcome(scorer.policy.empty_response, "the response is empty")
        if obstacle := check.obstacle(sample):
            return Score.undefined(obstacle)
        try:
            prepared = await self.prepare(check, sample, ask)
        except JudgeError as error:
            return scorer.score_failure(error.cause, str(error))
        score = await self._judged(prepared, scorer, ask)
        if prepared.note is None:
            return score
        return score.model_copy(update={"detail": {**score.detail, "note": prepared.note}})

    async def _judged(self, prepared: ClaimInputs, scorer: PolicyScorer, ask: Ask) -> Score:
        check, claims, sources, *_ = prepared
        if not claims and check.of == "reference":
            return Score.undefined("the reference makes no claims")
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
        score = scorer.score_verdicts(
            [JudgedClaim.of(*pair, check.against) for pair in zip(claims, verdicts, strict=True)]
        )
        # without sources nothing was judged, and not every policy comes this far
        return await self._explained(score, ask) if self.include_reason and sources else score

    async def _explained(self, score: Score, ask: Ask) -> Score:
        """Add the judge's summing up; where it gives none, the score stays as it is."""
        if score.state is not State.SCORED:
            return score
        claims = score.claims
        question = Explain(
            claims=tuple(claim.text for claim in claims),
            labels=tuple(claim.label for claim in claims),
            reasons=tuple(claim.reason or "" for claim in claims),
        )
        try:
            said = await ask(question)
        except JudgeError as error:
            said = f"none: {error}"
        return score.model_copy(update={"detail": {**score.detail, "explanation": said}})
