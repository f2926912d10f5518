"""RankingMetric: the family that scores what a retriever returned, and asks nobody."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask, Metric
from ragstone.rankings import Denominator, Rankings
from ragstone.samples import Sample
from ragstone.scores import NOTHING, Detail, Score, State


@dataclass(frozen=True)
class RankingMetric(Metric):
    """Scores rankings against relevance; asks nobody.

    A subclass writes one of two: `values`, NumPy over many queries at once; or `value`, plain
    Python over one query. Only queries whose relevance is known arrive.
    """

    family: ClassVar[str] = "retrieval"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "relevance")

    @property
    def depth(self) -> int | None:
        """How many ranks the values depend on; None is all of them."""
        return None

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return float64[Q], one value a query."""
        return np.array([value for value, _ in self._one_by_one(rankings)], dtype=np.float64)

    def value(
        self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]
    ) -> float | tuple[float, Detail]:
        """Return one query's value, with details of it or without.

        `retrieved_ids` are distinct, best first, cut at `k` if the metric has one; `relevance`
        is document id -> grade (> 0 is relevant).
        """
        raise NotImplementedError(f"{type(self).__name__} writes neither values nor value")

    def scores(self, rankings: Rankings) -> list[Score]:
        """Score many queries at once."""
        if type(self).value is not RankingMetric.value:
            own = self._one_by_one(rankings)
        else:
            own = ((value, NOTHING) for value in self.values(rankings).tolist())
        return [
            Score.scored(value, detail={**detail, **more})
            for (value, more), detail in zip(own, self.details(rankings), strict=True)
        ]

    def details(self, rankings: Rankings) -> Iterator[Detail]:
        """Yield what a report shows beside each query's value."""
        k = self._cut(rankings)
        usual: Denominator = "k" if hasattr(self, "k") else "retrieved"
        divisor: Denominator = getattr(self, "denominator", usual)
        columns = {
            "hits": rankings.hits(k).astype(int),
            "retrieved": rankings.retrieved(k).astype(int),
            "relevant": rankings.n_relevant,
            "precision": rankings.precision(k, divisor),
            "recall": rankings.recall(k),
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        for first, row in zip(rankings.first_hit_rank(k).tolist(), rows, strict=True):
            rank = int(first) if np.isfinite(first) else None
            yield {"first_hit_rank": rank, **dict(zip(columns, row, strict=True))}

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Score one sample; the same as `scores` of a ranking of one query."""
        del ask
        return self.scores(Rankings.of([sample.ranked_ids], [sample.relevance or {}]))[0]

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count the queries at both ends, and those judged with nothing relevant."""
        scored = [score for score in scores if score.state is State.SCORED]
        best = self.high if self.higher_is_better else self.low
        return {
            "Perfect Queries": sum(score.value == best for score in scored),
            "Zero Queries": sum(score.value == 0 for score in scored),
            "Nothing Relevant": sum(score.detail.get("relevant") == 0 for score in scored),
        }

    def _cut(self, rankings: Rankings) -> int:
        return int(getattr(self, "k", rankings.gains.shape[1]))

    def _one_by_one(self, rankings: Rankings) -> Iterator[tuple[float, Detail]]:
        k = self._cut(rankings)
        for ids, relevance in zip(rankings.ids, rankings.relevance, strict=True):
            answer = self.value(ids[:k], relevance)
            yield answer if isinstance(answer, tuple) else (answer, NOTHING)


def depth_of(metrics: Iterable[RankingMetric]) -> int | None:
    """Return how many ranks the values of any of these metrics depend on; None is all of them."""
    depths = [metric.depth for metric in metrics]
    known = [depth for depth in depths if depth is not None]
    return max(known) if known and len(known) == len(depths) else None
