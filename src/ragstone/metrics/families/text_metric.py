"""TextMetric: the family that holds a response against the reference, letter by letter."""

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar
from unicodedata import normalize

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask, Metric
from ragstone.samples import Sample
from ragstone.scores import Score

SACREBLEU: Mapping[str, str] = MappingProxyType({"sacrebleu": "ragstone[text]"})
RAPIDFUZZ: Mapping[str, str] = MappingProxyType({"rapidfuzz": "ragstone[text]"})
"""Libraries of the extra `text`, as `Metric.packages` names them."""


@dataclass(frozen=True)
class TextMetric(Metric):
    """Compares the response with the reference; asks nobody.

    A subclass writes `compared`. Texts that are blank do not arrive there.
    """

    needs: ClassVar[tuple[str, ...]] = ("response", "reference")

    @abstractmethod
    def compare(self, response: str, reference: str) -> Score:
        """Score two texts, neither of them blank."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Compare: undefined without a text to compare with, 0 where nothing was answered."""
        del ask
        response, reference = sample.response or "", sample.reference or ""
        if not reference.strip():
            return Score.undefined("the reference is empty")
        if not response.strip():
            return Score.scored(0.0)
        return self.compare(response, reference)


def plain(text: str) -> str:
    """Return the text without what case, white space and compatible characters tell apart."""
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join(folded.split())
