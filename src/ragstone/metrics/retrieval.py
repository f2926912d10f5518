"""RankingMetric: the family that scores what a retriever returned, and asks nobody."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic.dataclasses import dataclass

from ragstone.metrics.base import Ask, Cutoff, Metric
from ragstone.metrics.registry import register
from ragstone.types.rankings import Denominator, Rankings, cut, ratio
from ragstone.types.sample import Sample
from ragstone.types.score import NOTHING, Detail, Score, State, mean_detail


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


# CutoffMetric: ranking metrics that look at the first k ranks alone.


@dataclass(frozen=True)
class CutoffMetric(RankingMetric):
    """Scores the first k documents, whatever comes behind them.

    Attributes:
        k: ranks that count, 1 or more.
    """

    k: Cutoff = 5

    @property
    def depth(self) -> int:
        """The cut-off."""
        return self.k


# Hit@K.


@register("hit")
class Hit(CutoffMetric):
    """Whether at least one relevant document appears in the top K.

    Formula: 1 if any of the first k documents is relevant, else 0. A list shorter than k is
    taken as it is. Not judged: not relevant. Range 0 to 1.
    1.0: one was found. 0.0: none was, or nothing is relevant. Undefined: relevance not known.
    Source: trec_eval's `success` (NIST).
    """

    label: ClassVar[str] = "Hit@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return 1 where something relevant is among the first k."""
        return (rankings.hits(self.k) > 0).astype(np.float64)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count hits and misses."""
        hits = sum(score.value == 1 for score in scores)
        misses = sum(score.value == 0 for score in scores)
        return {"Hits": hits, "Misses": misses, **super().summarise(scores)}


# Recall@K.


@register("recall")
class Recall(CutoffMetric):
    """The share of the relevant documents that are retrieved in the top K.

    Formula: relevant among the first k / all relevant. A list shorter than k is taken as it is.
    Not judged: not relevant. Range 0 to 1.
    1.0: all were found. 0.0: none was, or nothing is relevant. Undefined: relevance not known.
    Source: trec_eval's `recall` (NIST).
    """

    label: ClassVar[str] = "Recall@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of each query's relevant documents among the first k."""
        return rankings.recall(self.k)


# Precision@K.


@register("precision")
class Precision(CutoffMetric):
    """The share of the top K documents that are relevant.

    Formula: relevant among the first k / k; with `denominator="retrieved"`, / the number of
    documents among the first k that came back, so that a list shorter than k loses nothing by
    it. Not judged: not relevant. Range 0 to 1. 1.0: all are relevant. 0.0: none is, nothing came
    back, or nothing is relevant. Undefined: relevance not known.
    Source: trec_eval's `P` (NIST), which divides by k.
    """

    label: ClassVar[str] = "Precision@K"

    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of the first k that is relevant."""
        return rankings.precision(self.k, self.denominator)


# F1@K.

_PARTS = ("precision", "recall")


@register("f1")
class F1(CutoffMetric):
    """The harmonic mean of Precision@K and Recall@K, a query at a time.

    Formula: 2PR / (P + R); P is over k, also of a shorter list, or as its `denominator` says.
    Not judged: not relevant. Range 0 to 1. 1.0: all that is relevant and nothing else. 0.0:
    nothing relevant was found, or nothing is. Undefined: relevance not known.
    Source: van Rijsbergen, Information Retrieval (1979), chapter 7.
    """

    label: ClassVar[str] = "F1@K"
    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the harmonic mean, 0 where both are 0."""
        p, r = rankings.precision(self.k, self.denominator), rankings.recall(self.k)
        return ratio(2 * p * r, p + r)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Add the means of the two."""
        own = {f"Avg {name.title()}": mean_detail(scores, name) for name in _PARTS}
        return {**own, **super().summarise(scores)}


# MRR@K.


@register("mrr")
class MRR(CutoffMetric):
    """The reciprocal rank of the first relevant document in the top K, averaged over queries.

    Formula: 1 / rank of the first relevant document, 0 if it is not among the first k, or not in
    a shorter list. Not judged: not relevant. Range 0 to 1. 1.0: it came first. 0.0: none among
    the first k, or nothing is relevant. Undefined: relevance not known.
    Source: Voorhees, The TREC-8 Question Answering Track Report (1999); `recip_rank` (NIST).
    """

    label: ClassVar[str] = "MRR@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the reciprocal rank."""
        return 1 / rankings.first_hit_rank(self.k)

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count where the first relevant document was found."""
        found = sum(bool(score.value) for score in scores)
        missed = sum(score.value == 0 for score in scores)
        first = sum(score.value == 1 for score in scores)
        own = {"Found in Top-K": found, "Not Found": missed, "Rank 1 (Perfect)": first}
        return {**own, **super().summarise(scores)}


# MAP@K.


@register("map")
class MAP(CutoffMetric):
    """The precision at each relevant document in the top K, averaged over all relevant ones.

    Formula: sum over the relevant among the first k of (relevant down to it / its rank) / all
    relevant, so that a list shorter than k loses what it left out. Not judged: not relevant.
    Range 0 to 1. 1.0: all relevant came first. 0.0: none among the first k, or nothing is
    relevant. Undefined: relevance not known.
    Source: Buckley & Voorhees (SIGIR 2004) on its use; trec_eval's `map_cut` (NIST).
    """

    label: ClassVar[str] = "MAP@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return each query's average precision."""
        gathered = cut(rankings.precisions(self.k), self.k)
        return ratio(gathered, rankings.n_relevant.astype(np.float64))


