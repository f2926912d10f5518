"""Metrics that count claims: faithfulness, recall, precision, hallucination and noise."""

from typing import ClassVar, Literal

from ragstone.metrics.claim_checks import (
    NO_CLAIMS,
    NO_REFERENCE_CLAIMS,
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    RESPONSE_IN_REFERENCE,
    Check,
    CheckMetric,
    ClaimMetric,
    JudgedClaims,
    quoted,
    supported,
)
from ragstone.metrics.registry import register
from ragstone.types.claim import Label
from ragstone.types.sample import Sample
from ragstone.types.score import Score


@register("faithfulness")
class Faithfulness(ClaimMetric):
    """The share of the response's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. Range 0
    to 1. 1.0: every claim is supported. 0.0: none is. Undefined: the response is empty or makes
    no claims. Two calls per sample.
    Source: Es et al., RAGAS (EACL 2024), section 3.
    """

    label: ClassVar[str] = "Faithfulness"
    check = RESPONSE_IN_CONTEXTS


@register("context_recall")
class ContextRecall(ClaimMetric):
    """The share of the reference's claims that the contexts support.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    claims are the row's `reference_claims`, otherwise those of its reference. Range 0 to 1. 1.0:
    everything a correct answer needs was retrieved. 0.0: none of it. Undefined: the reference
    makes no claims. Two calls per sample, one with `reference_claims`.
    Source: RAGAS, LLMContextRecall; RAGChecker (2024), claim recall of the retriever.
    """

    label: ClassVar[str] = "Context Recall"
    check = REFERENCE_IN_CONTEXTS


@register("claim_recall")
class ClaimRecall(ClaimMetric):
    """The share of the reference's claims that the response also makes.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    claims are the row's `reference_claims`, otherwise those of its reference. Range 0 to 1. 1.0:
    the response contains everything it should. 0.0: none of it, or it is blank. Undefined: the
    reference makes no claims. Two calls per sample, one with `reference_claims`.
    Source: Ru et al., RAGChecker (2024), recall.
    """

    label: ClassVar[str] = "Claim Recall"
    check = REFERENCE_IN_RESPONSE


@register("claim_precision")
class ClaimPrecision(ClaimMetric):
    """The share of the response's claims that the reference supports.

    Formula: the mean weight of the verdicts; under `strict`, supported claims / claims. The
    reference is the expected answer together with the row's `reference_claims`. Range 0 to 1.
    1.0: every claim is correct. 0.0: none is. Undefined: the response is empty or makes no claims,
    or the reference is blank. Two calls per sample, one of them shared with faithfulness.
    Source: Ru et al., RAGChecker (2024), precision.
    """

    label: ClassVar[str] = "Claim Precision"
    check = RESPONSE_IN_REFERENCE


@register("hallucinated_claims")
class HallucinatedClaims(CheckMetric):
    """The share of the response's claims that neither the reference nor the contexts support.

    Formula: claims that neither the reference nor the contexts support / claims. Range 0 to 1;
    lower is better. 0.0: every claim is correct or was retrieved. 1.0: no claim is. Undefined: no
    claims, or a blank reference. Three calls per sample, two of them shared with faithfulness.
    Source: Ru et al., RAGChecker (2024), hallucination.
    """

    label: ClassVar[str] = "Hallucinated Claims"
    higher_is_better: ClassVar[bool] = False
    checks = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        del sample
        pairs = list(zip(*map(supported, judged), strict=True))
        if not pairs:
            return Score.undefined(NO_CLAIMS)
        found = pairs.count((False, False))
        detail = {"claims": len(pairs), "hallucinated": found}
        return Score.scored(found / len(pairs), detail=detail)


@register("hallucination")
class Hallucination(CheckMetric):
    """The share of the response's claims that the contexts do not support.

    Formula: claims that are not SUPPORTED / claims, under every policy. Range 0 to 1; lower is
    better. 0.0: every claim is supported. 1.0: none is. Undefined: the response is empty or makes
    no claims. Two calls per sample, shared with faithfulness.
    Source: Es et al., RAGAS (EACL 2024), section 3: 1 - faithfulness.
    """

    label: ClassVar[str] = "Hallucination"
    higher_is_better: ClassVar[bool] = False
    checks = (RESPONSE_IN_CONTEXTS,)

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        del sample
        found = supported(judged[0])
        if not found:
            return Score.undefined(NO_CLAIMS)
        detail = {"claims": len(found), "unsupported": found.count(False)}
        return Score.scored(found.count(False) / len(found), detail=detail)


@register("noise_sensitivity")
class NoiseSensitivity(CheckMetric):
    """The share of the response's claims that the contexts support and the reference does not.

    Formula: claims that the contexts support and the reference does not / claims. A context is
    relevant if it contains a quote of a supported claim of the reference. With
    `contexts="relevant"`, only claims with a quote in a relevant context count; with
    `contexts="irrelevant"`, only claims with quotes in other contexts alone. Range 0 to 1; lower is
    better. 0.0: no such claim. 1.0: no other. Undefined: no claims, or a blank reference; with
    relevance, also a reference without claims. Three calls per sample, two of them shared with
    faithfulness; two more with relevance.
    Source: Ru et al., RAGChecker (2024), noise sensitivity.
    """

    label: ClassVar[str] = "Noise Sensitivity"
    higher_is_better: ClassVar[bool] = False
    checks = (RESPONSE_IN_CONTEXTS, RESPONSE_IN_REFERENCE)

    contexts: Literal["any", "relevant", "irrelevant"] = "any"

    @property
    def active_checks(self) -> tuple[Check, ...]:
        return (*self.checks, *(() if self.contexts == "any" else (REFERENCE_IN_CONTEXTS,)))

    def compute(self, sample: Sample, *judged: JudgedClaims) -> Score:
        found, correct, *reference = judged
        if () in judged:
            return Score.undefined(NO_REFERENCE_CLAIMS if found else NO_CLAIMS)
        verdicts = zip(found, supported(found), supported(correct), strict=True)
        noise = [
            quoted(claim, sample)
            for claim, in_contexts, is_correct in verdicts
            if in_contexts and not is_correct
        ]
        placed = noise
        if reference:
            relevant = frozenset[int]().union(
                *(quoted(claim, sample) for claim in reference[0] if claim.label is Label.SUPPORTED)
            )
            kind = self.contexts == "relevant"
            placed = [places for places in noise if places and bool(places & relevant) is kind]
        detail = {"claims": len(found), "noise": len(placed), "unplaced": noise.count(frozenset())}
        return Score.scored(len(placed) / len(found), detail=detail)
