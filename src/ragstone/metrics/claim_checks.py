"""Claim metrics: extract the claims of one text, verify them against another, and score them.

A ClaimMetric scores one check by a policy; a CheckMetric counts the claims of several.
"""

import asyncio
import math
from abc import abstractmethod
from collections.abc import Awaitable, Iterable, Sequence
from dataclasses import fields, replace
from functools import cached_property
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone._internal.sentences import QuoteFinder
from ragstone.errors import Cause, JudgeError, UsageError
from ragstone.metrics.base import Ask, Count, Metric
from ragstone.types.claim import BATCH, Claim, Evidence, JudgedClaim, Label, Texts, Verdict
from ragstone.types.gate import reaches
from ragstone.types.policy import STRICT, Policy, PolicyName, PolicyOutcome, get_policy
from ragstone.types.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims
from ragstone.types.reply import Failure, JudgeFailureError
from ragstone.types.sample import Sample
from ragstone.types.score import ALL_SUPPORTED, MEAN_SUPPORT, Detail, MetricInfo, Score, State


class Check(NamedTuple):
    """The claims of the response or the reference, compared with another text of the sample."""

    of: Literal["response", "reference"]
    against: Texts

    @property
    def needs(self) -> tuple[str, ...]:
        names = {"reference": "reference_claims"}
        return names.get(self.of, self.of), names.get(self.against, self.against)

    def given_claims(self, sample: Sample) -> tuple[str, ...] | None:
        if self.of == "response" or sample.reference_claims is None:
            return None
        # a row that lists claims has no others: none are extracted from its reference
        return tuple(dict.fromkeys(filter(str.strip, sample.reference_claims)))

    def text(self, sample: Sample) -> str:
        return (sample.response if self.of == "response" else sample.closest_reference) or ""

    def notes(self, sample: Sample) -> tuple[str, ...]:
        listed = self.of == "response" or sample.reference_claims is not None
        return sample.reference_note(read=self.against == "reference" or not listed)

    def sources(self, sample: Sample) -> tuple[str, ...]:
        if self.against == "contexts":
            return tuple(context.text for context in sample.contexts or ())
        texts = sample.closest_reference, "\n".join(sample.reference_claims or ())
        texts = texts if self.against == "reference" else (sample.response,)
        return tuple(text for text in texts if text and text.strip())

    @property
    def no_sources_reason(self) -> str:
        if self.against == "contexts":
            return "there are no contexts"
        return f"the {self.against} is empty"

    def obstacle(self, sample: Sample) -> str | None:
        """Return why a sample cannot be checked; one with no contexts or response can be."""
        sources = self.sources(sample)
        if self.against == "contexts" and sources and not any(map(str.strip, sources)):
            return "the contexts have no text"
        return "the reference is empty" if self.against == "reference" and not sources else None


RESPONSE_IN_CONTEXTS = Check("response", "contexts")
RESPONSE_IN_REFERENCE = Check("response", "reference")
REFERENCE_IN_CONTEXTS = Check("reference", "contexts")
REFERENCE_IN_RESPONSE = Check("reference", "response")

T = TypeVar("T")
JudgedClaims = tuple[JudgedClaim, ...]  # in the order of the text: all checks of it have the same


