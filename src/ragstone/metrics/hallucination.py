"""Hallucination."""

from typing import ClassVar

from ragstone.claims import Label
from ragstone.metrics.families.check_metric import NO_CLAIMS, CheckMetric, JudgedClaims, quoted
from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, Check
from ragstone.metrics.registry import register
from ragstone.samples import Sample
from ragstone.scores import Score


@register("hallucination")
class Hallucination(CheckMetric):
    """The share of the contexts that the response contradicts.

    Formula: contexts that the quotes of CONTRADICTED claims stand in / contexts; those of equal
    text are one, and those without none. Range 0 to 1; lower is better. 0.0: it contradicts none.
    1.0: all. Undefined: no contexts, no claims, or a contradicted claim has no quote that stands
    in a context. Two calls a sample, both faithfulness's. Source: DeepEval, HallucinationMetric.
    """

    label: ClassVar[str] = "Hallucination"
    higher_is_better: ClassVar[bool] = False
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS,)
    calls: ClassVar[int] = 2

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count the contexts that contradicting quotes stand in."""
        contexts = sample.contexts or ()
        texts = {context.text for context in contexts if context.text.strip()}
        if not texts or not judged[0]:
            return Score.undefined(NO_CLAIMS if texts else "there are no contexts")
        places = [quoted(claim, sample) for claim in judged[0] if claim.label is Label.CONTRADICTED]
        if unknown := sum(not place for place in places):
            said = f"contradicted claims without a quote from a context: {unknown}"
            return Score.undefined(f"{said}; which context they contradict is not known")
        against = len({contexts[number].text for place in places for number in place})
        detail = {"contexts": len(texts), "contradicted": against}
        return Score.scored(against / len(texts), detail=detail)
