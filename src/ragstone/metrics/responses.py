"""Metrics of the response: agreement with the reference, abstention, relevancy to the query."""

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar

from pydantic import Field

from ragstone.metrics import claim_checks
from ragstone.metrics.base import Ask, Count, Metric
from ragstone.metrics.registry import register
from ragstone.types.claim import Label
from ragstone.types.questions import DetectAbstention, GenerateQueries, TextSimilarity
from ragstone.types.sample import Sample
from ragstone.types.score import Detail, Score, State

SHORT = 4  # words of a reference that is a name or a number rather than a sentence


@register("answer_correctness")
class AnswerCorrectness(claim_checks.CheckMetric):
    """How well the claims of response and reference agree.

    Formula: TP / (TP + (FP + FN) / 2), as in RAGAS. TP are the response's claims that the reference
    supports, FP its other claims, FN the reference's claims that the response does not support. A
    reference that is one claim of up to four words, such as `24 months`, cannot support a sentence:
    the response's claims in which it was found are TP too. If
    the two split their claims differently, this is not the F1 of the precision and recall in the
    detail (RAGChecker's F1). `semantic` is the weight of the cosine similarity of both texts, from
    0 (default) to below 1; RAGAS uses 0.25. Range 0 to 1. 1.0: the same claims. 0.0: none in
    common, or the response makes none. Undefined: the reference makes no claims. Four calls per
    sample, five with `semantic`.
    Source: RAGAS, AnswerCorrectness.
    """

    label: ClassVar[str] = "Answer Correctness"
    checks = (claim_checks.RESPONSE_IN_REFERENCE, claim_checks.REFERENCE_IN_RESPONSE)

    semantic: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def question_kinds(self) -> tuple[str, ...]:
        return (*super().question_kinds, *((TextSimilarity.kind,) if self.semantic else ()))

    def compute(self, sample: Sample, *judged: claim_checks.JudgedClaims) -> Score:
        del sample
        response, reference = map(claim_checks.supported, judged)
        if not reference:
            return Score.undefined(claim_checks.NO_REFERENCE_CLAIMS)
        note = {} if response else {"note": claim_checks.NO_CLAIMS}
        if len(judged[1]) == 1 and len(judged[1][0].text.split()) <= SHORT and reference[0]:
            quotes = [(it.start, it.end or 0) for it in judged[1][0].evidence if it.verified]
            for number, claim in enumerate(judged[0]):
                start, end = claim.span or (0, 0)
                contains = any(at is not None and start < to and at < end for at, to in quotes)
                if contains and not response[number] and claim.label is not Label.CONTRADICTED:
                    response[number] = True
                    note = {"note": "claims that contain the short reference count as correct"}
        tp, fp, fn = sum(response), response.count(False), reference.count(False)
        precision, recall = tp / len(response) if response else 0.0, 1 - fn / len(reference)
        detail = {"precision": precision, "recall": recall, "tp": tp, "fp": fp, "fn": fn, **note}
        f1 = tp / (tp + (fp + fn) / 2) if tp else 0.0
        return Score.scored(f1, detail=detail)

    async def score(self, sample: Sample, ask: Ask) -> Score:
        score = await super().score(sample, ask)
        if score.value is None or not self.semantic:
            return score
        response = sample.response or ""
        texts = claim_checks.RESPONSE_IN_REFERENCE.sources(sample)[:1] if response.strip() else ()
        cosines = await ask(TextSimilarity(text=response, others=texts)) if texts else (0.0,)
        cosine = max(0.0, cosines[0])
        mixed = (1 - self.semantic) * score.value + self.semantic * cosine
        detail = {**score.detail, "claims_f1": score.value, "cosine": cosine}
        return score.model_copy(update={"value": mixed, "detail": detail})


@register("answer_similarity")
class AnswerSimilarity(Metric):
    """How similar response and reference are in meaning, by their embeddings.

    Formula: the cosine of the embeddings of response and reference, at least 0; of several accepted
    answers, the highest. Range 0 to 1. 1.0: the same direction, as of equal texts. 0.0: nothing in
    common. Correct and wrong answers to a query are similar too, so this does not measure
    correctness. Undefined: response or reference is blank. One call per sample, for the embeddings.
    Source: RAGAS, semantic similarity (without its threshold).
    """

    label: ClassVar[str] = "Answer Similarity"
    needs: ClassVar[tuple[str, ...]] = ("response", "reference")
    asks: ClassVar[tuple[str, ...]] = (TextSimilarity.kind,)
    calls: ClassVar[int] = 1

    async def score(self, sample: Sample, ask: Ask) -> Score:
        response, references = sample.response or "", sample.references
        if not response.strip() or not any(map(str.strip, references)):
            blank = "reference" if response.strip() else "response"
            return Score.undefined(f"the {blank} is empty")
        cosines = await ask(TextSimilarity(text=response, others=references))
        used = references[cosines.index(max(cosines))]
        return Score.scored(max(0.0, *cosines)).noted(sample.reference_note(used))


