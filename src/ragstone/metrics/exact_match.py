"""Exact match."""

from typing import ClassVar

from ragstone.metrics.families.text_metric import TextMetric, plain
from ragstone.metrics.registry import register
from ragstone.scores import Score


@register("exact_match")
class ExactMatch(TextMetric):
    """Whether the response is the reference, word for word.

    Formula: 1 if both are the same text, else 0; case, white space and compatible characters
    (NFKC: full width, ligatures) tell nothing apart, but with `strict=true` every character
    does. Range 0 to 1. 1.0: the same. 0.0: another text, or a blank one. Undefined: the reference
    is blank. No calls.
    Source: Rajpurkar et al., SQuAD (EMNLP 2016), which drops punctuation and articles too.
    """

    label: ClassVar[str] = "Exact Match"

    strict: bool = False

    def compare(self, response: str, reference: str) -> Score:
        """Score 1 for the same text."""
        same = response == reference if self.strict else plain(response) == plain(reference)
        return Score.scored(float(same))
