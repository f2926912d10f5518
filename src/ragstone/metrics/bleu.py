"""BLEU."""

from collections.abc import Mapping
from typing import ClassVar, Literal

from ragstone.metrics.families.text_metric import SACREBLEU, TextMetric
from ragstone.metrics.registry import register
from ragstone.scores import Score


@register("bleu")
class Bleu(TextMetric):
    """The share of the response's word sequences that the reference has too.

    Formula: the geometric mean of the precisions of 1 to 4 words in a row (fewer in a shorter
    response; half a match where none is, then a quarter), times exp(1 - r/c) where its c words
    are fewer than the reference's r. Case counts. `tokenizer` says what a word is (`zh` or `char`
    where no spaces stand). Range 0 to 1. 1.0: the same words. 0.0: none shared, or the response
    is blank. Undefined: the reference has no words. No calls. A mean over rows is no corpus BLEU.
    Source: Papineni et al. (ACL 2002), of one sentence, by sacreBLEU (Post, WMT 2018).
    """

    label: ClassVar[str] = "BLEU"
    packages: ClassVar[Mapping[str, str]] = SACREBLEU

    tokenizer: Literal["13a", "intl", "zh", "char", "none"] = "13a"

    def compare(self, response: str, reference: str) -> Score:
        """Score one sentence."""
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(tokenize=self.tokenizer, effective_order=True)
        found = bleu.sentence_score(response, [reference])
        if not found.ref_len:
            return Score.undefined("the reference has no words")
        return Score.scored(min(found.score / 100, 1.0))  # rounding may lift it above
