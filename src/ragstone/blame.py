"""Blame: what went wrong with a claim, told from the ledger without asking anybody."""

from collections.abc import Iterable
from typing import TypeVar, cast

from ragstone.claims import Blame, Blamed, JudgedClaim, Label
from ragstone.errors import QuestionNotSupported
from ragstone.exchanges import Exchange, Reply
from ragstone.metrics.families.checks import (
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    Check,
)
from ragstone.metrics.families.claim_asker import ClaimAsker
from ragstone.questions import Question
from ragstone.samples import Sample

T = TypeVar("T")


async def blamed(
    sample: Sample, exchanges: Iterable[Exchange], asker: ClaimAsker
) -> tuple[Blamed, ...]:
    """Return the claims that are not backed, and those missing, each with what went wrong.

    A claim of the response is blamed where it was held against the contexts; one of the reference
    where it was held against both the contexts and the response. `asker` is a metric of the run:
    it says how the claims were found and verified. Verdicts that are not in the ledger blame
    nothing.
    """
    ledger = _Ledger(exchanges)

    async def judged(check: Check) -> tuple[JudgedClaim, ...]:
        if check.obstacle(sample) or any(sample.held(need) is None for need in check.needs):
            return ()
        try:
            return (await asker.judged(check, sample, ledger)).claims
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
