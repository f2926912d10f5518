from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.ranked import ranked_run
from tests.results.conftest import Runs

from ragstone.errors import Cause
from ragstone.results.metric_summary import MOST, OTHERS, SCORED, MetricSummaryBuilder, ScoreColumn
from ragstone.results.paired import Columns
from ragstone.results.ranking_run import REASONS, RankingScores
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.types.claim import Label
from ragstone.types.score import Score


def added(*scores: Score, **known: object) -> MetricSummaryBuilder:
    counts = MetricSummaryBuilder()
    for place, score in enumerate(scores):
        counts.add(score, place=place, sample_id=f"s{place}", **known)
    return counts


def test_the_mean_has_bounds_where_some_failed() -> None:
    scores = [Score.scored(0.5)] * 3 + [Score.failed(Cause.TIMEOUT, "late")]
    assert added(*scores).summary().bounds == (1.5 / 4, 2.5 / 4)
    assert added(*scores).summary(low=-1, high=1).bounds == (0.5 / 4, 2.5 / 4)
    undefined = Score.undefined("no claims")
    assert added(Score.scored(0.5), undefined).summary().bounds == (0.5, 0.5)
    assert added(undefined).summary().bounds is None


def test_reasons_without_end_are_counted_together() -> None:
    counts = added(*(Score.undefined(f"reason {n}") for n in range(MOST + 5)))
    assert len(counts.undefined) == MOST + 1
    assert counts.undefined[OTHERS] == 5
    graded = Score.scored(1, detail={"graded": "contexts"})  # in place of a ranking
    for ranked, unranked in ((True, 1), (False, 2)):
        assert added(Score.scored(1), graded, ranked=ranked).unranked == unranked


def test_the_rows_that_scored_worst_are_remembered_in_whatever_order_they_come() -> None:
    values = [0.5, 0.0, 1.0, 0.25, 0.0, 0.75, 0.9, 0.8]
    counts = MetricSummaryBuilder()
    for place in (7, 4, 0, 6, 1, 2, 5, 3):
        counts.add(Score.scored(values[place], detail={"abc"[place % 3]: 1}), place=place)
    for place in (9, 8):
        counts.add(Score.failed(Cause.TIMEOUT, f"late {place}"), place=place, sample_id=f"s{place}")
    lowest = counts.worst(higher_is_better=True)
    assert [(each.value, each.place) for each in lowest] == [
        *((0.0, 1), (0.0, 4), (0.25, 3), (0.5, 0), (0.75, 5))
    ]
    assert [each.place for each in counts.worst(higher_is_better=False)] == [2, 6, 7, 5, 0]
    assert str(counts.failed[Cause.TIMEOUT]) == "s8: late 8"
    assert counts.details == ("a", "b", "c")


def test_scores_come_back_in_the_order_of_their_places_and_equal_ones_are_kept_once() -> None:
    column, claim = ScoreColumn(), Runs.claim("so", Label.SUPPORTED)
    assert column.in_order() == []
    for place in reversed(range(100)):
        column.add(place, Score.scored(place % 2, claims=[claim]))
    kept = column.in_order()
    assert len({id(score) for score in kept}) == 2
    assert all(score.claims == () for score in kept)
    assert [score.value for score in kept] == [0, 1] * 50


def test_scores_that_differ_in_one_thing_are_kept_apart() -> None:
    column = ScoreColumn()
    flagged = Score.scored(0.0).model_copy(update={"fallback": True})
    different = [Score.failed(Cause.TIMEOUT, "late"), Score.failed(Cause.REFUSAL, "late")]
    different += [Score.scored(0.0), flagged, Score.scored(0.0, detail={"hits": 0})]
    different += [Score.undefined("no claims"), Score.undefined("no contexts")]
    for place, score in enumerate(different):
        column.add(place, score)
    assert column.in_order() == different


shares = st.sampled_from([0.0, 0.25, 0.5, 1.0]) | st.floats(0, 1)
rows = st.lists(st.tuples(shares, shares, st.integers(0, len(REASONS))), max_size=30)


def values_of(given_rows: list[tuple[float, float, int]]) -> RankingScores:
    return RankingScores(
        ids=[f"q{number}" for number in range(len(given_rows))],
        texts={"q1": "what?"},
        metrics=["hit@5", "ndcg@5"],
        values=np.array([row[:2] for row in given_rows]).reshape(-1, 2),
        why=np.array([row[2] for row in given_rows], dtype=np.uint8),
    )


@given(rows)
def test_columns_are_tallied_and_compared_as_their_rows_are(
    given_rows: list[tuple[float, float, int]],
) -> None:
    values = values_of(given_rows)
    at_once, one_by_one = values.count_rows(), RunSummaryBuilder.of(values, values.metrics)
    assert at_once.rows == one_by_one.rows
    for name in values.metrics:
        one, other = at_once.scores[name], one_by_one.scores[name]
        assert one.summary() == other.summary()
        assert list(one.values) == list(other.values)
        assert one.row_states == other.row_states
        assert +one.undefined == +other.undefined
        for higher in (True, False):
            assert one.worst(higher_is_better=higher) == other.worst(higher_is_better=higher)
    run, places = ranked_run(1), np.arange(len(values))
    columns, by_row = (
        Columns(replace(run, rows=each), {"ndcg@5": "ndcg@5"}) for each in (values, list(values))
    )
    assert (columns.ids, columns.queries) == (by_row.ids, by_row.queries)
    one, other = columns.metrics["ndcg@5"], by_row.metrics["ndcg@5"]
    assert one.values == other.values
    for each, its in zip(one.take(places), other.take(places), strict=True):
        assert each.tolist() == its.tolist()
    assert [one.claims(place) for place in places] == [{} for _ in places]


def test_a_row_is_made_when_it_is_looked_at() -> None:
    values = values_of([(1.0, 0.5, 0), (0.0, 0.0, 2)])
    assert values[1].sample.query == "what?"
    assert values[0].sample.query == "q0"
    assert values[0].scores["ndcg@5"].value == 0.5
    assert values[-1].scores["hit@5"].reason == REASONS[1]
    assert [row.index for row in values[0:2]] == [0, 1]
    with pytest.raises(IndexError):
        values[2]


def test_the_lowest_of_many_equal_ones_are_the_first() -> None:
    many = np.array([0.5] * 1000 + [0.0] * 3 + [1.0] * 1000)
    ids = [f"{number}" for number in range(len(many))]
    states = np.full(len(many), SCORED, dtype=np.int8)
    counts = MetricSummaryBuilder.of_values(many, states, ids=ids, undefined={}, failed={})
    worst = counts.worst(higher_is_better=True)
    assert [one.sample_id for one in worst] == ["1000", "1001", "1002", "0", "1"]
    assert counts.worst(higher_is_better=False)[0].sample_id == "1003"
