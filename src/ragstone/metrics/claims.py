"""NoiseMetric: the family that counts the wrong claims that come from the contexts."""

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from ragstone.metrics.claim_checks import (
    NO_CLAIMS,
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    RESPONSE_IN_REFERENCE,
    Check,
    CheckMetric,
    JudgedClaims,
    quoted,
    supported,
)
from ragstone.metrics.claim_scoring import ClaimMetric
from ragstone.metrics.registry import register
from ragstone.types.claim import Label
from ragstone.types.sample import Sample
from ragstone.types.score import Score


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


# Faithfulness.


@register("faithfulness")
class Faithfulness(ClaimMetric):
    """The share of the response's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. Range 0
    to 1. 1.0: every claim is supported. 0.0: none is. Undefined: the response is empty or makes
    no claims. Two calls a sample.
    Source: Es et al., RAGAS (EACL 2024), section 3.
    """

    label: ClassVar[str] = "Faithfulness"
    check: ClassVar[Check] = RESPONSE_IN_CONTEXTS


# Unsupported claims.


@register("unsupported_claims")
class UnsupportedClaims(ClaimMetric):
    """The share of the response's claims that the contexts do not support.

    Formula: 1 - faithfulness, whatever the policy; a policy's pass mark is turned round too.
    Range 0 to 1; lower is better. 0.0: every claim is supported. 1.0: none is. Undefined: the
    response is empty or makes no claims. Two calls a sample, both faithfulness's.
    Source: Es et al., RAGAS (EACL 2024), section 3, faithfulness.
    """

    label: ClassVar[str] = "Unsupported Claims"
    higher_is_better: ClassVar[bool] = False
    check: ClassVar[Check] = RESPONSE_IN_CONTEXTS


# Context recall.


@register("context_recall")
class ContextRecall(ClaimMetric):
    """The share of the reference's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    claims are the row's `reference_claims`, else those of its reference. Range 0 to 1. 1.0: all
    that a right answer needs was retrieved. 0.0: none of it. Undefined: the reference makes no
    claims. Two calls a sample, one with `reference_claims`.
    Source: RAGAS, LLMContextRecall; RAGChecker (2024), claim recall of the retriever.
    """

    label: ClassVar[str] = "Context Recall"
    check: ClassVar[Check] = REFERENCE_IN_CONTEXTS


# Claim recall.


@register("claim_recall")
class ClaimRecall(ClaimMetric):
    """The share of the reference's claims that the response makes too.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    claims are the row's `reference_claims`, else those of its reference. Range 0 to 1. 1.0: the
    response says all that it should. 0.0: none of it, or it is blank. Undefined: the reference
    makes no claims. Two calls a sample, one with `reference_claims`.
    Source: Ru et al., RAGChecker (2024), recall.
    """

    label: ClassVar[str] = "Claim Recall"
    check: ClassVar[Check] = REFERENCE_IN_RESPONSE


# Claim precision.


@register("claim_precision")
class ClaimPrecision(ClaimMetric):
    """The share of the response's claims that the reference supports.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    reference is the expected answer together with the row's `reference_claims`. Range 0 to 1.
    1.0: all that the response says is right. 0.0: nothing is. Undefined: the response is empty or
    makes no claims, or the reference is blank. Two calls a sample, one of them faithfulness's.
    Source: Ru et al., RAGChecker (2024), precision.
    """

    label: ClassVar[str] = "Claim Precision"
    check: ClassVar[Check] = RESPONSE_IN_REFERENCE


# Claim utilization.


