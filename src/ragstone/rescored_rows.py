"""RescoredRows: the rows of a run with other scores, made from their ledgers as they are read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import overload

from ragstone.blame import blamed
from ragstone.errors import QuestionNotSupportedError, UsageError
from ragstone.exchanges import Outcome, Reply
from ragstone.metrics import Metric, RankingMetric
from ragstone.rows import Row
from ragstone.scoring import AT_ONCE, ranked, rescored
from ragstone.workers import finish_in_thread


class CannotRescoreError(UsageError):
    """Metrics need what a run has not; `why` has the reason of each, by name."""

    def __init__(self, why: Mapping[str, str], *, place: str) -> None:
        self.why = why
        parts = "; ".join(f"{name}: {reason}" for name, reason in why.items())
        super().__init__(f"{place} cannot be scored again by {parts}")


class TranscriptMissingError(UsageError):
    """What the judge answered in a run is not in the store, so nothing can be made of it."""

    def __init__(self, run_id: str) -> None:
        super().__init__(
            f"run {run_id} was stored without its transcript (--no-transcript): what the judge "
            "answered is not there to be scored again; only metrics that ask nobody can be"
        )


class RescoredRows(Sequence[Row]):
    """Rows scored again, as a run by these metrics would have scored them; nobody is asked.

    They are scored anew each time they are looked at. Looking raises CannotRescoreError where a
    metric needs what was not asked, and TranscriptMissingError where the judge's answers are not
    there.
    """

    def __init__(self, rows: Sequence[Row], metrics: Sequence[Metric], *, run_id: str) -> None:
        self._rows, self._run_id = rows, run_id
        self._ranking = [metric for metric in metrics if isinstance(metric, RankingMetric)]
        self._asking = [metric for metric in metrics if not isinstance(metric, RankingMetric)]
        self._asks = any(metric.question_kinds for metric in metrics)
        self._order = list(map(str, metrics))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        left = iter(self._rows)
        while some := list(islice(left, AT_ONCE)):
            yield from self._scored(some)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, slice):
            return self._scored(self._rows[index])
        return self._scored([self._rows[index]])[0]

    def __repr__(self) -> str:
        return f"<{len(self)} rows of run {self._run_id}, scored again>"

    def _scored(self, rows: Sequence[Row]) -> list[Row]:
        """Score some rows, in a loop of their own, so that callers need none."""
        done: list[Row] = []

        async def score() -> None:
            done.extend([await self._judged(row) for row in ranked(rows, self._ranking)])

        finish_in_thread(score)
        return done

    async def _judged(self, row: Row) -> Row:
        if self._asks and any(_is_silent(exchange.outcome) for exchange in row.exchanges):
            raise TranscriptMissingError(self._run_id)
        try:
            again = await rescored(row, self._asking)
        except QuestionNotSupportedError:
            place = f"run {self._run_id}, sample {row.sample.id},"
            raise CannotRescoreError(await self._lacking(row), place=place) from None
        scores = {name: again.scores[name] for name in self._order}
        return replace(again, scores=scores, blamed=await blamed(again, self._asking))

    async def _lacking(self, row: Row) -> dict[str, str]:
        """Return which metrics ask what was not asked about a row, and what that is."""
        why: dict[str, str] = {}
        for metric in self._asking:
            try:
                await rescored(row, [metric])
            except QuestionNotSupportedError as error:
                why[str(metric)] = str(error)
        return why


def _is_silent(outcome: Outcome[object]) -> bool:
    """Tell whether a judge answered and its answer was not kept."""
    return isinstance(outcome, Reply) and outcome.value is None
