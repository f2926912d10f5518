"""ROUGE-L."""

from collections.abc import Mapping
from typing import ClassVar
from unicodedata import category

from ragstone.metrics.families.text_metric import RAPIDFUZZ, TextMetric, plain
from ragstone.metrics.registry import register
from ragstone.scores import Score


@register("rouge_l")
class RougeL(TextMetric):
    """How many words response and reference share in the same order.

    Formula: 2PR / (P + R); P and R = words of the longest common subsequence / those of the
    response, of the reference. Words are runs of letters, marks and digits, whatever their case;
    without spaces (Chinese, Japanese, Thai) a clause is one word: chrf is better there. Range 0
    to 1. 1.0: the same words. 0.0: none shared, or the response has none. Undefined: the
    reference has none. No calls. Source: Lin, ROUGE (2004), at beta = 1.
    """

    label: ClassVar[str] = "ROUGE-L"
    packages: ClassVar[Mapping[str, str]] = RAPIDFUZZ

    def compare(self, response: str, reference: str) -> Score:
        """Score the longest common subsequence."""
        from rapidfuzz.distance import LCSseq

        ours, theirs = _words(response), _words(reference)
        if not theirs:
            return Score.undefined("the reference has no words")
        shared = LCSseq.similarity(ours, theirs)
        detail = {"precision": shared / max(len(ours), 1), "recall": shared / len(theirs)}
        return Score.scored(2 * shared / (len(ours) + len(theirs)), detail=detail)


def _words(text: str) -> list[str]:
    return "".join(c if category(c)[0] in "LMN" else " " for c in plain(text)).split()
