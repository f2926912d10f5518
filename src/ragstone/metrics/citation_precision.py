"""Citation precision."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from ragstone.citations import Cited
from ragstone.metrics.families.citation_metric import CitationMetric
from ragstone.metrics.registry import register
from ragstone.scores import Score


@register("citation_precision")
class CitationPrecision(CitationMetric):
    """The share of the response's citations that support a claim of their sentence.

    Formula: sources cited by a sentence whose context a quote of a SUPPORTED claim of that
    sentence stands in / sources cited. One that names no context is wrong; one of a sentence
    without claims, such as a list of sources, is left out. A judge quotes one source where two
    would do, so a second right one may count as wrong: rather too low. Range 0 to 1. 1.0: every
    citation is right. 0.0: none is. Undefined: no claims, no citations, no quotes. Two calls a
    sample, both faithfulness's. Source: after Gao et al., ALCE (EMNLP 2023), which entails each
    sentence from its passages anew.
    """

    label: ClassVar[str] = "Citation Precision"

    def count_citations(
        self, sentences: Sequence[Cited], behind: Mapping[int, frozenset[int]]
    ) -> Score:
        """Count the citations that stand at a claim, and the right ones among them."""
        right = [
            any(behind[claim].intersection(source.contexts) for claim in sentence.claims)
            for sentence in sentences
            for source in sentence.sources
            if sentence.claims or not source.contexts
        ]
        if not right:
            return Score.undefined("no claim of the response cites anything")
        detail = {"citations": len(right), "right": sum(right)}
        return Score.scored(sum(right) / len(right), detail=detail)
