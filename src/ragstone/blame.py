"""Blame: what went wrong with a claim, told from the ledger without asking anybody."""

from collections.abc import Iterable, Sequence
from typing import TypeVar, cast

from ragstone.claims import Blame, Blamed, JudgedClaim, Label
from ragstone.errors import QuestionNotSupported
from ragstone.exchanges import Exchange, Reply
from ragstone.metrics.families.base import Metric
from ragstone.metrics.families.checks import (
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    Check,
)
from ragstone.metrics.families.claim_asker import ClaimAsker
from ragstone.metrics.families.claim_metric import ClaimMetric
from ragstone.questions import Question
from ragstone.run import Row

T = TypeVar("T")


async def blamed(row: Row, metrics: Sequence[Metric]) -> tuple[Blamed, ...]:
    """Return the claims that are not backed, and those missing, each with what went wrong.

    A claim of the response is blamed where it was held against the contexts; one of the reference
    where it was held against both the contexts and the response. Verdicts that these metrics'
    scores do not hold are taken from the row's ledger, asked for as the first of them would;
    what is not there either blames nothing.
    """
    askers = [metric for metric in metrics if isinstance(metric, ClaimAsker)]
    if not askers:
        return row.blamed
    sample, ledger = row.sample, _Ledger(row.exchanges)
    known = {
        metric.check: score.claims
        for metric in askers
        if isinstance(metric, ClaimMetric)
        and (score := row.scores[str(metric)]).claims
        and not score.fallback
    }

    async def judged(check: Check) -> tuple[JudgedClaim, ...]:
        if check in known:
            return known[check]
        if check.obstacle(sample) or any(sample.held(need) is None for need in check.needs):
            return ()
        try:
            return (await askers[0].judged(check, sample, ledger)).claims
        except QuestionNotSupported:
            return ()

    said = await judged(RESPONSE_IN_CONTEXTS)
    found = [
        Blamed(claim=claim.text, of="response", blame=_unbacked(claim))
        for claim in said
        if claim.label is not Label.SUPPORTED
    ]
    pairs = zip(
        await judged(REFERENCE_IN_RESPONSE), await judged(REFERENCE_IN_CONTEXTS), strict=False
    )
    missing = [
        Blamed(claim=claim.text, of="reference", blame=_missing(retrieved))
        for claim, retrieved in pairs
        if claim.label is not Label.SUPPORTED
    ]
    return (*found, *missing)


class _Ledger:
    """Gives again what was answered, and nothing else."""

    def __init__(self, exchanges: Iterable[Exchange]) -> None:
        self._answered = {
            exchange.key: exchange.outcome
            for exchange in exchanges
            if isinstance(exchange.outcome, Reply)
        }

    async def __call__(self, question: Question[T]) -> T:
        answered = self._answered.get(question.key)
        if answered is None:
            raise QuestionNotSupported(f"the ledger holds no answer to this {question.kind}")
        return cast("T", answered.value)


def _unbacked(claim: JudgedClaim) -> Blame:
    return Blame.CONTRADICTED if claim.label is Label.CONTRADICTED else Blame.MEMORY


def _missing(retrieved: JudgedClaim) -> Blame:
    return Blame.IGNORED if retrieved.label is Label.SUPPORTED else Blame.NOT_RETRIEVED
