"""Ranking metrics: they score what a retriever returned, without a judge."""

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
    """A metric of rankings with known relevance; no calls are made.

    Subclasses define `values` (NumPy, many queries at once) or `value` (plain Python, one query).
    """

    family: ClassVar[str] = "retrieval"
    needs: ClassVar[tuple[str, ...]] = ("ranking", "relevance")

    @property
    def depth(self) -> int | None:
        """The number of ranks that affect the values; None for all."""
        return None

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return float64[Q], one value per query."""
        return np.array([value for value, _ in self._one_by_one(rankings)], dtype=np.float64)

    def value(
        self, retrieved_ids: Sequence[str], relevance: Mapping[str, float]
    ) -> float | tuple[float, Detail]:
        """Return one query's value, optionally with details.

        `retrieved_ids` are distinct, best first, and cut at `k` if the metric has one; `relevance`
        is document id -> grade (> 0 is relevant).
        """
        raise NotImplementedError(f"{type(self).__name__} must define values or value")

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
        """Yield the details that reports show next to each query's value."""
        k = self._cut(rankings)
        default: Denominator = "k" if hasattr(self, "k") else "retrieved"
        denominator: Denominator = getattr(self, "denominator", default)
        columns = {
            "hits": rankings.hits(k).astype(int),
            "retrieved": rankings.retrieved(k).astype(int),
            "relevant": rankings.n_relevant,
            "precision": rankings.precision(k, denominator),
            "recall": rankings.recall(k),
        }
        rows = zip(*(column.tolist() for column in columns.values()), strict=True)
        for first, row in zip(rankings.first_hit_rank(k).tolist(), rows, strict=True):
            rank = int(first) if np.isfinite(first) else None
            yield {"first_hit_rank": rank, **dict(zip(columns, row, strict=True))}

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Score one sample."""
        del ask
        return self.scores(Rankings.of([sample.ranked_ids], [sample.relevance or {}]))[0]

    def summarize(self, scores: Sequence[Score]) -> Detail:
        """Count perfect queries, queries with 0, and queries without relevant documents."""
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
            value = self.value(ids[:k], relevance)
            yield value if isinstance(value, tuple) else (value, NOTHING)


def depth_of(metrics: Iterable[RankingMetric]) -> int | None:
    """Return the number of ranks that affect any of these metrics; None for all."""
    depths = [metric.depth for metric in metrics]
    known = [depth for depth in depths if depth is not None]
    return max(known) if known and len(known) == len(depths) else None


@dataclass(frozen=True)
class CutoffMetric(RankingMetric):
    """A ranking metric of the first k documents."""

    k: Cutoff = 5

    @property
    def depth(self) -> int:
        """The cut-off."""
        return self.k


@register("hit")
class Hit(CutoffMetric):
    """Whether at least one relevant document appears in the top K.

    Formula: 1 if any of the first k documents is relevant, else 0. Documents without a judgment
    are not relevant. Range 0 to 1. 1.0: one was found. 0.0: none was, or none is relevant.
    Undefined: relevance is unknown.
    Source: trec_eval's `success` (NIST).
    """

    label: ClassVar[str] = "Hit@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return 1 for queries with a relevant document among the first k."""
        return (rankings.hits(self.k) > 0).astype(np.float64)

    def summarize(self, scores: Sequence[Score]) -> Detail:
        """Count hits and misses."""
        hits = sum(score.value == 1 for score in scores)
        misses = sum(score.value == 0 for score in scores)
        return {"Hits": hits, "Misses": misses, **super().summarize(scores)}


@register("recall")
class Recall(CutoffMetric):
    """The share of the relevant documents that are retrieved in the top K.

    Formula: relevant among the first k / all relevant. Documents without a judgment are not
    relevant. Range 0 to 1. 1.0: all were found. 0.0: none was, or none is relevant. Undefined:
    relevance is unknown.
    Source: trec_eval's `recall` (NIST).
    """

    label: ClassVar[str] = "Recall@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of each query's relevant documents among the first k."""
        return rankings.recall(self.k)


@register("precision")
class Precision(CutoffMetric):
    """The share of the top K documents that are relevant.

    Formula: relevant among the first k / k; with `denominator="retrieved"`, divided by the number
    of retrieved documents, at most k. Documents without a judgment are not relevant. Range 0 to 1.
    1.0: all are relevant. 0.0: none is, or nothing was retrieved. Undefined: relevance is unknown.
    Source: trec_eval's `P` (NIST), which divides by k.
    """

    label: ClassVar[str] = "Precision@K"

    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of the first k documents that is relevant."""
        return rankings.precision(self.k, self.denominator)


@register("f1")
class F1(CutoffMetric):
    """The harmonic mean of Precision@K and Recall@K, for each query.

    Formula: 2PR / (P + R); P divides by k, or as set by `denominator`. Documents without a
    judgment are not relevant. Range 0 to 1. 1.0: all relevant documents and no others. 0.0: no
    relevant document was found, or there is none. Undefined: relevance is unknown.
    Source: van Rijsbergen, Information Retrieval (1979), chapter 7.
    """

    label: ClassVar[str] = "F1@K"
    denominator: Denominator = "k"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the harmonic mean; 0 if both are 0."""
        p, r = rankings.precision(self.k, self.denominator), rankings.recall(self.k)
        return ratio(2 * p * r, p + r)

    def summarize(self, scores: Sequence[Score]) -> Detail:
        """Add the means of precision and recall."""
        own = {f"Avg {name.title()}": mean_detail(scores, name) for name in ("precision", "recall")}
        return {**own, **super().summarize(scores)}


