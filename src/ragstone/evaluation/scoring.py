"""Scoring: rows, metrics and a judge -> rows with scores."""

import logging
import traceback
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import islice
from pathlib import Path

from ragstone._internal.concurrency import together, working
from ragstone._internal.text import one_line
from ragstone.errors import CallError, Cause, QuestionNotSupportedError
from ragstone.evaluation.diagnosis import blamed
from ragstone.evaluation.transcript import Asking, Transcript
from ragstone.judges.base import Judge
from ragstone.judges.instrumentation import Scorer
from ragstone.judges.replay import ReplayJudge
from ragstone.metrics.base import Metric
from ragstone.metrics.retrieval import RankingMetric
from ragstone.types.rankings import Rankings
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.sample import STAND_INS
from ragstone.types.score import Score

# What a metric raised: a stranger's costs that score, one of ours ends the run.

LONGEST = 300
"""Characters told of what was raised."""
_log = logging.getLogger("ragstone.scoring")


def is_ours(metric: Metric) -> bool:
    """Return whether a metric comes with ragstone, so that what it raises is our bug."""
    return type(metric).__module__.partition(".")[0] == "ragstone"


def words(metric: Metric, error: Exception) -> str:
    """Say in a line what a metric raised, and where; the log has all of it."""
    _log.debug("%s raised:", metric, exc_info=error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}:{last.lineno}"
    return one_line(f"the metric raised {type(error).__name__} at {where}: {error}", LONGEST)


AT_ONCE = 200
"""Rows that are ranked at once, where they need not be waited for."""


def scoring(
    rows: Iterable[Row] | AsyncIterable[Row],
    metrics: Sequence[Metric],
    judge: Judge,
    *,
    concurrency: int,
    around: Callable[[Scorer], Scorer] | None = None,
) -> AbstractAsyncContextManager[AsyncIterator[Row]]:
    """Score rows with all metrics, `concurrency` rows at a time, rows as they finish.

    A row that has its rankings' scores keeps them. `around` wraps what scores a row.
    """
    ranking = [metric for metric in metrics if isinstance(metric, RankingMetric)]
    asking = [metric for metric in metrics if not isinstance(metric, RankingMetric)]
    order = [str(metric) for metric in metrics]
    by_rank = set(map(str, ranking))

    async def score(row: Row) -> Row:
        known = row.scores.keys() >= by_rank
        scored = await _judged(row if known else rank([row], ranking)[0], asking, judge)
        scores = {name: scored.scores[name] for name in order}
        return replace(scored, scores=scores, blamed=await blamed(scored, asking))

    return working(rows, around(score) if around else score, concurrency=concurrency)


def ranked(rows: Iterable[Row], metrics: Sequence[RankingMetric]) -> Iterator[Row]:
    """Rank rows as they are taken, some at once: a hundred take little longer than one."""
    left = iter(rows)
    while some := list(islice(left, AT_ONCE)):
        yield from rank(some, metrics)


def rank(rows: Sequence[Row], metrics: Sequence[RankingMetric]) -> list[Row]:
    """Score rows with ranking metrics, all at once; nobody is asked anything."""
    alike: dict[tuple[str, ...], list[RankingMetric]] = {}
    for metric in metrics:
        alike.setdefault(metric.needs, []).append(metric)
    for same in alike.values():
        rows = _ranked(rows, same)
    return list(rows)


def _ranked(rows: Sequence[Row], metrics: Sequence[RankingMetric]) -> list[Row]:
    """Add the scores of ranking metrics that need the same."""
    unready = [_unready(metrics[0], row) for row in rows]
    ready = [row for row, score in zip(rows, unready, strict=True) if score is None]
    rankings = _rankings(ready)
    columns = {str(metric): iter(_column(metric, ready, rankings)) for metric in metrics}
    scored: list[Row] = []
    for row, score in zip(rows, unready, strict=True):
        scores = {name: score or next(column) for name, column in columns.items()}
        notes = tuple(dict.fromkeys(row.notes + _doubts(row, score)))
        scored.append(replace(row, scores={**row.scores, **scores}, notes=notes))
    return scored


