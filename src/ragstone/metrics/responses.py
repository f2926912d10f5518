"""Metrics of the response alone: abstention and relevancy to the query."""

import math
from collections.abc import Sequence
from typing import ClassVar

from ragstone.metrics.base import Ask, Count, Metric
from ragstone.metrics.registry import register
from ragstone.types.questions import DetectAbstention, GenerateQueries, TextSimilarity
from ragstone.types.sample import Sample
from ragstone.types.score import Detail, Score, State


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
        elif sample.reference and sample.reference.strip():
            answerable = not await _abstains(sample.query_with_history, sample.reference, ask)
        elif any(map(str.strip, sample.reference_claims or ())):
            answerable = True
        detail: Detail = {"abstained": abstained, "answerable": answerable}
        if answerable is None:
            why = (
                "it is unknown whether the query can be answered: the row has neither relevance "
                "nor a reference"
            )
            return Score(state=State.UNDEFINED, reason=why, detail=detail)
        return Score.scored(abstained != answerable, detail=detail)

    def summarize(self, scores: Sequence[Score]) -> Detail:
        known = [score.detail for score in scores if score.detail.get("abstained") is not None]
        cases = [(detail["abstained"], detail["answerable"]) for detail in known]
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