@register("mrr")
class MRR(CutoffMetric):
    """The reciprocal rank of the first relevant document in the top K.

    Formula: 1 / rank of the first relevant document, 0 if it is not among the first k. Documents
    without a judgment are not relevant. Range 0 to 1. 1.0: it is first. 0.0: none is among the
    first k, or none is relevant. Undefined: relevance is unknown.
    Source: Voorhees, The TREC-8 Question Answering Track Report (1999); `recip_rank` (NIST).
    """

    label: ClassVar[str] = "MRR@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the reciprocal rank."""
        return 1 / rankings.first_hit_rank(self.k)

    def summarize(self, scores: Sequence[Score]) -> Detail:
        """Count the ranks of the first relevant documents."""
        found = sum(bool(score.value) for score in scores)
        missed = sum(score.value == 0 for score in scores)
        first = sum(score.value == 1 for score in scores)
        own = {"Found in Top-K": found, "Not Found": missed, "Rank 1 (Perfect)": first}
        return {**own, **super().summarize(scores)}


@register("map")
class MAP(CutoffMetric):
    """The precision at each relevant document in the top K, averaged over all relevant ones.

    Formula: the sum of (relevant documents up to its rank / its rank) over the relevant documents
    among the first k / all relevant. Documents without a judgment are not relevant. Range 0 to 1.
    1.0: all relevant documents come first. 0.0: none is among the first k, or none is relevant.
    Undefined: relevance is unknown.
    Source: Buckley & Voorhees (SIGIR 2004) on its use; trec_eval's `map_cut` (NIST).
    """

    label: ClassVar[str] = "MAP@K"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return each query's average precision."""
        gathered = cut(rankings.precisions(self.k), self.k)
        return ratio(gathered, rankings.n_relevant.astype(np.float64))


@register("ndcg")
class NDCG(CutoffMetric):
    """The grades found in the top K, discounted by rank, relative to the best possible order.

    Formula: DCG@k / DCG@k of the best order; DCG is the sum of gain / log2(rank + 1). The gain is
    the grade, with `gain="exponential"` 2^grade - 1; it is 0 for documents without a judgment or
    with a grade below 0. Range 0 to 1. 1.0: the best order. 0.0: no relevant document is among the
    first k, or none is relevant. Undefined: relevance is unknown.
    Source: Järvelin & Kekäläinen (TOIS 2002); trec_eval's `ndcg_cut` (NIST), which is linear.
    """

    label: ClassVar[str] = "NDCG@K"
    gain: Literal["linear", "exponential"] = "linear"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the discounted gain as a share of the best possible one."""
        exponential = self.gain == "exponential"
        found = rankings.discounted(self.k, exponential=exponential)
        best = rankings.ideal.discounted(self.k, exponential=exponential)
        return np.minimum(ratio(found, best), 1.0)  # rounding can exceed 1


@register("r_precision")
class RPrecision(RankingMetric):
    """The share of the first R documents that are relevant; R is the number of relevant ones.

    Formula: relevant among the first R / R; each query has its own cut-off. Documents without a
    judgment are not relevant. Range 0 to 1. 1.0: all relevant documents come first. 0.0: none is
    among the first R, or none is relevant. Undefined: relevance is unknown.
    Source: Buckley & Voorhees (SIGIR 2004) on its use; trec_eval's `Rprec` (NIST).
    """

    label: ClassVar[str] = "R-Precision"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of the first R documents that is relevant."""
        found = rankings.relevant & (rankings.ranks <= rankings.n_relevant[:, None])
        hits = np.count_nonzero(found, axis=1).astype(np.float64)
        return ratio(hits, rankings.n_relevant.astype(np.float64))


@register("bpref")
class BPref(RankingMetric):
    """How rarely irrelevant documents precede relevant ones; unjudged documents are ignored.

    Formula: the sum of 1 - min(n, R) / min(R, N) over the retrieved relevant documents / R, where n
    of the N documents with grade 0 precede the document (1 if n is 0). Documents without a
    judgment or with a grade below 0 are ignored. Range 0 to 1. 1.0: all R relevant documents were
    retrieved, before any with grade 0. 0.0: none was, or none is relevant. Undefined: relevance is
    unknown.
    Source: Buckley & Voorhees (SIGIR 2004), as trec_eval's `bpref` (NIST).
    """

    label: ClassVar[str] = "bpref"

    def values(self, rankings: Rankings) -> NDArray[np.float64]:
        """Return the share of preferences that the order respects."""
        r = rankings.n_relevant.astype(np.float64)
        rows, ranks = np.divmod(np.flatnonzero(rankings.relevant), rankings.gains.shape[1] or 1)
        before = np.minimum(np.cumsum(rankings.irrelevant, axis=1)[rows, ranks], r[rows])
        lost = ratio(before, np.minimum(r, rankings.n_irrelevant)[rows])
        respected = np.bincount(rows, weights=1 - lost, minlength=len(rankings))
        return ratio(respected.astype(np.float64), r)  # without hits, bincount returns integers
