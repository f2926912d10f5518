"""ClaimMetric: the family that scores a text's claims by the verdicts on them."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Sequence
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone.claims import Claim, JudgedClaim, Label, Verdict
from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.metrics.base import Ask, Metric
from ragstone.metrics.rulings import Ruler
from ragstone.places import Haystack
from ragstone.policies import STRICT, PolicyName, get_policy
from ragstone.questions import (
    BATCH,
    Explain,
    ExtractClaims,
    ExtractTruths,
    Unanswered,
    VerifyClaims,
)
from ragstone.samples import Sample
from ragstone.scores import MetricInfo, Score, State

T = TypeVar("T")

Count = Annotated[int, Field(ge=1)]


class _Made(NamedTuple):
    """The claims that a text makes, and what is to be noted of how they were found."""

    claims: tuple[Claim, ...]
    note: str | None = None


@dataclass(frozen=True)
class ClaimMetric(Metric):
    """Scores a text's claims by the verdicts on them; the policy makes the number.

    A subclass says whose claims, and against which texts they are held. What is asked depends on
    the sample and the other parameters, never on the policy: any policy reads the same ledger.

    Attributes:
        policy: how verdicts become a number, and what happens where there are none.
        mark: what a score has to reach to pass; None is the policy's own.
        verify: all claims in calls of `batch_size` (`batch`), one a call (`each`), or against the
            facts extracted from each source first (`truths`, at most `truths_limit` a source).
        claims: from the judge (`llm`), the text's sentences (`sentences`), or those where the
            judge found none to be read (`hybrid`).
        include_reason: have the verdicts summed up in words: the detail `explanation`.
        partial: let the judge say PARTIALLY_SUPPORTED.
    """

    asks: ClassVar[tuple[str, ...]] = (ExtractClaims.kind, VerifyClaims.kind)

    policy: PolicyName = STRICT.name
    mark: Annotated[float, Field(allow_inf_nan=False)] | None = None
    verify: Literal["batch", "each", "truths"] = "batch"
    claims: Literal["llm", "sentences", "hybrid"] = "llm"
    batch_size: Count = BATCH
    truths_limit: Count | None = None
    include_reason: bool = False
    partial: bool = False

    def __post_init__(self) -> None:
        low, high = self.range
        if self.mark is not None and not low <= self.mark <= high:
            said = f"mark={self.mark:g} is not between {low:g} and {high:g}"
            raise UsageError(f"{said}; 80 per cent is written 0.8")

    @abstractmethod
    def text(self, sample: Sample) -> str:
        """Return the text whose claims are judged."""

    @abstractmethod
    def sources(self, sample: Sample) -> tuple[str, ...]:
        """Return the texts that the claims are held against."""

    @property
    def range(self) -> tuple[float, float]:
        """The policy's: weights may be less than 0."""
        return get_policy(self.policy).low, self.high

    @property
    def described(self) -> MetricInfo:
        """What this metric is; its policy among that."""
        return super().described.model_copy(update={"policy": self.policy})

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """Those of every claim metric, and what the parameters add."""
        truths = (ExtractTruths.kind,) if self.verify == "truths" else ()
        return (*self.asks, *truths, *((Explain.kind,) if self.include_reason else ()))

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Extract the claims, have them verified, and let the policy make the number."""
        ruler = Ruler(get_policy(self.policy), self.label, self.mark)
        text, sources = self.text(sample), self.sources(sample)
        if not text:
            return ruler.ruled(ruler.policy.empty_response, "the response is empty")
        if sources and not any(source.strip() for source in sources):
            return Score.undefined("the contexts have no texts")
        made, bases = await asyncio.gather(
            _tried(self._claims(sample.query, text, ask)), _tried(self._bases(sources, ask))
        )  # both are awaited whatever becomes of one: what was paid for is in the ledger
        if isinstance(made, JudgeError):
            return ruler.unanswered(made.cause, str(made))
        if isinstance(bases, JudgeError):
            return ruler.unanswered(bases.cause, str(bases))
        score = await self._judged(made.claims, sources, bases, ruler, ask)
        if made.note is None:
            return score
        return score.model_copy(update={"detail": {**score.detail, "note": made.note}})

    async def _judged(
        self,
        claims: tuple[Claim, ...],
        sources: tuple[str, ...],
        bases: tuple[str, ...],
        ruler: Ruler,
        ask: Ask,
    ) -> Score:
        if not claims:
            return ruler.ruled(ruler.policy.no_claims, "the response makes no claims")
        if not sources and ruler.policy.no_contexts:
            return ruler.ruled(ruler.policy.no_contexts, "there are no contexts")
        try:
            verdicts = await self._verdicts(claims, bases, ask)
        except Unanswered as error:
            return ruler.broken(error.failure, claims)
        except JudgeError as error:
            return ruler.unanswered(error.cause, str(error))
        if self.verify == "truths":
            verdicts = _located(verdicts, sources)
        score = ruler.weighed(
            [JudgedClaim.of(*pair) for pair in zip(claims, verdicts, strict=True)]
        )
        # without sources nothing was judged, and not every policy comes this far
        return await self._explained(score, ask) if self.include_reason and sources else score

    async def _claims(self, query: str, text: str, ask: Ask) -> _Made:
        if not text.strip():
            return _Made(())
        by_sentence = ExtractClaims(query=query, response=text, by="sentences")
        if self.claims == "sentences":
            return _Made(await ask(by_sentence))
        try:
            return _Made(await ask(ExtractClaims(query=query, response=text)))
        except JudgeError as error:
            if self.claims != "hybrid" or error.cause is Cause.BUDGET:
                raise
            note = f"the claims are sentences, as none were extracted: {error.cause}"
            return _Made(await ask(by_sentence), note)

    async def _bases(self, sources: tuple[str, ...], ask: Ask) -> tuple[str, ...]:
        """Return what the claims are verified against: the sources, or the facts in each."""
        if self.verify != "truths":
            return sources
        asked = [ExtractTruths(context=source, limit=self.truths_limit) for source in sources]
        truths: list[str] = []
        for facts in await asyncio.gather(*(_tried(ask(question)) for question in asked)):
            if isinstance(facts, JudgeError):
                raise facts
            truths.append("\n".join(facts))
        return tuple(truths)

    async def _verdicts(
        self, claims: tuple[Claim, ...], bases: tuple[str, ...], ask: Ask
    ) -> tuple[Verdict, ...]:
        if not any(base.strip() for base in bases):
            reason = "no facts were found in the contexts" if bases else "there are no contexts"
            return (Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason),) * len(claims)
        return await ask(
            VerifyClaims(
                claims=tuple(claim.text for claim in claims),
                contexts=bases,
                partial=self.partial,
                batch_size=1 if self.verify == "each" else self.batch_size,
            )
        )

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


async def _tried(asking: Awaitable[T]) -> T | JudgeError:
    try:
        return await asking
    except JudgeError as error:
        return error


def _located(verdicts: Sequence[Verdict], sources: Sequence[str]) -> tuple[Verdict, ...]:
    """Return verdicts on facts with their quotes' places in the sources the facts came from."""
    stacks = [Haystack(source) for source in sources]
    found: list[Verdict] = []
    for verdict in verdicts:
        evidence = tuple(
            item.model_copy(
                update={
                    "start": span[0] if span else None,
                    "end": span[1] if span else None,
                    "verified": span is not None,
                }
            )
            for item in verdict.evidence
            for span in [stacks[item.context].find(item.quote)]
        )
        found.append(verdict.model_copy(update={"evidence": evidence}))
    return tuple(found)
