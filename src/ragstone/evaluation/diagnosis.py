"""Diagnosis: the issue of each unsupported or missing claim, from existing verdicts."""

from collections.abc import Sequence

from ragstone.errors import JudgeError, QuestionNotSupportedError
from ragstone.judges.replay import ReplayJudge
from ragstone.metrics.base import Metric
from ragstone.metrics.claim_checks import (
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    Check,
    ClaimVerifier,
)
from ragstone.metrics.claim_scoring import ClaimMetric
from ragstone.types.claim import ClaimIssue, DiagnosedClaim, JudgedClaim, Label
from ragstone.types.questions import Question, T
from ragstone.types.row import Row

_ISSUES = {Label.CONTRADICTED: ClaimIssue.CONTRADICTED, Label.NOT_ENOUGH_INFO: ClaimIssue.NOT_FOUND}
"""The issue of a response claim with this verdict; partially supported claims have none."""


async def diagnose(row: Row, metrics: Sequence[Metric]) -> tuple[DiagnosedClaim, ...]:
    """Return unsupported claims of the response and missing claims of the reference.

    A response claim needs a verdict against the contexts; a reference claim needs verdicts against
    the contexts and the response from metrics with the same question settings. Verdicts come from
    the scores, otherwise from the row's transcript. No calls are made.
    """
    by_settings: dict[tuple[object, ...], list[ClaimVerifier]] = {}
    for metric in metrics:
        if isinstance(metric, ClaimVerifier):
            by_settings.setdefault(metric.question_settings, []).append(metric)
    if not by_settings:
        return row.blamed
    response: tuple[JudgedClaim, ...] = ()
    reference: list[tuple[JudgedClaim, JudgedClaim]] = []
    for group in by_settings.values():
        response = response or await _verdicts(RESPONSE_IN_CONTEXTS, row, group)
        if not reference:
            in_response = await _verdicts(REFERENCE_IN_RESPONSE, row, group)
            in_contexts = await _verdicts(REFERENCE_IN_CONTEXTS, row, group)
            if in_response and in_contexts:
                reference = list(zip(in_response, in_contexts, strict=True))
    found = [
        DiagnosedClaim(claim=claim.text, of="response", blame=_ISSUES[claim.label])
        for claim in response
        if claim.label in _ISSUES
    ]
    for claim, retrieved in reference:
        if claim.label in _ISSUES:  # the response does not make it
            was_retrieved = retrieved.label is Label.SUPPORTED
            issue = ClaimIssue.IGNORED if was_retrieved else ClaimIssue.NOT_RETRIEVED
            found.append(DiagnosedClaim(claim=claim.text, of="reference", blame=issue))
    return tuple(found)


async def _verdicts(
    check: Check, row: Row, metrics: Sequence[ClaimVerifier]
) -> tuple[JudgedClaim, ...]:
    """Return the verdicts of a check by metrics with equal question settings, if there are any."""
    for metric in metrics:
        if isinstance(metric, ClaimMetric) and metric.check == check:
            score = row.scores[str(metric)]
            if score.claims and not score.fallback:
                return score.claims
    sample = row.sample
    if (
        not any(check in metric.active_checks for metric in metrics)
        or check.obstacle(sample)
        or any(sample.held(need) is None for need in check.needs)
    ):
        return ()
    judge = ReplayJudge(row.exchanges)

    async def ask(question: Question[T]) -> T:
        return (await judge.answer(question)).value

    try:
        return (await metrics[0].judge_claims(check, sample, ask)).claims
    except (JudgeError, QuestionNotSupportedError):
        return ()
