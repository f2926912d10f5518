"""Citation recall."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ragstone.citations import Cited
from ragstone.metrics.families.citation_metric import CitationMetric
from ragstone.metrics.registry import register
from ragstone.scores import Score


@register("citation_recall")
class CitationRecall(CitationMetric):
    """The share of the response's claims that cite a context which supports them.

    Formula: claims whose sentence cites at least one of the contexts that the quotes of their
    SUPPORTED verdict stand in / claims. A judge quotes one source where two would do, so a second
    right one may count as wrong: the number is rather too low. Range 0 to 1. 1.0: every claim
    cites its source. 0.0: none does. Undefined: no claims, or no quotes. Two calls a sample, both
    faithfulness's.
    Source: after Gao et al., ALCE (EMNLP 2023), which counts sentences, and joins what one cites.
    """

    label: ClassVar[str] = "Citation Recall"

    def count_citations(
        self, sentences: Sequence[Cited], behind: Mapping[int, frozenset[int]]
    ) -> Score:
        """Count the claims that cite what supports them."""
        cited = {
            claim
            for sentence in sentences
            for claim in sentence.claims
            if any(behind[claim].intersection(source.contexts) for source in sentence.sources)
        }
        detail = {"claims": len(behind), "cited": len(cited)}
        return Score.scored(len(cited) / len(behind), detail=detail)
