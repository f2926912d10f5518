import pytest
from tests.results.conftest import Runs

from ragstone.errors import Cause
from ragstone.results.metric_summary import MOST, OTHERS, MetricSummaryBuilder, ScoreColumn
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


@pytest.mark.parametrize("ranked", [True, False])
def test_contexts_read_in_place_of_a_ranking_are_counted(ranked: bool) -> None:
    graded = Score.scored(1, detail={"graded": "contexts"})
    assert added(Score.scored(1), graded, ranked=ranked).unranked == (1 if ranked else 2)


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


def test_scores_come_back_in_the_order_of_their_places() -> None:
    column = ScoreColumn()
    scores = {
        3: Score.scored(0.5, detail={"rank": 2}),
        0: Score.scored(0.5, detail={"rank": 1}),
        2: Score.undefined("nothing asked"),
        1: Score.failed(Cause.TIMEOUT, "late"),
    }
    for place, score in scores.items():
        column.add(place, score)
    assert column.in_order() == [scores[place] for place in range(4)]
    assert ScoreColumn().in_order() == []


def test_equal_scores_are_kept_once_and_without_claims() -> None:
    column, claim = ScoreColumn(), Runs.claim("so", Label.SUPPORTED)
    for place in range(100):
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
