"""GradeMetric: the family that reckons with grades of contexts, one call a sample."""

import math
from abc import abstractmethod
from collections.abc import Sequence
from itertools import accumulate
from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask, Metric
from ragstone.questions import GradeContexts
from ragstone.samples import Sample
from ragstone.scores import Score


@dataclass(frozen=True)
class GradeMetric(Metric):
    """Reckons with the grades of the contexts in their order, best rank first.

    They are those of the ranking, where its places have texts, else the contexts; the detail
    `graded` says which. A place without a text is not relevant. A subclass says which answer they
    are graded against.
    """

    asks: ClassVar[tuple[str, ...]] = (GradeContexts.kind,)
    calls: ClassVar[int] = 1
    says: ClassVar[tuple[str, ...]] = ("against",)
    against: ClassVar[Literal["reference", "response"]]
    """The answer that a relevant context helps to arrive at."""

    @abstractmethod
    def value(self, relevant: Sequence[bool]) -> float:
        """Return the number that the grades come to; there is at least one."""

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have the contexts graded, and reckon."""
        answer: str = getattr(sample, self.against) or ""
        read, texts = _read(sample)
        if not answer.strip():
            return Score.undefined(f"the {self.against} is empty")
        if texts and not any(map(str.strip, texts)):
            return Score.undefined("what was retrieved has no texts")
        relevant = [False] * len(texts)
        places = [place for place, text in enumerate(texts) if text.strip()]
        if places:
            shown = tuple(texts[place] for place in places)
            grades = await ask(GradeContexts(query=sample.query, answer=answer, contexts=shown))
            for place, grade in zip(places, grades, strict=True):
                relevant[place] = grade.relevant
        ranks = ", ".join(str(rank) for rank, good in enumerate(relevant, 1) if good)
        detail = {"contexts": len(texts), "relevant": sum(relevant), "relevant_ranks": ranks}
        return Score.scored(self.value(relevant), detail={**detail, "graded": read})


def _read(sample: Sample) -> tuple[str, tuple[str, ...]]:
    """Return which field is graded, and its texts: the ranking, if it is empty or has texts."""
    contexts = tuple(context.text for context in sample.contexts or ())
    if sample.ranking is None:
        return "contexts", contexts
    ranked = tuple(place.text for place in sample.ranking)
    textless = ranked and not any(map(str.strip, ranked))
    return ("contexts", contexts) if textless and contexts else ("ranking", ranked)


def precision_by_rank(relevant: Sequence[bool], *, every_rank: bool = False) -> float:
    """Return the mean of the precision down to each relevant rank, or to every rank; 0 if none."""
    hits = enumerate(accumulate(relevant), 1)
    precisions = [
        hit / rank for good, (rank, hit) in zip(relevant, hits, strict=True) if good or every_rank
    ]
    return math.fsum(precisions) / len(precisions) if precisions else 0.0
