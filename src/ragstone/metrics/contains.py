"""Contains."""

from typing import ClassVar

from ragstone.metrics.families.base import Ask, Metric
from ragstone.metrics.families.text_metric import plain
from ragstone.metrics.registry import register
from ragstone.samples import Sample
from ragstone.scores import Score


@register("contains")
class Contains(Metric):
    """The share of the expected texts that stand in the response, word for word.

    Formula: found / expected; expected are the row's `reference_claims`, else its reference as
    one. Case, white space and compatible characters (NFKC) tell nothing apart; any place will
    do, so 5 stands in 15. Range 0 to 1. 1.0: all stand there. 0.0: none, or the response is
    blank. Undefined: nothing is expected, or only blank texts. No calls.
    Source: Stelmakh et al., ASQA (EMNLP 2022), STR-EM; Gao et al., ALCE (EMNLP 2023).
    """

    label: ClassVar[str] = "Contains"
    needs: ClassVar[tuple[str, ...]] = ("response", "reference_claims")

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Look for each expected text in the response."""
        del ask
        claims = sample.reference_claims
        given = (sample.reference or "",) if claims is None else claims
        expected = [text for text in map(plain, given) if text]
        if not expected:
            return Score.undefined("the reference is empty")
        response = plain(sample.response or "")
        found = sum(text in response for text in expected)
        return Score.scored(
            found / len(expected), detail={"expected": len(expected), "found": found}
        )