class ClaimInputs(NamedTuple):
    """A check's claims, and the `bases` to compare them with: its sources, or their facts."""

    check: Check
    query: str
    claims: tuple[Claim, ...]
    sources: tuple[str, ...]
    bases: tuple[str, ...]
    note: str | None
    truths: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClaimVerifier(Metric):
    """A metric that extracts and verifies claims; those with equal parameters share questions."""

    asks: ClassVar[tuple[str, ...]] = (ExtractClaims.kind, VerifyClaims.kind)
    checks: ClassVar[tuple[Check, ...]]

    # all claims in calls of `batch_size`, one per call, or against facts extracted from each source
    verify: Literal["batch", "each", "truths"] = "batch"
    # the claims: from the judge, the sentences of the text, or these only if the judge failed
    claim_source: Literal["llm", "sentences", "hybrid"] = "llm"
    batch_size: Count = BATCH
    truths_limit: Count | None = None  # per source
    allow_partial: bool = False  # allow the label PARTIALLY_SUPPORTED

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "check" in vars(cls):
            cls.checks = (vars(cls)["check"],)
        if "checks" in vars(cls):
            needs = (need for check in cls.checks for need in check.needs)
            calls = len({check.of for check in cls.checks}) + len(cls.checks)
            cls.needs = vars(cls).get("needs", tuple(dict.fromkeys(needs)))
            cls.calls = vars(cls).get("calls", calls)

    @property
    def active_checks(self) -> tuple[Check, ...]:
        return self.checks  # unless a subclass has parameters that select some

    @cached_property
    def question_settings(self) -> tuple[object, ...]:
        return tuple(getattr(self, field.name) for field in fields(ClaimVerifier))

    @property
    def question_kinds(self) -> tuple[str, ...]:
        return (*self.asks, *((ExtractTruths.kind,) if self.verify == "truths" else ()))

    async def judge_claims(
        self, check: Check, sample: Sample, ask: Ask
    ) -> tuple[ClaimInputs, JudgedClaims]:
        prepared = await self.prepare(check, sample, ask)
        return prepared, await self.verify_claims(prepared, ask) if prepared.claims else ()

    async def prepare(self, check: Check, sample: Sample, ask: Ask) -> ClaimInputs:
        """If a question fails, all others are awaited first, so they are in the transcript."""
        query, sources = sample.query_with_history, check.sources(sample)
        if self.verify != "truths":
            claims, note = await self._claims(check, sample, ask)
            return ClaimInputs(check, query, claims, sources, sources, note)
        questions = [ExtractTruths(context=each, limit=self.truths_limit) for each in sources]
        found, facts = await asyncio.gather(
            capture_error(self._claims(check, sample, ask)),
            capture_error(gather_answers(ask(question) for question in questions)),
        )
        if isinstance(found, JudgeError):
            raise found
        if isinstance(facts, JudgeError):
            raise facts
        claims, note = found
        bases = tuple("\n".join(each) for each in facts)
        truths = tuple(fact for each in facts for fact in each)
        return ClaimInputs(check, query, claims, sources, bases, note, truths)

    async def _claims(
        self, check: Check, sample: Sample, ask: Ask
    ) -> tuple[tuple[Claim, ...], str | None]:
        known, text = check.given_claims(sample), check.text(sample)
        if known is not None:
            return tuple(Claim(text=claim) for claim in known), None
        if not text.strip():
            return (), None
        by_sentence = ExtractClaims(query=sample.query_with_history, response=text, by="sentences")
        if self.claim_source == "sentences":
            return await ask(by_sentence), None
        try:
            return await ask(ExtractClaims(query=sample.query_with_history, response=text)), None
        except JudgeError as error:
            if self.claim_source != "hybrid" or error.cause is Cause.BUDGET:
                raise
            note = f"the claims are sentences, because none were extracted: {error.cause}"
            return await ask(by_sentence), note

    async def verify_claims(self, prepared: ClaimInputs, ask: Ask) -> JudgedClaims:
        check, query, claims, sources, bases, *_ = prepared
        if any(map(str.strip, bases)):
            verdicts = await ask(
                VerifyClaims(
                    query=query,
                    claims=tuple(claim.text for claim in claims),
                    contexts=bases,
                    partial=self.allow_partial,
                    batch_size=1 if self.verify == "each" else self.batch_size,
                )
            )
        else:
            none = f"no facts were found in the {check.against}"
            reason = none if bases else check.no_sources_reason
            verdicts = (Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason),) * len(claims)
        if self.verify == "truths":  # the evidence quotes facts: find them in the sources
            finders = [QuoteFinder(source) for source in sources]
            verdicts = tuple(_with_places(verdict, finders) for verdict in verdicts)
        pairs = zip(claims, verdicts, strict=True)
        return tuple(JudgedClaim.of(*pair, check.against) for pair in pairs)


def _with_places(verdict: Verdict, finders: Sequence[QuoteFinder]) -> Verdict:
    evidence: list[Evidence] = []
    for item in verdict.evidence:
        start, end = finders[item.context].find(item.quote) or (None, None)
        update = {"start": start, "end": end, "verified": start is not None}
        evidence.append(item.model_copy(update=update))
    return verdict.model_copy(update={"evidence": tuple(evidence)})


