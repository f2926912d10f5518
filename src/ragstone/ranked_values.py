"""RankedRows: what ranking metrics come to for many queries, in columns; rows when looked at."""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import Cause
from ragstone.rows import MadeRows, Row
from ragstone.samples import Sample
from ragstone.score_tally import FAILED, SCORED, UNDEFINED, ScoreTally
from ragstone.scores import Score
from ragstone.tally import Tally

NOT_RANKED = "the ranking has nothing of this query"
NOT_JUDGED = "nothing is known of what is relevant to this query"
REASONS = (NOT_RANKED, NOT_JUDGED)
"""Why a query has no numbers."""
COUNTED, SKIPPED, UNKNOWN = range(3)
"""What `why` says of a query: it has numbers, or the number of its reason."""

Failures = Mapping[int, str]
"""Place of a query -> why a metric failed on it."""
NO_FAILURES: Failures = MappingProxyType({})


class RankedRows(MadeRows):
    """The rows of a ranking's run; a subclass has the numbers in memory, or reads them.

    Attributes:
        ids: the Q queries' ids.
        texts: query id -> its text, where there is one.
        metrics: the M metrics' names.
        why: uint8[Q], COUNTED, SKIPPED or UNKNOWN.
    """

    ids: Sequence[str]
    texts: Mapping[str, str]
    metrics: Sequence[str]
    why: NDArray[np.uint8]

    @abstractmethod
    def numbers(self, metric: str) -> NDArray[np.float64]:
        """Return float64[Q], each query's value by one metric; 0 where it has none."""

    @abstractmethod
    def failures(self, metric: str) -> Failures:
        """Return where a metric failed: a stranger's may."""

    @abstractmethod
    def parts(self) -> Iterator["RankedValues"]:
        """Yield all queries in order, so many at once as may be in memory."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def queries(self) -> Sequence[str]:
        """The queries' texts; their ids where there is none."""
        return [self.texts.get(query) or query for query in self.ids]

    def column(self, metric: str, /) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
        """Return each query's value by one metric, and its state as an index into STATES."""
        states = np.where(self.why == COUNTED, SCORED, UNDEFINED).astype(np.int8)
        states[list(self.failures(metric))] = FAILED
        return self.numbers(metric), states

    def tally(self) -> Tally:
        """Return what the rows come to."""
        tally = Tally(())
        tally.rows = len(self)
        counts: list[int] = np.bincount(self.why, minlength=len(REASONS) + 1).tolist()
        undefined: dict[str, int] = dict(zip(REASONS, counts[1:], strict=True))
        tally.scores = {
            name: ScoreTally.of_values(
                *self.column(name), ids=self.ids, undefined=undefined, failed=self.failures(name)
            )
            for name in self.metrics
        }
        return tally


@dataclass(frozen=True)
class RankedValues(RankedRows):
    """The values of M metrics for Q queries, in memory.

    Attributes:
        values: float64[Q, M]; 0 where a query has no numbers.
        missing: judged queries of which the ranking has nothing.
        failed: metric -> where it failed; those that failed nowhere are left out.
    """

    ids: Sequence[str]
    texts: Mapping[str, str]
    metrics: Sequence[str]
    values: NDArray[np.float64]
    why: NDArray[np.uint8]
    missing: int = 0
    failed: Mapping[str, Failures] = field(default_factory=dict[str, Failures])

    def at(self, place: int) -> Row:
        """Return the row of one query."""
        query = self.ids[place]
        values = self.values[place].tolist()
        return Row(
            index=place,
            sample=Sample(id=query, query=self.texts.get(query) or query),
            scores={
                name: self._score(name, place, value)
                for name, value in zip(self.metrics, values, strict=True)
            },
        )

    def _score(self, metric: str, place: int, value: float) -> Score:
        if why := int(self.why[place]):
            return Score.undefined(REASONS[why - 1])
        if (words := self.failures(metric).get(place)) is not None:
            return Score.failed(Cause.METRIC_ERROR, words)
        return Score.scored(value)

    def numbers(self, metric: str) -> NDArray[np.float64]:
        """Return float64[Q], each query's value by one metric; 0 where it has none."""
        return self.values[:, self.metrics.index(metric)]

    def failures(self, metric: str) -> Failures:
        """Return where a metric failed: a stranger's may."""
        return self.failed.get(metric, NO_FAILURES)

    def parts(self) -> Iterator["RankedValues"]:
        """Yield all queries at once."""
        yield self
