"""Row: one sample, what the target and the judge did, and the scores."""

from abc import abstractmethod
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add, attrgetter
from typing import TypeVar, overload

from ragstone._internal.fields import NamesHint
from ragstone.errors import Cause
from ragstone.types.claim import DiagnosedClaim
from ragstone.types.reply import Exchange, Failure, Usage
from ragstone.types.sample import Sample
from ragstone.types.score import Score, State

T = TypeVar("T")

TEST_FAILED = "its test fails: "  # begins a row's note, with the metrics


@dataclass(frozen=True)
class TargetCall:
    """One call of the target for one row: how long it took (ms), and why it failed if it did."""

    name: str
    latency_ms: float
    failure: Failure | None = None


@dataclass(frozen=True)
class Row(NamesHint):
    """One sample: as loaded, then with the answers of the target, then with scores.

    Attributes:
        index: its place in the data set, from 0.
        failures: Sample field -> why the target did not return it; metrics that need it fail.
        calls: what the target was asked for this row.
        exchanges: the questions to the judge and its replies: the transcript.
        blamed: the issue of each unsupported or missing claim.
        notes: what a reader of the numbers should know, such as duplicates in the ranking.
    """

    index: int
    sample: Sample
    failures: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    calls: tuple[TargetCall, ...] = ()
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    exchanges: tuple[Exchange, ...] = ()
    blamed: tuple[DiagnosedClaim, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage:
        """What the judge cost for this row."""
        return reduce(add, (exchange.outcome.usage for exchange in self.exchanges), Usage())

    @property
    def has_failed(self) -> bool:
        """Whether one of its scores failed."""
        return any(score.state is State.FAILED for score in self.scores.values())

    @property
    def latency_ms(self) -> float | None:
        """How long the target took for this row, all calls together; None if one failed."""
        if not self.calls or any(call.failure for call in self.calls):
            return None
        return sum(call.latency_ms for call in self.calls)

    @property
    def failed_before(self) -> tuple[Cause, ...]:
        """The causes of the scores that failed for calls that had failed before, by the data."""
        if self.calls or not self.failures:
            return ()
        recorded = {(why.cause, why.message) for why in self.failures.values()}
        scores = self.scores.values()
        return tuple(s.cause for s in scores if s.cause and (s.cause, s.reason) in recorded)

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain data, in the stable shape of `--rows`."""
        sample = self.sample.model_dump(mode="json")
        shown = "id query response contexts ranking reference reference_claims relevance tags"
        return {
            **{name: sample[name] for name in shown.split()},
            **({} if self.sample.history is None else {"history": sample["history"]}),
            **({"error": next(iter(self.failures.values())).message} if self.failures else {}),
            "usage": vars(self.usage),
            "latency_ms": self.latency_ms,
            "notes": list(self.notes),
            "blame": [each.model_dump(mode="json") for each in self.blamed],
            "scores": {name: score.model_dump(mode="json") for name, score in self.scores.items()},
        }


class LazySequence(Sequence[T]):
    """Items that are made when they are read; a subclass makes the one at a place."""

    @abstractmethod
    def at(self, place: int) -> T:
        """Return the item at a place of the sequence, from 0; there is one."""

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        if isinstance(index, slice):
            return [self.at(each) for each in range(*index.indices(len(self)))]
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"item {index} of {len(self)}")
        return self.at(place)


class LazyRows(LazySequence[Row]):
    """Rows that are made when they are read."""

    stored = False

    def counts(self) -> object:
        """Return the counts that a summary needs, if they are known without reading the rows."""
        return None

    def without_exchanges(self) -> Iterable[Row]:
        """Yield the rows, if possible without their exchanges, in less time."""
        return self


def find_row(rows: Sequence[Row], index: int) -> Row | None:
    """Return the row with this index; rows are in its order, and some may be missing."""
    if index < len(rows) and (row := rows[index]).index == index:
        return row
    missing = rows[-1].index + 1 - len(rows) if rows else 0
    end = min(index, len(rows))
    at = bisect_left(rows, index, max(index - missing, 0), end, key=attrgetter("index"))
    return row if at < end and (row := rows[at]).index == index else None
