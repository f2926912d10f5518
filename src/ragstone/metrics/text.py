"""Metrics that compare response and reference as texts, without a judge."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone._internal.text import plain, words
from ragstone.metrics.base import Ask, Metric
from ragstone.metrics.registry import register
from ragstone.types.sample import Sample
from ragstone.types.score import Score


@dataclass(frozen=True)
class TextMetric(Metric):
    """Compares response and reference as texts; of several accepted answers, the best counts."""

    needs: ClassVar[tuple[str, ...]] = ("response", "reference")

    @abstractmethod
    def compare(self, response: str, reference: str) -> Score:
        """Score two texts that are not blank."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        del ask
        response, references = sample.response or "", sample.references
        if not any(map(str.strip, references)):
            return Score.undefined("the reference is empty")
        if not response.strip():
            return Score.scored(0.0)
        scores = [self.compare(response, reference) for reference in references]
        best = max(scores, key=lambda each: float("-inf") if each.value is None else each.value)
        return best.noted(sample.reference_note(references[scores.index(best)]))


@register("bleu")
class Bleu(TextMetric):
    """The share of the response's word sequences that also occur in the reference.

    Formula: the geometric mean of the precisions of 1 to 4 consecutive words (fewer in a shorter
    response; an order without a match counts half a match, the next a quarter), times
    exp(1 - r/c) if its c words are fewer than the reference's r. Case counts. `tokenizer` defines
    words; use `zh` or `char` for text without spaces. Range 0 to 1. 1.0: the same words. 0.0: none
    shared, or the response is blank. Undefined: the reference has no words. No calls. The mean over
    rows is not corpus BLEU.
    Source: Papineni et al. (ACL 2002), sentence level, by sacreBLEU (Post, WMT 2018).
    """

    label: ClassVar[str] = "BLEU"
    packages: ClassVar[Mapping[str, str]] = {"sacrebleu": "ragstone[text]"}

    tokenizer: Literal["13a", "intl", "zh", "char", "none"] = "13a"

    def compare(self, response: str, reference: str) -> Score:
        from sacrebleu.metrics.bleu import BLEU

        bleu = BLEU(tokenize=self.tokenizer, effective_order=True)
        found = bleu.sentence_score(response, [reference])
        if not found.ref_len:
            return Score.undefined("the reference has no words")
        return Score.scored(min(found.score / 100, 1.0))  # rounding can exceed 1


@register("chrf")
class ChrF(TextMetric):
    """How many character sequences response and reference share.

    Formula: 5PR / (4P + R); P (R) is the mean share of the response's (reference's) sequences of 1
    to 6 characters that the other text contains, without spaces; `word_order=2` adds sequences of
    1 and 2 words (chrF++). Case counts. Works for every script. Range 0 to 1. 1.0: the same text.
    0.0: nothing shared, or the response is blank. Undefined: the reference is blank. No calls.
    Source: Popović (WMT 2015), sentence level, by sacreBLEU (Post, WMT 2018).
    """

    label: ClassVar[str] = "chrF"
    packages: ClassVar[Mapping[str, str]] = {"sacrebleu": "ragstone[text]"}

    word_order: Annotated[int, Field(ge=0, le=2)] = 0

    def compare(self, response: str, reference: str) -> Score:
        from sacrebleu.metrics.chrf import CHRF

        found = CHRF(word_order=self.word_order).sentence_score(response, [reference])
        return Score.scored(min(found.score / 100, 1.0))  # rounding can exceed 1


@register("rouge_l")
class RougeL(TextMetric):
    """How many words response and reference share in the same order.

    Formula: 2PR / (P + R); P (R) is words of the longest common subsequence / words of the response
    (reference). Words are runs of letters, marks and digits, ignoring case. Without spaces
    (Chinese, Japanese, Thai) a clause is one word; use chrf there. Range 0 to 1. 1.0: the same
    words. 0.0: none shared, or the response has none. Undefined: the reference has none. No calls.
    Source: Lin, ROUGE (2004), with beta = 1.
    """

    label: ClassVar[str] = "ROUGE-L"
    packages: ClassVar[Mapping[str, str]] = {"rapidfuzz": "ragstone[text]"}

    def compare(self, response: str, reference: str) -> Score:
        from rapidfuzz.distance import LCSseq

        ours, theirs = words(response), words(reference)
        if not theirs:
            return Score.undefined("the reference has no words")
        shared = LCSseq.similarity(ours, theirs)
        detail = {"precision": shared / max(len(ours), 1), "recall": shared / len(theirs)}
        return Score.scored(2 * shared / (len(ours) + len(theirs)), detail=detail)


@register("exact_match")
class ExactMatch(TextMetric):
    """Whether the response equals the reference.

    Formula: 1 if both are the same text, else 0. Case, white space and compatible characters (NFKC:
    full width, ligatures) are ignored, except with `strict=true`. Range 0 to 1. 1.0: the same text.
    0.0: another text, or a blank one. Undefined: the reference is blank. No calls.
    Source: Rajpurkar et al., SQuAD (EMNLP 2016), which also drops punctuation and articles.
    """

    label: ClassVar[str] = "Exact Match"

    strict: bool = False

    def compare(self, response: str, reference: str) -> Score:
        same = response == reference if self.strict else plain(response) == plain(reference)
        return Score.scored(float(same))


@register("contains")
class Contains(Metric):
    """The share of the expected texts that occur in the response.

    Formula: found / expected; the expected texts are the row's `reference_claims`, otherwise its
    reference as one text: any of several accepted answers. Case, white space and compatible
    characters (NFKC) are ignored. Parts of words count, so 5 occurs in 15. Range 0 to 1. 1.0: all
    occur. 0.0: none, or a blank response. Undefined: no text is expected, or blank ones. No calls.
    Source: Stelmakh et al., ASQA (EMNLP 2022), STR-EM; Gao et al., ALCE (EMNLP 2023).
    """

    label: ClassVar[str] = "Contains"
    needs: ClassVar[tuple[str, ...]] = ("response", "reference_claims")

    async def score(self, sample: Sample, ask: Ask) -> Score:
        del ask
        claims = sample.reference_claims
        given = sample.references if claims is None else claims
        expected = [text for text in given if plain(text)]
        if not expected:
            return Score.undefined("the reference is empty")
        response = plain(sample.response or "")
        found = [text for text in expected if plain(text) in response]
        if claims is None:  # one accepted answer is enough
            expected, found = (found or expected)[:1], found[:1]
        detail = {"expected": len(expected), "found": len(found)}
        notes = sample.reference_note(expected[0], read=claims is None) if found else ()
        return Score.scored(len(found) / len(expected), detail=detail).noted(notes)
