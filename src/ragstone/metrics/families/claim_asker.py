"""ClaimVerifier: how a metric has claims found and verified. Families of metrics build on it."""

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import fields
from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, TypeVar

from pydantic.dataclasses import dataclass

from ragstone.claims import Claim, JudgedClaim, Label, Verdict
from ragstone.errors import Cause, JudgeError
from ragstone.metrics.families.base import Ask, Count, Metric
from ragstone.metrics.families.checks import Check
from ragstone.places import QuoteFinder
from ragstone.questions import BATCH, ExtractClaims, ExtractTruths, VerifyClaims
from ragstone.samples import Sample

T = TypeVar("T")


class ClaimInputs(NamedTuple):
    """A check's claims and the texts to hold them against.

    `bases` are what the claims are verified against: the sources, or the facts in each. `note` is
    what is to be known of how the claims were found.
    """

    check: Check
    claims: tuple[Claim, ...]
    sources: tuple[str, ...]
    bases: tuple[str, ...]
    note: str | None


class CheckResult(NamedTuple):
    """The claims of a check with their verdicts, in the order of their text."""

    claims: tuple[JudgedClaim, ...]
    note: str | None = None


@dataclass(frozen=True)
class ClaimVerifier(Metric):
    """A metric that has claims found and verified.

    What is asked depends on the sample and these parameters alone, so metrics that share them
    share the questions.

    Attributes:
        verify: all claims in calls of `batch_size` (`batch`), one a call (`each`), or against the
            facts extracted from each source first (`truths`, at most `truths_limit` a source).
        claims: from the judge (`llm`), the text's sentences (`sentences`), or those where the
            judge found none to be read (`hybrid`).
        partial: let the judge say PARTIALLY_SUPPORTED.
    """

    asks: ClassVar[tuple[str, ...]] = (ExtractClaims.kind, VerifyClaims.kind)

    verify: Literal["batch", "each", "truths"] = "batch"
    claims: Literal["llm", "sentences", "hybrid"] = "llm"
    batch_size: Count = BATCH
    truths_limit: Count | None = None
    partial: bool = False

    @property
    def active_checks(self) -> tuple[Check, ...]:
        """The checks that it makes with these parameters."""
        return ()

    @cached_property
    def question_settings(self) -> tuple[object, ...]:
        """How claims are found and verified: metrics that agree in it ask the same."""
        return tuple(getattr(self, field.name) for field in fields(ClaimVerifier))

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """Those of every metric of claims, and what the parameters add."""
        return (*self.asks, *((ExtractTruths.kind,) if self.verify == "truths" else ()))

    async def judge_claims(self, check: Check, sample: Sample, ask: Ask) -> CheckResult:
        """Return the claims of a check with their verdicts; none where there are no claims.

        Raises:
            JudgeError: a question was not answered.
        """
        prepared = await self.prepare(check, sample, ask)
        verdicts = await self.verify_claims(prepared, ask) if prepared.claims else ()
        pairs = zip(prepared.claims, verdicts, strict=True)
        judged = (JudgedClaim.of(*pair, check.against) for pair in pairs)
        return CheckResult(tuple(judged), prepared.note)

    async def prepare(self, check: Check, sample: Sample, ask: Ask) -> ClaimInputs:
        """Return a check's claims and the texts to hold them against.

        Raises:
            JudgeError: a question was not answered. All others were awaited: what was paid for is
                in the ledger.
        """
        sources = check.sources(sample)
        finding = capture_error(self._claims(check, sample, ask))
        if self.verify == "truths":
            made, bases = await asyncio.gather(finding, capture_error(self._truths(sources, ask)))
        else:
            made, bases = await finding, sources
        if isinstance(made, JudgeError):
            raise made
        if isinstance(bases, JudgeError):
            raise bases
        claims, note = made
        return ClaimInputs(check, claims, sources, bases, note)

    async def _claims(
        self, check: Check, sample: Sample, ask: Ask
    ) -> tuple[tuple[Claim, ...], str | None]:
        known, text = check.given_claims(sample), check.text(sample)
        if known is not None:
            return tuple(Claim(text=claim) for claim in known), None
        if not text.strip():
            return (), None
        by_sentence = ExtractClaims(query=sample.query, response=text, by="sentences")
        if self.claims == "sentences":
            return await ask(by_sentence), None
        try:
            return await ask(ExtractClaims(query=sample.query, response=text)), None
        except JudgeError as error:
            if self.claims != "hybrid" or error.cause is Cause.BUDGET:
                raise
            note = f"the claims are sentences, as none were extracted: {error.cause}"
            return await ask(by_sentence), note

    async def _truths(self, sources: tuple[str, ...], ask: Ask) -> tuple[str, ...]:
        """Return the facts in each source, a line each."""
        asked = [ExtractTruths(context=source, limit=self.truths_limit) for source in sources]
        truths: list[str] = []
        for facts in await asyncio.gather(*(capture_error(ask(question)) for question in asked)):
            if isinstance(facts, JudgeError):
                raise facts
            truths.append("\n".join(facts))
        return tuple(truths)

    async def verify_claims(self, prepared: ClaimInputs, ask: Ask) -> tuple[Verdict, ...]:
        """Return a verdict on each claim, its quotes placed in the sources.

        Raises:
            JudgeError: the judge did not answer.
        """
        if not any(base.strip() for base in prepared.bases):
            reason = f"no facts were found in the {prepared.check.against}"
            if not prepared.bases:
                reason = prepared.check.no_sources_reason
            return (Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason),) * len(prepared.claims)
        verdicts = await ask(
            VerifyClaims(
                claims=tuple(claim.text for claim in prepared.claims),
                contexts=prepared.bases,
                partial=self.partial,
                batch_size=1 if self.verify == "each" else self.batch_size,
            )
        )
        return _located(verdicts, prepared.sources) if self.verify == "truths" else verdicts


async def capture_error(asking: Awaitable[T]) -> T | JudgeError:
    """Return what comes of asking, the error as a value."""
    try:
        return await asking
    except JudgeError as error:
        return error


def _located(verdicts: Sequence[Verdict], sources: Sequence[str]) -> tuple[Verdict, ...]:
    """Return verdicts on facts with their quotes' places in the sources the facts came from."""
    stacks = [QuoteFinder(source) for source in sources]
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
