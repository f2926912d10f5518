"""Scoring: rows, metrics and a judge give rows with scores."""

from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from itertools import islice
from typing import cast

from ragstone._internal.concurrency import Results, together, working
from ragstone._internal.plugins import describe_exception, is_builtin, is_from_code
from ragstone.errors import CallError, Cause, QuestionNotSupportedError
from ragstone.evaluation.diagnosis import diagnose
from ragstone.evaluation.transcript import MetricAsker, Transcript
from ragstone.judges.base import Judge
from ragstone.judges.instrumentation import RowScorer
from ragstone.judges.replay import ReplayJudge
from ragstone.metrics.base import Metric
from ragstone.metrics.retrieval import RankingMetric
from ragstone.types.rankings import NOTHING_RELEVANT, Rankings
from ragstone.types.reply import Exchange, Failure
from ragstone.types.row import Row
from ragstone.types.sample import STAND_INS, in_words
from ragstone.types.score import Score

BATCH = 200
"""Rows scored together by ranking metrics."""


def score_rows(
    rows: Iterable[Row] | AsyncIterable[Row],
    metrics: Sequence[Metric],
    judge: Judge,
    *,
    concurrency: int,
    around: Callable[[RowScorer], RowScorer] | None = None,
) -> AbstractAsyncContextManager[Results[Row]]:
    """Score rows with all metrics, `concurrency` rows at a time, in the order they finish.

    Existing scores of ranking metrics are not computed again. `around` wraps the scorer of a row.
    """
    ranking = [metric for metric in metrics if isinstance(metric, RankingMetric)]
    asking = [metric for metric in metrics if not isinstance(metric, RankingMetric)]
    order = [str(metric) for metric in metrics]
    ranking_names = set(map(str, ranking))

    async def score(row: Row) -> Row:
        ranked = row.scores.keys() >= ranking_names
        scored = await _judge_row(
            row if ranked else score_retrieval([row], ranking)[0], asking, judge
        )
        scores = {name: scored.scores[name] for name in order}
        return replace(scored, scores=scores, blamed=await diagnose(scored, asking))

    return working(rows, around(score) if around else score, concurrency=concurrency)


async def rescore_row(row: Row, metrics: Sequence[Metric]) -> Row:
    """Score a row again from its exchanges, without any calls."""
    return await _judge_row(row, metrics, ReplayJudge(row.exchanges), recorded=row.exchanges)


def score_retrieval_in_batches(
    rows: Iterable[Row], metrics: Sequence[RankingMetric]
) -> Iterator[Row]:
    """Score rows with ranking metrics in batches; a hundred take little longer than one."""
    left = iter(rows)
    while some := list(islice(left, BATCH)):
        yield from score_retrieval(some, metrics)


def score_retrieval(rows: Sequence[Row], metrics: Sequence[RankingMetric]) -> list[Row]:
    """Score rows with ranking metrics, all at once."""
    by_needs: dict[tuple[str, ...], list[RankingMetric]] = {}
    for metric in metrics:
        by_needs.setdefault(metric.needs, []).append(metric)
    for group in by_needs.values():
        unscorable = [_check_needs(group[0], row) for row in rows]
        ready = [row for row, score in zip(rows, unscorable, strict=True) if score is None]
        rankings = _rankings(ready)
        relevant = iter(rankings.n_relevant.tolist())
        columns = {str(metric): iter(_score_column(metric, ready, rankings)) for metric in group}
        scored: list[Row] = []
        for row, score in zip(rows, unscorable, strict=True):
            scores = {name: score or next(column) for name, column in columns.items()}
            notes = row.notes
            ids = row.sample.ranked_ids
            if score is None and (copies := len(ids) - len(set(ids))):
                what = "1 document is" if copies == 1 else f"{copies} documents are"
                notes += (f"{what} repeated in the ranking; only the first rank counts",)
            if score is None and next(relevant) == 0 and row.sample.relevance is not None:
                notes += (NOTHING_RELEVANT,)
                scores = {
                    name: each.model_copy(update={"reason": each.reason or NOTHING_RELEVANT})
                    for name, each in scores.items()
                }
            notes = tuple(dict.fromkeys(notes))
            scored.append(replace(row, scores={**row.scores, **scores}, notes=notes))
        rows = scored
    return list(rows)