@register("claim_utilization")
class ClaimUtilization(CheckMetric):
    """Of the reference's claims that the contexts support, the share that the response makes too.

    Formula: claims of the reference that both contexts and response support / those that the
    contexts support. Range 0 to 1. 1.0: what was retrieved and was needed was used. 0.0: none of
    it. Undefined: the contexts support no claim of the reference, or it makes none. Three calls a
    sample, two with `reference_claims`.
    Source: Ru et al., RAGChecker (2024), context utilization.
    """

    label: ClassVar[str] = "Claim Utilization"
    checks: ClassVar[tuple[Check, ...]] = (REFERENCE_IN_CONTEXTS, REFERENCE_IN_RESPONSE)
    calls: ClassVar[int] = 3

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what was retrieved, and of that what was said."""
        del sample
        pairs = list(zip(*map(supported, judged), strict=True))
        used = [said for found, said in pairs if found]
        if not used:
            none = "the contexts support none of the reference's claims"
            return Score.undefined(none if pairs else "the reference makes no claims")
        return Score.scored(sum(used) / len(used), detail={"found": len(used), "used": sum(used)})


# Hallucinated claims.


@register("hallucinated_claims")
class HallucinatedClaims(CheckMetric):
    """The share of the response's claims that are wrong and stand in no context.

    Formula: claims that neither the reference nor the contexts support / claims. Range 0 to 1;
    lower is better. 0.0: each is right or was retrieved. 1.0: no claim is. Undefined: no claims,
    or a blank reference. Three calls a sample, two of them faithfulness's.
    Source: Ru et al., RAGChecker (2024), hallucination.
    """

    label: ClassVar[str] = "Hallucinated Claims"
    higher_is_better: ClassVar[bool] = False
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)
    calls: ClassVar[int] = 3

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what is neither right nor in the contexts."""
        del sample
        if not judged[0]:
            return Score.undefined(NO_CLAIMS)
        pairs = list(zip(*map(supported, judged), strict=True))
        made_up = sum(not found and not right for found, right in pairs)
        return Score.scored(made_up / len(pairs), detail={"claims": len(pairs), "made_up": made_up})


# Self-knowledge.


@register("self_knowledge")
class SelfKnowledge(CheckMetric):
    """The share of the response's claims that are right and stand in no context.

    Formula: claims that the reference supports and the contexts do not / claims. Range 0 to 1;
    lower is better: such an answer came from the model's memory. 0.0: none did. 1.0: all did.
    Undefined: no claims, or a blank reference. Three calls a sample, two faithfulness's.
    Source: Ru et al., RAGChecker (2024), self-knowledge.
    """

    label: ClassVar[str] = "Self-Knowledge"
    higher_is_better: ClassVar[bool] = False
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)
    calls: ClassVar[int] = 3

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count what is right and not in the contexts."""
        del sample
        if not judged[0]:
            return Score.undefined(NO_CLAIMS)
        pairs = list(zip(*map(supported, judged), strict=True))
        known = sum(right and not found for found, right in pairs)
        return Score.scored(known / len(pairs), detail={"claims": len(pairs), "known": known})


# Hallucination.


@register("hallucination")
class Hallucination(CheckMetric):
    """The share of the contexts that the response contradicts.

    Formula: contexts that the quotes of CONTRADICTED claims stand in / contexts; those of equal
    text are one, and those without none. Range 0 to 1; lower is better. 0.0: it contradicts none.
    1.0: all. Undefined: no contexts, no claims, or a contradicted claim has no quote that stands
    in a context. Two calls a sample, both faithfulness's. Source: DeepEval, HallucinationMetric.
    """

    label: ClassVar[str] = "Hallucination"
    higher_is_better: ClassVar[bool] = False
    checks: ClassVar[tuple[Check, ...]] = (RESPONSE_IN_CONTEXTS,)
    calls: ClassVar[int] = 2

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        """Count the contexts that contradicting quotes stand in."""
        contexts = sample.contexts or ()
        texts = {context.text for context in contexts if context.text.strip()}
        if not texts or not judged[0]:
            return Score.undefined(NO_CLAIMS if texts else "there are no contexts")
        places = [quoted(claim, sample) for claim in judged[0] if claim.label is Label.CONTRADICTED]
        if unknown := sum(not place for place in places):
            said = f"contradicted claims without a quote from a context: {unknown}"
            return Score.undefined(f"{said}; which context they contradict is not known")
        against = len({contexts[number].text for place in places for number in place})
        detail = {"contexts": len(texts), "contradicted": against}
        return Score.scored(against / len(texts), detail=detail)


# Noise sensitivity.


@register("noise_sensitivity")
class NoiseSensitivity(NoiseMetric):
    """The share of the response's claims that are wrong and come from the contexts.

    Formula: claims that the contexts support and the reference does not / claims. With
    `contexts="relevant"` only those one of whose quotes stands in a context that a quote of a
    supported claim of the reference stands in too; with `contexts="irrelevant"` those of whose
    quotes none does. Range 0 to 1; lower is better. 0.0: no such claim. 1.0: no other. Undefined:
    no claims, or a blank reference; where relevance is asked for, one without claims too. Three
    calls a sample, two of them faithfulness's; two more where relevance is asked for.
    Source: Ru et al., RAGChecker (2024), noise sensitivity.
    """

    label: ClassVar[str] = "Noise Sensitivity"
    higher_is_better: ClassVar[bool] = False
