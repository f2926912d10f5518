"""chrF."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from pydantic import Field

from ragstone.metrics.families.text_metric import SACREBLEU, TextMetric
from ragstone.metrics.registry import register
from ragstone.scores import Score


@register("chrf")
class ChrF(TextMetric):
    """How many sequences of characters response and reference share.

    Formula: 5PR / (4P + R); P and R = the mean share of the response's, of the reference's
    sequences of 1 to 6 characters that the other has too, spaces left out; `word_order=2` adds
    those of 1 and 2 words (chrF++). Case counts. Fit for every script. Range 0 to 1. 1.0: the
    same text. 0.0: nothing shared, or the response is blank. Undefined: the reference is blank.
    No calls. Source: Popović (WMT 2015), of one sentence, by sacreBLEU (Post, WMT 2018).
    """

    label: ClassVar[str] = "chrF"
    packages: ClassVar[Mapping[str, str]] = SACREBLEU

    word_order: Annotated[int, Field(ge=0, le=2)] = 0

    def compare(self, response: str, reference: str) -> Score:
        """Score one sentence."""
        from sacrebleu.metrics.chrf import CHRF

        found = CHRF(word_order=self.word_order).sentence_score(response, [reference])
        return Score.scored(min(found.score / 100, 1.0))  # rounding may lift it above
