"""Answer correctness."""

from typing import ClassVar

from ragstone.metrics.families.check_metric import JudgedClaims, supported
from ragstone.metrics.families.checks import REFERENCE_IN_RESPONSE, RESPONSE_IN_REFERENCE, Check
from ragstone.metrics.families.semantic_metric import SemanticMetric
from ragstone.metrics.registry import register
from ragstone.samples import Sample
from ragstone.scores import Score


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
