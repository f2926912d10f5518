"""Answer similarity."""

from typing import ClassVar

from ragstone.metrics.families.base import Ask, Metric
from ragstone.metrics.registry import register
from ragstone.questions import TextSimilarity
from ragstone.samples import Sample
from ragstone.scores import Score


@register("answer_similarity")
class AnswerSimilarity(Metric):
    """How alike in meaning the response and the reference are, by their embeddings.

    Formula: the cosine of the response's embedding with the reference's, not less than 0.
    Range 0 to 1. 1.0: the same direction, as equal texts have. 0.0: nothing in common. Right and
    wrong answers to one query are alike too: it is no test of correctness. Undefined: the
    response or the reference is blank. One call a sample, for the embeddings.
    Source: RAGAS, semantic similarity (its threshold left out).
    """

    label: ClassVar[str] = "Answer Similarity"
    needs: ClassVar[tuple[str, ...]] = ("response", "reference")
    asks: ClassVar[tuple[str, ...]] = (TextSimilarity.kind,)
    calls: ClassVar[int] = 1

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have the two compared."""
        response, reference = sample.response or "", sample.reference or ""
        for name, text in (("response", response), ("reference", reference)):
            if not text.strip():
                return Score.undefined(f"the {name} is empty")
        (cosine,) = await ask(TextSimilarity(text=response, others=(reference,)))
        return Score.scored(max(0.0, cosine))
