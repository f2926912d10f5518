"""CitationMetric: the family that holds a response's citations against its claims' quotes."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.citations import Cited, cited_sentences
from ragstone.claims import Label
from ragstone.metrics.families.check_metric import NO_CLAIMS, CheckMetric, JudgedClaims, quoted
from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, Check
from ragstone.samples import Sample
from ragstone.scores import Score


@dataclass(frozen=True)
class CitationMetric(CheckMetric):
    """Reckons with what a response's sentences cite and what its claims rest on.

    That is the quotes of faithfulness's verdicts, so nothing more is asked. A supported claim
    without a quote, and one that no sentence clearly makes, is left out and counted in the
    detail: what it should have cited, or did, is not known. A subclass counts.
    """

    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS,)
    calls: ClassVar[int] = 2

    @abstractmethod
    def count_citations(
        self, sentences: Sequence[Cited], behind: Mapping[int, frozenset[int]]
    ) -> Score:
        """Return the score.

        `behind` are, a claim that is known about, the contexts that support it, by its quotes.
        """

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Find the citations and what each claim rests on."""
        (claims,) = judged
        if not claims:
            return Score.undefined(NO_CLAIMS)
        found = cited_sentences(sample.response or "", sample.contexts or (), claims)
        behind: dict[int, frozenset[int]] = {}
        quoteless = 0
        for number, claim in enumerate(claims):
            supported = claim.label is Label.SUPPORTED
            contexts = quoted(claim, sample) if supported else frozenset[int]()
            if supported and not contexts:
                quoteless += 1
            elif number not in found.unplaced:
                behind[number] = contexts
        left_out = {"supported_without_quote": quoteless, "unplaced": len(found.unplaced)}
        if not behind:
            said = ", ".join(f"{name.replace('_', ' ')}: {n}" for name, n in left_out.items())
            return Score.undefined(f"what the claims should cite is not known ({said})")
        sentences = [
            each._replace(claims=tuple(claim for claim in each.claims if claim in behind))
            for each in found.sentences
        ]
        score = self.count_citations(sentences, behind)
        told = {name: number for name, number in left_out.items() if number}
        return score.model_copy(update={"detail": {**score.detail, **told}})
