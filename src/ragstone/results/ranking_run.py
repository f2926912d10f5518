"""RankingRows: the scores of a ranking's queries, in columns; a row is made when it is read."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import Cause
from ragstone.results.metric_summary import FAILED, SCORED, UNDEFINED, MetricSummaryBuilder
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.types.row import LazyRows, Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

NOT_RANKED = "the ranking does not contain this query"
NOT_JUDGED = "the relevant documents for this query are unknown"
REASONS = (NOT_RANKED, NOT_JUDGED)  # why a query has no scores
COUNTED, SKIPPED, UNKNOWN = range(3)  # of `why`: has scores, or the number of the reason
UNRANKED = 3  # of `why`: not in the ranking, and scored as if it had found nothing
NOTES = READ, JUDGED, UNFOUND = "read: ", "queries judged in ", "judged but not ranked: "
BLOCK = 10_000  # queries; a store reads one block to show one of its rows


class RankingRows(LazyRows):
    """The rows of a ranking's run; a subclass has the scores in memory, or reads them."""

    ids: Sequence[str]
    texts: Mapping[str, str]
    metrics: Sequence[str]
    why: NDArray[np.uint8]

    @abstractmethod
    def numbers(self, metric: str) -> NDArray[np.float64]:
        """Return each query's score by one metric; 0 if it has none."""

    @abstractmethod
    def failures(self, metric: str) -> Mapping[int, str]:
        """Return place of a query -> why the metric failed on it."""

    @abstractmethod
    def blocks(self) -> Iterator["RankingScores"]:
        """Yield the queries in order, at most BLOCK at a time."""

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def counted(self) -> NDArray[np.bool_]:
        return np.isin(self.why, (COUNTED, UNRANKED))

    @cached_property
    def queries(self) -> Sequence[str]:
        return [self.texts.get(query) or query for query in self.ids]

    def column(self, metric: str) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        states = np.where(self.counted, SCORED, UNDEFINED).astype(np.int8)
        states[list(self.failures(metric))] = FAILED
        return self.numbers(metric), states

    def failures_within(self, start: int, end: int) -> dict[str, dict[int, str]]:
        return {
            name: {
                place - start: message
                for place, message in self.failures(name).items()
                if start <= place < end
            }
            for name in self.metrics
        }

    def count_rows(self, *, summed: bool = False) -> RunSummaryBuilder:
        """Count the rows; values may be `summed` only."""
        counts = RunSummaryBuilder(self.metrics)
        counts.rows = len(self)
        numbers: list[int] = np.bincount(self.why, minlength=UNRANKED + 1).tolist()
        undefined: dict[str, int] = dict(zip(REASONS, numbers[SKIPPED:UNRANKED], strict=True))
        counts.scores = {
            name: MetricSummaryBuilder.of_values(
                *self.column(name),
                ids=self.ids,
                undefined=undefined,
                failed=self.failures(name),
                summed=summed,
            )
            for name in self.metrics
        }
        return counts


@dataclass(frozen=True)
class RankingScores(RankingRows):
    """The scores of Q queries by M metrics, in memory, as float64[Q, M]; 0 without a score."""

    ids: Sequence[str]
    texts: Mapping[str, str]
    metrics: Sequence[str]
    values: NDArray[np.float64]
    why: NDArray[np.uint8]
    failed: Mapping[str, Mapping[int, str]] = field(default_factory=dict[str, Mapping[int, str]])

    def at(self, place: int) -> Row:
        query, why = self.ids[place], int(self.why[place])
        scores: dict[str, Score] = {}
        for name, value in zip(self.metrics, self.values[place].tolist(), strict=True):
            if why in (SKIPPED, UNKNOWN):
                scores[name] = Score.undefined(REASONS[why - 1])
            elif (message := self.failures(name).get(place)) is not None:
                scores[name] = Score.failed(Cause.METRIC_ERROR, message)
            else:
                scores[name] = Score.scored(value)
        ranking = () if why == UNRANKED else None
        sample = Sample(id=query, query=self.texts.get(query) or query, ranking=ranking)
        return Row(index=place, sample=sample, scores=scores)

    def numbers(self, metric: str) -> NDArray[np.float64]:
        return self.values[:, self.metrics.index(metric)]

    def failures(self, metric: str) -> Mapping[int, str]:
        return self.failed.get(metric, {})

    def blocks(self) -> Iterator["RankingScores"]:
        for start in range(0, len(self), BLOCK):
            some = slice(start, start + BLOCK)
            yield RankingScores(
                ids=self.ids[some],
                texts=self.texts,
                metrics=self.metrics,
                values=self.values[some],
                why=self.why[some],
                failed=self.failures_within(start, start + BLOCK),
            )


class RankingSummary(LazyRows):
    """The rows of a ranking whose scores were only counted: the worst and the first that failed."""

    def __init__(self, counts: RunSummaryBuilder, texts: Mapping[str, str]) -> None:
        self._counts, self.texts = counts, texts

    def counts(self) -> RunSummaryBuilder:
        return self._counts

    def __len__(self) -> int:
        return self._counts.rows

    def at(self, place: int) -> Row:
        """Return a row with the scores that are known, or raise LookupError."""
        scores: dict[str, Score] = {}
        query = ""
        for name, counted in self._counts.scores.items():
            for lowest in (True, False):
                for one in counted.worst(higher_is_better=lowest):
                    if one.place == place:
                        query, scores[name] = one.sample_id, Score.scored(one.value)
            for cause, first in counted.failed.items():
                if first.place == place:
                    query, scores[name] = first.sample_id, Score.failed(cause, first.words)
        if not scores:
            raise LookupError(f"the scores of row {place} were only counted")
        sample = Sample(id=query, query=self.texts.get(query) or query)
        return Row(index=place, sample=sample, scores=scores)
