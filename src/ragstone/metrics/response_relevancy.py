"""Response relevancy."""

import math
from typing import ClassVar

from ragstone.metrics.families.base import Ask, Count, Metric
from ragstone.metrics.registry import register
from ragstone.questions import GenerateQueries, TextSimilarity
from ragstone.samples import Sample
from ragstone.scores import Score


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
