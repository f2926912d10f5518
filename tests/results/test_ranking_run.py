from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reports.ranked import ranked_run

from ragstone.results.metric_summary import SCORED, MetricSummaryBuilder
from ragstone.results.paired import Columns
from ragstone.results.ranking_run import REASONS, RankingScores
from ragstone.results.run_summary import RunSummaryBuilder

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
def test_columns_are_tallied_as_their_rows_are(given_rows: list[tuple[float, float, int]]) -> None:
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


@given(rows)
def test_columns_are_compared_as_their_rows_are(given_rows: list[tuple[float, float, int]]) -> None:
    values = values_of(given_rows)
    run = ranked_run(1)
    at_once = Columns(replace(run, rows=values), {"ndcg@5": "ndcg@5"})
    one_by_one = Columns(replace(run, rows=list(values)), {"ndcg@5": "ndcg@5"})
    assert at_once.ids == one_by_one.ids
    assert at_once.queries == one_by_one.queries
    places = np.arange(len(values))
    one, other = at_once.metrics["ndcg@5"], one_by_one.metrics["ndcg@5"]
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