def _rankings(rows: Sequence[Row]) -> Rankings:
    ids = [row.sample.ranked_ids for row in rows]
    return Rankings.of(ids, [row.sample.relevance or {} for row in rows])


def _column(metric: RankingMetric, rows: Sequence[Row], rankings: Rankings) -> list[Score]:
    try:
        return metric.scores(rankings)
    except Exception as error:
        if len(rows) == 1:
            return [_broken(metric, rows[0], error)]
        scores = [_column(metric, [row], _rankings([row]))[0] for row in rows]
        if is_ours(metric):
            raise  # no row raised by itself
        return scores


def _broken(metric: Metric, row: Row, error: Exception) -> Score:
    """Return the failed score of a metric that raised, if it is not one of ours.

    A bug in a user's own metric costs that score, not the run; one of ours is raised.
    """
    if is_ours(metric):
        error.add_note(f"while scoring sample {row.sample.id} with {metric}")
        raise error
    return Score.failed(Cause.METRIC_ERROR, words(metric, error))


async def rescored(row: Row, metrics: Sequence[Metric]) -> Row:
    """Score a row again from its exchanges, which stay; nobody is asked anything.

    Raises:
        QuestionNotSupportedError: a metric asks what was not asked then.
    """
    again = await _judged(row, metrics, ReplayJudge(row.exchanges))
    return replace(again, exchanges=row.exchanges)


async def _judged(row: Row, metrics: Sequence[Metric], judge: Judge) -> Row:
    transcript = Transcript(judge, row.sample.tags)
    try:
        scores = await together(_score(metric, row, transcript) for metric in metrics)
    finally:
        await transcript.close()
    scored = {**row.scores, **dict(zip(map(str, metrics), scores, strict=True))}
    return replace(row, scores=scored, exchanges=transcript.exchanges)


async def _score(metric: Metric, row: Row, transcript: Transcript) -> Score:
    if score := _unready(metric, row):
        return score
    asking = Asking(transcript)
    try:
        score = await metric.score(row.sample, asking)
    except CallError as error:
        return Score.failed(error.cause, str(error))
    except QuestionNotSupportedError:
        raise
    except Exception as error:  # noqa: BLE001 - a stranger's bug fails its score, ours is raised
        return _broken(metric, row, error)
    if not asking.notes:
        return score
    own = score.detail.get("note")
    note = "; ".join([*([str(own)] if own else []), *asking.notes])
    return score.model_copy(update={"detail": {**score.detail, "note": note}})


def _unready(metric: Metric, row: Row) -> Score | None:
    """Return the score of a row that lacks what the metric needs; None if it lacks nothing."""
    for need in metric.needs:
        if row.sample.held(need) is None and _lacking(need, row) is None:
            return Score.undefined(f"the row has no {need}")
    for need in metric.needs:
        if failure := _lacking(need, row):
            return Score.failed(failure.cause, failure.message)
    by_id = {"ranking", "relevance"} <= set(metric.needs)
    if by_id and any(place.id is None for place in row.sample.ranked or ()):
        return Score.undefined("what was retrieved has not all document ids")
    return None


def _lacking(need: str, row: Row) -> Failure | None:
    """Return why the target did not give what is needed, or what may stand in for it."""
    if getattr(row.sample, need) is not None:
        return row.lacking.get(need)
    return row.lacking.get(need) or row.lacking.get(STAND_INS.get(need, need))


def _doubts(row: Row, unready: Score | None) -> tuple[str, ...]:
    ids = row.sample.ranked_ids
    if unready or not (copies := len(ids) - len(set(ids))):
        return ()
    said = "1 document comes" if copies == 1 else f"{copies} documents come"
    return (f"{said} again in the ranking; a document counts once, at its first rank",)
