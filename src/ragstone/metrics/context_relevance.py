"""Context relevance."""

from typing import ClassVar

from ragstone.metrics.families.base import Ask, Metric
from ragstone.metrics.registry import register
from ragstone.questions import GradeSentences
from ragstone.samples import Sample
from ragstone.scores import Score
from ragstone.sentences import split_sentences


@register("context_relevance")
class ContextRelevance(Metric):
    """The share of the contexts' sentences that matter to the query.

    Formula: relevant sentences / sentences of all contexts; what has no letter and no digit, such
    as a rule of dashes, is no sentence. Range 0 to 1. 1.0: every sentence matters. 0.0: none.
    Undefined: there are no contexts, or no sentences in them. One call a sample.
    Source: Es et al., RAGAS (EACL 2024), context relevance.
    """

    label: ClassVar[str] = "Context Relevance"
    needs: ClassVar[tuple[str, ...]] = ("contexts",)
    asks: ClassVar[tuple[str, ...]] = (GradeSentences.kind,)
    calls: ClassVar[int] = 1

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have all sentences graded at once."""
        found = [s for context in sample.contexts or () for s in split_sentences(context.text)]
        sentences = tuple(s.text for s in found if any(map(str.isalnum, s.text)))
        if not sentences:
            return Score.undefined("there are no sentences in the contexts")
        grades = await ask(GradeSentences(query=sample.query, sentences=sentences))
        relevant = sum(grade.relevant for grade in grades)
        detail = {"sentences": len(grades), "relevant": relevant}
        return Score.scored(relevant / len(grades), detail=detail)
