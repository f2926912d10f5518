"""SemanticMetric: the family whose score may in part be how alike response and reference are."""

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone.metrics.base import Ask, Metric
from ragstone.metrics.claim_checks import (
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_REFERENCE,
    Check,
    CheckMetric,
    JudgedClaims,
    supported,
)
from ragstone.metrics.registry import register
from ragstone.types.questions import TextSimilarity
from ragstone.types.sample import Sample
from ragstone.types.score import Score


@dataclass(frozen=True)
class SemanticMetric(CheckMetric):
    """Reckons with checks of response and reference, and if asked to, with the texts as a whole.

    Attributes:
        semantic: the share of the score that is the cosine of response and reference, not less
            than 0; the checks' is the rest. The reference is the expected answer, or where there
            is none, its claims. A blank response is like nothing.
    """

    semantic: Annotated[float, Field(ge=0, lt=1)] = 0.0

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """Those of the checks, and what the semantic part adds."""
        return (*super().question_kinds, *((TextSimilarity.kind,) if self.semantic else ()))

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Make the checks, and mix in the cosine where it has a share."""
        score = await super().score(sample, ask)
        if score.value is None or not self.semantic:
            return score
        response = sample.response or ""
        texts = RESPONSE_IN_REFERENCE.sources(sample)[:1] if response.strip() else ()
        cosines = await ask(TextSimilarity(text=response, others=texts)) if texts else (0.0,)
        alike = max(0.0, cosines[0])
        mixed = (1 - self.semantic) * score.value + self.semantic * alike
        detail = {**score.detail, "claims_f1": score.value, "cosine": alike}
        return score.model_copy(update={"value": mixed, "detail": detail})


# Answer correctness.


@register("answer_correctness")
class AnswerCorrectness(SemanticMetric):
    """How far response and reference make the same claims.

    Formula: TP / (TP + (FP + FN) / 2); TP are the response's claims that the reference supports,
    FP its others, FN the reference's claims that the response does not support. That is RAGAS'
    formula; where both sides word their claims apart it is not 2PR / (P + R), RAGChecker's F1, of
    the precision and recall in the detail. `semantic` is the share of the cosine of both texts;
    RAGAS' is 0.25. Range 0 to 1. 1.0: the same claims. 0.0: none in common, or the response makes
    none. Undefined: the reference makes no claims. Four calls a sample, with `semantic` five.
    Source: RAGAS, AnswerCorrectness.
    """

    label: ClassVar[str] = "Answer Correctness"
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_REFERENCE, REFERENCE_IN_RESPONSE)
    calls: ClassVar[int] = 4

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what is right, wrong and left out."""
        del sample
        said, due = map(supported, judged)
        if not due:
            return Score.undefined("the reference makes no claims")
        tp, fp, fn = sum(said), said.count(False), due.count(False)
        precision, recall = tp / len(said) if said else 0.0, 1 - fn / len(due)
        detail = {"precision": precision, "recall": recall, "tp": tp, "fp": fp, "fn": fn}
        f1 = tp / (tp + (fp + fn) / 2) if tp else 0.0
        return Score.scored(f1, detail=detail)


# Answer similarity.


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
