"""CitationMetric: the family that holds a response's citations against its claims' quotes."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.citations import Cited, cited_sentences
from ragstone.claims import Label
from ragstone.metrics.families.check_metric import CheckMetric, JudgedClaims, quoted
from ragstone.metrics.families.checks import RESPONSE_IN_CONTEXTS, Check
from ragstone.samples import Sample
from ragstone.scores import Score


@dataclass(frozen=True)
class CitationMetric(CheckMetric):
    """Reckons with what a response's sentences cite and what its claims rest on.

    That is the quotes of faithfulness's verdicts, so nothing more is asked. A subclass counts.
    """

    needs: ClassVar[tuple[str, ...]] = RESPONSE_IN_CONTEXTS.needs
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS,)
    calls: ClassVar[int] = 2

    @abstractmethod
    def counted(self, sentences: Sequence[Cited], behind: Sequence[frozenset[int]]) -> Score:
        """Return the score; `behind` are, a claim, the contexts that support it, by its quotes."""

    def reckoned(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Find the citations and what each claim rests on."""
        (claims,) = judged
        if not claims:
            return Score.undefined("the response makes no claims")
        sentences = cited_sentences(sample.response or "", sample.contexts or (), claims)
        behind = [
            quoted(claim) if claim.label is Label.SUPPORTED else frozenset[int]()
            for claim in claims
        ]
        return self.counted(sentences, behind)
