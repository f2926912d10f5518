"""NoiseMetric: the family that counts the wrong claims that come from the contexts."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.check_metric import CheckMetric, JudgedClaims, quoted, supported
from ragstone.metrics.families.checks import (
    REFERENCE_IN_CONTEXTS,
    RESPONSE_IN_CONTEXTS,
    RESPONSE_IN_REFERENCE,
    Check,
)
from ragstone.samples import Sample
from ragstone.scores import Score


@dataclass(frozen=True)
class NoiseMetric(CheckMetric):
    """Counts the response's claims that the contexts support and the reference does not.

    Attributes:
        contexts: those from which contexts count. A context is relevant if the quote of a
            supported claim of the reference stands in it. A claim with quotes in both kinds comes
            from relevant ones; one whose quotes stand nowhere counts for `any` alone.
    """

    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)
    calls: ClassVar[int] = 3

    contexts: Literal["any", "relevant", "irrelevant"] = "any"

    @property
    def active_checks(self) -> tuple[Check, ...]:
        """Its checks, and where the kinds are told apart, the one that tells them."""
        return (*self.checks, *(() if self.contexts == "any" else (REFERENCE_IN_CONTEXTS,)))

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what is in the contexts, not right, and from contexts of the kind asked for."""
        found, right, *reference = judged
        if () in judged:
            return Score.undefined(f"the {'reference' if found else 'response'} makes no claims")
        pairs = zip(supported(found), supported(right), found, strict=True)
        noise = [
            quoted(claim, sample)
            for is_found, is_right, claim in pairs
            if is_found and not is_right
        ]
        placed = noise
        if reference:
            relevant = _behind(reference[0], sample)
            kind = self.contexts == "relevant"
            placed = [places for places in noise if places and bool(places & relevant) is kind]
        detail = {"claims": len(found), "noise": len(placed), "unplaced": noise.count(frozenset())}
        return Score.scored(len(placed) / len(found), detail=detail)


def _behind(judged: JudgedClaims, sample: Sample) -> frozenset[int]:
    """Return the contexts that the quotes of supported claims stand in."""
    places = zip(supported(judged), (quoted(claim, sample) for claim in judged), strict=True)
    return frozenset[int]().union(*(contexts for is_found, contexts in places if is_found))