async def capture_error(answer: Awaitable[T]) -> T | JudgeError:
    try:
        return await answer
    except JudgeError as error:
        return error


async def gather_answers(answers: Iterable[Awaitable[T]]) -> list[T]:
    """Await all answers concurrently, even if some fail, and raise the first JudgeError."""
    found: list[T] = []
    for answer in await asyncio.gather(*map(capture_error, answers)):
        if isinstance(answer, JudgeError):
            raise answer
        found.append(answer)
    return found


NO_CLAIMS = "the response makes no claims"
NO_REFERENCE_CLAIMS = (
    "the reference makes no claims; write sentences, or list short answers in reference_claims"
)


@dataclass(frozen=True)
class CheckMetric(ClaimVerifier):
    """A metric of the claims of one or more checks; no policies: a failed question fails it."""

    must_define: ClassVar[tuple[str, ...]] = ("checks",)

    @abstractmethod
    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Return the score; `judged` has the claims of each of the `active_checks`."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        for check in self.active_checks:
            if obstacle := check.obstacle(sample):
                return Score.undefined(obstacle)
        results = await gather_answers(
            self.judge_claims(check, sample, ask) for check in self.active_checks
        )
        score = self.compute(sample, *(judged for _, judged in results))
        if score.value is None:
            return score
        notes = [each for found, _ in results for each in (*found.check.notes(sample), found.note)]
        claims = tuple(claim for _, judged in results for claim in judged)
        truths = tuple(dict.fromkeys(fact for each, _ in results for fact in each.truths))
        return score.noted(notes).model_copy(update={"claims": claims, "truths": truths})


def supported(judged: Sequence[JudgedClaim]) -> list[bool]:
    return [claim.label is Label.SUPPORTED for claim in judged]


def quoted(claim: JudgedClaim, sample: Sample) -> frozenset[int]:
    """Return the indexes of the contexts with the verdict's quotes, and of those equal to them."""
    texts = [context.text for context in sample.contexts or ()]
    found = {texts[item.context] for item in claim.evidence if item.verified}
    return frozenset(number for number, text in enumerate(texts) if text in found)


NO_CONFIDENCE = (
    "the policy expected needs the judge's confidence in each verdict; use the offline judge, a "
    "local model or a panel, or another policy"
)