# NDCG@K.


@register("ndcg")
class NDCG(CutoffMetric):
    """The grades found in the top K, discounted by rank, against the best possible order.

    Formula: DCG@k / DCG@k of all known documents, highest grade first; DCG = sum of gain /
    log2(rank + 1); gain = grade, with `gain="exponential"` 2^grade - 1. A list shorter than k
    gains nothing more; not judged or below 0: gain 0. Range 0 to 1. 1.0: the best order. 0.0:
    nothing relevant among the first k, or nothing is relevant. Undefined: relevance not known.
    Source: Järvelin & Kekäläinen (TOIS 2002); trec_eval's `ndcg_cut` (NIST), which is linear.
    """

    label: ClassVar[str] = "NDCG@K"
    gain: Literal["linear", "exponential"] = "linear"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the discounted gain as a share of the best possible one."""
        exponential = self.gain == "exponential"
        found = rankings.discounted(self.k, exponential=exponential)
        best = rankings.ideal.discounted(self.k, exponential=exponential)
        return np.minimum(ratio(found, best), 1.0)  # rounding may lift it above


# R-Precision.


@register("r_precision")
class RPrecision(RankingMetric):
    """The share of the first R documents that are relevant, where R documents are relevant.

    Formula: relevant among the first R / R, R = all relevant; each query has its own cut-off. A
    list shorter than R loses what it left out. Not judged: not relevant. Range 0 to 1.
    1.0: all relevant came first. 0.0: none among the first R, or nothing is relevant.
    Undefined: relevance not known.
    Source: Buckley & Voorhees (SIGIR 2004) on its use; trec_eval's `Rprec` (NIST).
    """

    label: ClassVar[str] = "R-Precision"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of the first R that is relevant."""
        found = rankings.relevant & (rankings.ranks <= rankings.n_relevant[:, None])
        hits = np.count_nonzero(found, axis=1).astype(np.float64)
        return ratio(hits, rankings.n_relevant.astype(np.float64))


# bpref.


@register("bpref")
class BPref(RankingMetric):
    """How seldom documents judged not relevant come before relevant ones; unjudged ones count not.

    Formula: sum over the R relevant that came back of 1 - min(n, R) / min(R, N), / R; n of the N
    documents of grade 0 came before it (1 if n is 0). Not judged, or below 0: ignored. What a
    short list left out adds 0. Range 0 to 1. 1.0: all relevant came back, before any of grade
    0. 0.0: none did, or nothing is relevant. Undefined: relevance not known.
    Source: Buckley & Voorhees (SIGIR 2004), as trec_eval's `bpref` (NIST).
    """

    label: ClassVar[str] = "bpref"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of preferences that the order keeps."""
        r = rankings.n_relevant.astype(np.float64)
        rows, ranks = np.divmod(np.flatnonzero(rankings.relevant), rankings.gains.shape[1] or 1)
        before = np.minimum(np.cumsum(rankings.irrelevant, axis=1)[rows, ranks], r[rows])
        lost = ratio(before, np.minimum(r, rankings.n_irrelevant)[rows])
        kept = np.bincount(rows, weights=1 - lost, minlength=len(rankings))
        return ratio(kept.astype(np.float64), r)  # of no hits at all, bincount's are integers