@register("abstention")
class Abstention(Metric):
    """Whether the system abstained ("I don't know") if and only if the query has no answer.

    Formula: 1 if it abstained from a query that cannot be answered, or answered one that can, else
    0; a blank response abstains. A query can be answered if a grade of its `relevance` is above 0;
    without relevance, if its reference does not abstain or `reference_claims` are listed. Range 0
    to 1. 1.0: it was right to abstain or to answer (the answer itself may be wrong). 0.0: it was
    wrong. Undefined: relevance is unknown and the reference is blank or missing; the detail still
    shows whether the response abstained. One call per sample, two if the reference decides.
    Source: Rajpurkar et al., SQuAD 2.0 (ACL 2018), on queries without an answer.
    """

    label: ClassVar[str] = "Abstention"
    needs: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[str, ...]] = (DetectAbstention.kind,)
    calls: ClassVar[int] = 2

    async def score(self, sample: Sample, ask: Ask) -> Score:
        abstained = await _abstains(sample.query_with_history, sample.response or "", ask)
        answerable: bool | None = None
        if sample.relevance is not None:
            answerable = any(grade > 0 for grade in sample.relevance.values())
        elif (reference := sample.closest_reference or "").strip():
            answerable = not await _abstains(sample.query_with_history, reference, ask)
        elif any(map(str.strip, sample.reference_claims or ())):
            answerable = True
        detail: Detail = {"abstained": abstained, "answerable": answerable}
        if answerable is None:
            missing = "the row has neither relevance nor a reference"
            why = f"it is unknown whether the query can be answered: {missing}"
            return Score(state=State.UNDEFINED, reason=why, detail=detail)
        notes = sample.reference_note(read=sample.relevance is None)
        return Score.scored(abstained != answerable, detail=detail).noted(notes)

    def summarize(self, scores: Sequence[Score]) -> Detail:
        details = [score.detail for score in scores if score.detail.get("abstained") is not None]
        cases = [(detail["abstained"], detail["answerable"]) for detail in details]
        abstained = sum(bool(case[0]) for case in cases)
        return {
            "Abstained": abstained,
            "Abstained Share": abstained / len(cases) if cases else None,
            "Rightly Abstained": cases.count((True, False)),
            "Wrongly Abstained": cases.count((True, True)),
            "Wrongly Answered": cases.count((False, False)),
        }


async def _abstains(query: str, response: str, ask: Ask) -> bool:
    blank = not response.strip()
    return blank or await ask(DetectAbstention(query=query, response=response))


@register("response_relevancy")
class ResponseRelevancy(Metric):
    """How similar the query is to queries that the response would answer.

    Formula: the mean cosine of the embeddings of the query and of `count` queries generated from
    the response, at least 0; 0 if the response is noncommittal. Range 0 to 1. 1.0: it answers
    exactly this query. 0.0: it answers something else or is noncommittal. Undefined: the response
    is blank. One call per sample, and one for the embeddings.
    Source: Es et al., RAGAS (EACL 2024), answer relevance.
    """

    label: ClassVar[str] = "Response Relevancy"
    needs: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[str, ...]] = (GenerateQueries.kind, TextSimilarity.kind)
    calls: ClassVar[int] = 2
    count: Count = 3

    async def score(self, sample: Sample, ask: Ask) -> Score:
        if not sample.response or not sample.response.strip():
            return Score.undefined("the response is empty")
        generated = await ask(GenerateQueries(response=sample.response, count=self.count))
        if generated.noncommittal:
            return Score.scored(0.0, detail={"noncommittal": True})
        cosines = await ask(TextSimilarity(text=sample.query, others=generated.queries))
        mean = math.fsum(cosines) / len(cosines)
        return Score.scored(max(0.0, mean), detail={"noncommittal": False, "queries": len(cosines)})
