"""AbstentionMetric: the family that asks whether the system answers when it can, and only then."""

import math
from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.metrics.base import Ask, Count, Metric
from ragstone.metrics.registry import register
from ragstone.types.questions import DetectAbstention, GenerateQueries, TextSimilarity
from ragstone.types.sample import Sample
from ragstone.types.score import Detail, Score, State


@dataclass(frozen=True)
class AbstentionMetric(Metric):
    """Holds whether the response abstains against whether the query can be answered.

    A score without a number still says in its detail whether the response abstained.
    """

    needs: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[str, ...]] = (DetectAbstention.kind,)
    calls: ClassVar[int] = 2

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have response and reference looked at, where the sample alone does not tell."""
        abstained = await _abstains(sample.query, sample.response or "", ask)
        answerable = await _answerable(sample, ask)
        detail: Detail = {"abstained": abstained, "answerable": answerable}
        if answerable is None:
            why = "it is not known whether the query can be answered: no relevance, no reference"
            return Score(state=State.UNDEFINED, reason=why, detail=detail)
        return Score.scored(abstained != answerable, detail=detail)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count the abstentions, known to be right or not, and what was wrong."""
        known = [score.detail for score in scores if score.detail.get("abstained") is not None]
        ways = [(detail["abstained"], detail["answerable"]) for detail in known]
        abstained = sum(bool(way[0]) for way in ways)
        return {
            "Abstained": abstained,
            "Abstained Share": abstained / len(ways) if ways else None,
            "Rightly Abstained": ways.count((True, False)),
            "Wrongly Abstained": ways.count((True, True)),
            "Wrongly Answered": ways.count((False, False)),
        }


async def _abstains(query: str, response: str, ask: Ask) -> bool:
    blank = not response.strip()
    return blank or await ask(DetectAbstention(query=query, response=response))


async def _answerable(sample: Sample, ask: Ask) -> bool | None:
    """Return whether the query can be answered; None where nothing tells."""
    if sample.relevance is not None:
        return any(grade > 0 for grade in sample.relevance.values())
    if sample.reference and sample.reference.strip():
        return not await _abstains(sample.query, sample.reference, ask)
    return True if any(map(str.strip, sample.reference_claims or ())) else None


# Abstention.


@register("abstention")
class Abstention(AbstentionMetric):
    """Whether the system abstained ("I don't know") where there is no answer, and only there.

    Formula: 1 if it abstained from a query that cannot be answered or did not from one that can,
    else 0; a blank response abstains. A query can be answered if some grade of its `relevance` is
    above 0; where that is not known, if its reference is no abstention itself, or if it lists
    `reference_claims`. Range 0 to 1. 1.0: right to abstain or to answer, which is not to say that
    the answer is right. 0.0: wrong to. Undefined: relevance is not known, and the reference blank
    or missing. One call a sample, two where the reference tells.
    Source: Rajpurkar et al., SQuAD 2.0 (ACL 2018), on queries without an answer.
    """

    label: ClassVar[str] = "Abstention"


# Response relevancy.


@register("response_relevancy")
class ResponseRelevancy(Metric):
    """How near to the query those queries are that the response would answer.

    Formula: the mean cosine of the query's embedding with those of `count` queries guessed from
    the response, not less than 0; 0 where the response commits itself to nothing. Range 0 to 1.
    1.0: it answers just this query. 0.0: another matter, or it evades. Undefined: the response is
    blank. One call a sample, and one for the embeddings.
    Source: Es et al., RAGAS (EACL 2024), answer relevance.
    """

    label: ClassVar[str] = "Response Relevancy"
    needs: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[str, ...]] = (GenerateQueries.kind, TextSimilarity.kind)
    calls: ClassVar[int] = 2
    count: Count = 3

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have queries guessed and compared with the real one."""
        if not sample.response or not sample.response.strip():
            return Score.undefined("the response is empty")
        guesses = await ask(GenerateQueries(response=sample.response, count=self.count))
        if guesses.noncommittal:
            return Score.scored(0.0, detail={"noncommittal": True})
        cosines = await ask(TextSimilarity(text=sample.query, others=guesses.queries))
        mean = math.fsum(cosines) / len(cosines)
        return Score.scored(max(0.0, mean), detail={"noncommittal": False, "queries": len(cosines)})
