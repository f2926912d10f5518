"""Check: whose claims are held against what."""

from dataclasses import dataclass
from typing import Literal

from ragstone.claims import Texts
from ragstone.samples import Sample


@dataclass(frozen=True)
class Check:
    """The claims of the response or the reference, held against another of a sample's texts.

    The reference is the expected answer, and the facts that an answer must contain: those are
    its claims where a row lists them, and no judge is asked for others.
    """

    of: Literal["response", "reference"]
    against: Texts

    @property
    def needs(self) -> tuple[str, ...]:
        """The Sample fields without which it cannot be made."""
        return tuple(
            "reference_claims" if text == "reference" else text for text in (self.of, self.against)
        )

    def given_claims(self, sample: Sample) -> tuple[str, ...] | None:
        """Return the claims that the row lists; None where they are to be found in the text.

        Equal ones are one, and blank ones none.
        """
        if self.of == "response" or sample.reference_claims is None:
            return None
        return tuple(dict.fromkeys(filter(str.strip, sample.reference_claims)))

    def text(self, sample: Sample) -> str:
        """Return the text whose claims are judged."""
        return (sample.response if self.of == "response" else sample.reference) or ""

    def sources(self, sample: Sample) -> tuple[str, ...]:
        """Return the texts that the claims are held against."""
        if self.against == "contexts":
            return tuple(context.text for context in sample.contexts or ())
        if self.against == "response":
            texts: tuple[str | None, ...] = (sample.response,)
        else:
            texts = (sample.reference, "\n".join(sample.reference_claims or ()))
        return tuple(text for text in texts if text and text.strip())

    @property
    def no_sources_reason(self) -> str:
        """What is said where there is nothing to hold the claims against."""
        return (
            "there are no contexts"
            if self.against == "contexts"
            else f"the {self.against} is empty"
        )

    def obstacle(self, sample: Sample) -> str | None:
        """Return why the check cannot be made of a sample that has what it needs; None if it can.

        An empty list of contexts and an empty response back no claim, and that is no obstacle.
        """
        sources = self.sources(sample)
        if self.against == "contexts" and sources and not any(map(str.strip, sources)):
            return "the contexts have no texts"
        return "the reference is empty" if self.against == "reference" and not sources else None


RESPONSE_IN_CONTEXTS = Check("response", "contexts")
RESPONSE_IN_REFERENCE = Check("response", "reference")
REFERENCE_IN_CONTEXTS = Check("reference", "contexts")
REFERENCE_IN_RESPONSE = Check("reference", "response")
"""The four checks that all metrics of claims are made of."""
