"""GradeMetric: the family that reckons with grades of contexts, one call a sample."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask, Metric
from ragstone.questions import GradeContexts
from ragstone.samples import Sample
from ragstone.scores import Score


@dataclass(frozen=True)
class GradeMetric(Metric):
    """Reckons with the grades of the contexts in their order, best rank first.

    They are those of the ranking, where its places have texts, else the contexts. A subclass says
    which answer they are graded against.
    """

    asks: ClassVar[tuple[str, ...]] = (GradeContexts.kind,)
    calls: ClassVar[int] = 1

    @abstractmethod
    def answer(self, sample: Sample) -> str:
        """Return the answer that a relevant context helps to arrive at."""

    @abstractmethod
    def value(self, relevant: Sequence[bool]) -> float:
        """Return the number that the grades come to; there is at least one."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have the contexts graded, and reckon."""
        answer, texts = self.answer(sample), _texts(sample)
        if not answer.strip():
            return Score.undefined("there is no answer to grade the contexts against")
        if texts is None:
            return Score.undefined("what was retrieved has no texts")
        if not texts:
            return Score.scored(0.0, detail={"contexts": 0, "relevant": 0})
        grades = await ask(GradeContexts(query=sample.query, answer=answer, contexts=texts))
        relevant = [grade.relevant for grade in grades]
        ranks = ", ".join(str(rank) for rank, good in enumerate(relevant, 1) if good)
        detail = {"contexts": len(texts), "relevant": sum(relevant), "relevant_ranks": ranks}
        return Score.scored(self.value(relevant), detail=detail)


def _texts(sample: Sample) -> tuple[str, ...] | None:
    """Return the texts in their order; () if nothing was retrieved, None if none has a text."""
    for places in (sample.ranking, sample.contexts):
        if places == ():
            return ()
        if any(place.text.strip() for place in places or ()):
            return tuple(place.text for place in places or ())
    return None


def precision_by_rank(relevant: Sequence[bool], *, every_rank: bool = False) -> float:
    """Return the mean of the precision down to each relevant rank, or to every rank; 0 if none."""
    hits = enumerate(accumulate(relevant), 1)
    precisions = [
        hit / rank for good, (rank, hit) in zip(relevant, hits, strict=True) if good or every_rank
    ]
    return math.fsum(precisions) / len(precisions) if precisions else 0.0