def _rankings(rows: Sequence[Row]) -> Rankings:
    ids = [row.sample.ranked_ids for row in rows]
    return Rankings.of(ids, [row.sample.relevance or {} for row in rows])


def _score_column(metric: RankingMetric, rows: Sequence[Row], rankings: Rankings) -> list[Score]:
    try:
        return metric.scores(rankings)
    except BaseException as error:
        if not is_from_code(error):
            raise
        if len(rows) == 1:
            return [_score_exception(metric, rows[0], error)]
        scores = [_score_column(metric, [row], _rankings([row]))[0] for row in rows]
        if is_builtin(metric):
            raise  # no single row raises
        return scores


async def _judge_row(
    row: Row, metrics: Sequence[Metric], judge: Judge, *, recorded: tuple[Exchange, ...] = ()
) -> Row:
    """Score a row; `recorded` are the exchanges that the judge repeats, with their times."""
    transcript = Transcript(judge, row.sample.tags)
    askers = [MetricAsker(transcript) for _ in metrics]
    try:
        pairs = zip(metrics, askers, strict=True)
        scores = await together(_score(metric, row, ask) for metric, ask in pairs)
    finally:
        await transcript.close()
    exchanges = recorded or transcript.exchanges
    scored = dict(row.scores)
    for metric, ask, score in zip(metrics, askers, scores, strict=True):
        asked = [each for each in exchanges if each.key in ask.keys]
        if asked:
            end = max(each.started_at + each.latency_ms / 1000 for each in asked)
            latency = 1000 * (end - min(each.started_at for each in asked))
            score = score.model_copy(update={"latency_ms": round(latency, 3)})
        scored[str(metric)] = score
    return replace(row, scores=scored, exchanges=exchanges)


async def _score(metric: Metric, row: Row, ask: MetricAsker) -> Score:
    if score := _check_needs(metric, row):
        return score
    try:
        score = await metric.score(row.sample, ask)
        if not is_builtin(metric):
            if not isinstance(cast("object", score), Score):
                raise TypeError(f"it returned a {type(score).__name__}, not a Score")
            score = Score.model_validate(dict(score))
    except CallError as error:
        return Score.failed(error.cause, str(error))
    except QuestionNotSupportedError:
        raise
    except BaseException as error:  # noqa: BLE001 - third-party metrics may raise anything
        return _score_exception(metric, row, error)
    if ask.no_claims and score.value is not None and not score.claims:
        score = score.flag("the judge found no claims in a response that seems to make statements")
    if not ask.notes:
        return score
    own = score.detail.get("note")
    note = "; ".join([*([str(own)] if own else []), *ask.notes])
    return score.model_copy(update={"detail": {**score.detail, "note": note}})


def _check_needs(metric: Metric, row: Row) -> Score | None:
    """Return the score of a row without the fields that the metric needs; None if it has them."""

    def failure_of(need: str) -> Failure | None:
        own = row.failures.get(need)
        if own is not None or getattr(row.sample, need) is not None:
            return own
        return row.failures.get(STAND_INS.get(need, need))

    failures = {need: failure_of(need) for need in metric.needs}
    for need, failure in failures.items():
        if row.sample.held(need) is None and failure is None:
            return Score.undefined(f"the row has no {in_words(need)}")
    for failure in failures.values():
        if failure:
            return Score.failed(failure.cause, failure.message)
    by_id = {"ranking", "relevance"} <= set(metric.needs)
    if by_id and any(place.id is None for place in row.sample.ranked or ()):
        return Score.undefined("some retrieved documents have no id")
    return None


def _score_exception(metric: Metric, row: Row, error: BaseException) -> Score:
    """Return a failed score if a third-party metric raised; raise errors of built-in ones."""
    if is_builtin(metric) or not is_from_code(error):
        error.add_note(f"while scoring sample {row.sample.id} with {metric}")
        raise error
    return Score.failed(Cause.METRIC_ERROR, describe_exception("the metric", error))