@dataclass(frozen=True)
class ClaimMetric(ClaimVerifier):
    """A metric that scores the claims of one check by a policy.

    Subclasses define the check. Questions never depend on the policy, so all policies share them.

    Attributes:
        policy: how verdicts and failures become a score.
        threshold: what a score must reach to pass; None is the policy's own.
        include_reason: ask the judge for a summary of the verdicts (detail `explanation`).
    """

    must_define: ClassVar[tuple[str, ...]] = ("check",)
    check: ClassVar[Check]

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

    @cached_property
    def rules(self) -> Policy:
        return get_policy(self.policy)

    @property
    def range(self) -> tuple[float, float]:
        return self.rules.low, 1.0

    @property
    def described(self) -> MetricInfo:
        return super().described.model_copy(update={"policy": self.policy})

    @property
    def question_kinds(self) -> tuple[str, ...]:
        return (*super().question_kinds, *((Explain.kind,) if self.include_reason else ()))

    async def score(self, sample: Sample, ask: Ask) -> Score:
        check = self.check
        if check.given_claims(sample) is None and not check.text(sample):
            if check.of == "reference":  # policies are about responses
                return Score.undefined("the reference is empty")
            return self.score_outcome(self.rules.empty_response, "the response is empty")
        if obstacle := check.obstacle(sample):
            return Score.undefined(obstacle)
        try:
            prepared = await self.prepare(check, sample, ask)
        except JudgeError as error:
            return self.score_failure(error.cause, str(error))
        judging = self
        if not prepared.sources and self.rules.probable:  # nothing to judge, so no confidences
            judging = replace(self, policy=STRICT.name)
        score = await judging._judged(prepared, ask)
        notes = (*check.notes(sample), prepared.note)
        return score.noted(notes).model_copy(update={"truths": prepared.truths})

    async def _judged(self, prepared: ClaimInputs, ask: Ask) -> Score:
        check, _, claims, sources, *_ = prepared
        if not claims and check.of == "reference":
            return Score.undefined(NO_REFERENCE_CLAIMS)
        if not claims:
            return self.score_outcome(self.rules.no_claims, NO_CLAIMS)
        if not sources and check.against == "contexts" and self.rules.no_contexts:
            return self.score_outcome(self.rules.no_contexts, check.no_sources_reason)
        try:
            judged = await self.verify_claims(prepared, ask)
        except JudgeFailureError as error:
            return self.score_partial(error.failure, claims)
        except JudgeError as error:
            return self.score_failure(error.cause, str(error))
        score = self.score_verdicts(judged)
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

    def score_verdicts(
        self, judged: Sequence[JudgedClaim], *, flag: str | None = None, due: int | None = None
    ) -> Score:
        """Score verdicts; `due` is the number of claims, if there are not as many verdicts."""
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
        number = self.rules.number(labels, due=due)
        if len(support) == len(judged):
            mean, product = math.fsum(support) / len(support), math.prod(support)
            detail = {**detail, MEAN_SUPPORT: round(mean, 4), ALL_SUPPORTED: round(product, 4)}
            number = mean if self.rules.probable else number
        elif self.rules.probable:
            return Score.undefined(NO_CONFIDENCE)
        return self._scored(number, detail, tuple(judged), flag)

    def score_outcome(
        self, outcome: PolicyOutcome, reason: str, cause: Cause | None = None
    ) -> Score:
        if outcome.value is not None:
            flag = reason if outcome.flagged else None
            note = None if outcome.flagged else f"no statements ({reason})"
            detail: Detail = {"why": reason}
            return self._scored(outcome.value, detail, (), flag, note, veto=not outcome.passes)
        if outcome.state is State.FAILED:
            return Score.failed(cause or Cause.MALFORMED, reason)
        return Score.undefined(reason)

    def score_failure(self, cause: Cause, reason: str) -> Score:
        return self.score_outcome(self.rules.without_reply(cause), reason, cause)

    def score_partial(self, failure: Failure, claims: Sequence[Claim]) -> Score:
        """Score a reply without exactly one readable verdict per claim."""
        returned, due, reason = failure.returned, len(claims), failure.message
        if failure.cause is Cause.COUNT_MISMATCH:
            rule = self.rules.on_count_mismatch
            if rule is None:
                return Score.failed(failure.cause, reason)
            returned = returned[:due] if rule.ignore_extra else returned
            if not returned:
                return self.score_outcome(rule.if_no_verdicts, reason, failure.cause)
        elif failure.cause is not Cause.MALFORMED or len(returned) != due:
            return self.score_failure(failure.cause, reason)
        elif self.rules.on_unreadable_label is None:
            return Score.failed(failure.cause, reason)
        judged: list[JudgedClaim] = []
        for place, item in enumerate(returned, 1):
            verdict = item.verdict
            if verdict is None:
                if self.rules.on_unreadable_label is None:
                    return Score.failed(Cause.MALFORMED, reason)
                why = f"the label {item.written!r} cannot be read"
                verdict = Verdict(label=self.rules.on_unreadable_label, reason=why)
            number = item.number or place
            unknown = Claim(text=f"(no claim has the number {number})")
            claim = claims[number - 1] if 1 <= number <= due else unknown
            judged.append(JudgedClaim.of(claim, verdict, self.check.against))
        return self.score_verdicts(judged, flag=reason, due=due)

    def _scored(
        self,
        value: float,
        detail: Detail,
        claims: JudgedClaims,
        flag: str | None,
        note: str | None = None,
        *,
        veto: bool = False,
    ) -> Score:
        threshold = self.rules.threshold if self.threshold is None else self.threshold
        reached = threshold is not None and reaches(value, threshold)
        words = ""
        if threshold is not None:
            words = f"{self.label} {value:.2f} is {'>=' if reached else '<'} {threshold:g}"
            if reached and (flag or veto):
                words += ", but does not pass"
        words = ": ".join(filter(None, (words, note)))
        words = "; ".join(filter(None, (words, flag and f"flagged: {flag}")))
        return Score(
            state=State.SCORED,
            value=value,
            threshold=threshold,
            passed=None if threshold is None else reached and not flag and not veto,
            reason=words or None,
            fallback=flag is not None,
            detail=detail,
            claims=claims,
        )
