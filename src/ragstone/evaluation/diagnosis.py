"""Blame: what went wrong with a claim, told from the ledger without asking anybody."""

from collections.abc import Iterator, Sequence

from ragstone.errors import JudgeError, QuestionNotSupportedError
from ragstone.judges.replay import ReplayJudge
from ragstone.metrics.base import Ask, Metric
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


async def blamed(row: Row, metrics: Sequence[Metric]) -> tuple[DiagnosedClaim, ...]:
    """Return the claims that are not backed, and those missing, each with what went wrong.

    A claim of the response is blamed where it was held against the contexts; one of the reference
    where it was held against both the contexts and the response, in the same way of asking.
    Verdicts that these metrics' scores do not hold are taken from the row's ledger; what no metric
    asked for blames nothing, nor does a claim that is supported in part.
    """
    alike: dict[tuple[object, ...], list[ClaimVerifier]] = {}
    for metric in metrics:
        if isinstance(metric, ClaimVerifier):
            alike.setdefault(metric.question_settings, []).append(metric)
    if not alike:
        return row.blamed
    said: tuple[JudgedClaim, ...] = ()
    missing: list[tuple[JudgedClaim, JudgedClaim]] = []
    for group in alike.values():
        known = _Known(row, group)
        said = said or await known.judged(RESPONSE_IN_CONTEXTS)
        if not missing:
            in_response = await known.judged(REFERENCE_IN_RESPONSE)
            in_contexts = await known.judged(REFERENCE_IN_CONTEXTS)
            if in_response and in_contexts:
                missing = list(zip(in_response, in_contexts, strict=True))
    return (*_unbacked(said), *_left_out(missing))


class _Known:
    """The verdicts on one row that metrics which ask in the same way have led to."""

    def __init__(self, row: Row, metrics: Sequence[ClaimVerifier]) -> None:
        self._row, self._asker = row, metrics[0]
        self._asked = {check for metric in metrics for check in metric.active_checks}
        self._scored = {
            metric.check: score.claims
            for metric in metrics
            if isinstance(metric, ClaimMetric)
            and (score := row.scores[str(metric)]).claims
            and not score.fallback
        }

    async def judged(self, check: Check) -> tuple[JudgedClaim, ...]:
        """Return the claims of a check with their verdicts; none where they are not known."""
        sample = self._row.sample
        if check in self._scored:
            return self._scored[check]
        if (
            check not in self._asked
            or check.obstacle(sample)
            or any(sample.held(need) is None for need in check.needs)
        ):
            return ()
        try:
            return (await self._asker.judge_claims(check, sample, _recall(self._row))).claims
        except (JudgeError, QuestionNotSupportedError):
            return ()


def _recall(row: Row) -> Ask:
    """Return a way to ask that gives what the ledger holds, and asks nobody."""
    judge = ReplayJudge(row.exchanges)

    async def ask(question: Question[T]) -> T:
        return (await judge.answer(question)).value

    return ask


def _unbacked(claims: Sequence[JudgedClaim]) -> Iterator[DiagnosedClaim]:
    blames = {Label.CONTRADICTED: ClaimIssue.CONTRADICTED, Label.NOT_ENOUGH_INFO: ClaimIssue.MEMORY}
    for claim in claims:
        if blame := blames.get(claim.label):
            yield DiagnosedClaim(claim=claim.text, of="response", blame=blame)


def _left_out(pairs: Sequence[tuple[JudgedClaim, JudgedClaim]]) -> Iterator[DiagnosedClaim]:
    for said, retrieved in pairs:
        if said.label in (Label.CONTRADICTED, Label.NOT_ENOUGH_INFO):
            found = retrieved.label is Label.SUPPORTED
            blame = ClaimIssue.IGNORED if found else ClaimIssue.NOT_RETRIEVED
            yield DiagnosedClaim(claim=said.text, of="reference", blame=blame)
