"""AbstentionMetric: the family that asks whether the system answers when it can, and only then."""

from collections.abc import Sequence
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask, Metric
from ragstone.questions import DetectAbstention
from ragstone.samples import Sample
from ragstone.scores import Detail, Score, State


@dataclass(frozen=True)
class AbstentionMetric(Metric):
    """Holds whether the response abstains against whether the query can be answered.

    A score without a number still says in its detail whether the response abstained.
    """

    needs: ClassVar[tuple[str, ...]] = ("response",)
    asks: ClassVar[tuple[str, ...]] = (DetectAbstention.kind,)
    calls: ClassVar[int] = 2

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have response and reference looked at, where the sample alone does not tell."""
        abstained = await _abstains(sample.query, sample.response or "", ask)
        answerable = await _answerable(sample, ask)
        detail: Detail = {"abstained": abstained, "answerable": answerable}
        if answerable is None:
            why = "it is not known whether the query can be answered: no relevance, no reference"
            return Score(state=State.UNDEFINED, reason=why, detail=detail)
        return Score.scored(abstained != answerable, detail=detail)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count the abstentions, known to be right or not, and what was wrong."""
        known = [score.detail for score in scores if score.detail.get("abstained") is not None]
        ways = [(detail["abstained"], detail["answerable"]) for detail in known]
        abstained = sum(bool(way[0]) for way in ways)
        return {
            "Abstained": abstained,
            "Abstained Share": abstained / len(ways) if ways else None,
            "Rightly Abstained": ways.count((True, False)),
            "Wrongly Abstained": ways.count((True, True)),
            "Wrongly Answered": ways.count((False, False)),
        }


async def _abstains(query: str, response: str, ask: Ask) -> bool:
    blank = not response.strip()
    return blank or await ask(DetectAbstention(query=query, response=response))


async def _answerable(sample: Sample, ask: Ask) -> bool | None:
    """Return whether the query can be answered; None where nothing tells."""
    if sample.relevance is not None:
        return any(grade > 0 for grade in sample.relevance.values())
    if sample.reference and sample.reference.strip():
        return not await _abstains(sample.query, sample.reference, ask)
    return True if any(map(str.strip, sample.reference_claims or ())) else None
