import json
import math

from tests.cases import count_scores, each_case

from ragstone.errors import Cause
from ragstone.types.score import Score, Summary

TIMEOUT = Score.failed(Cause.TIMEOUT, "no reply within 30 s")
UNDEFINED = Score.undefined("the row has no relevance")


def scored(*values: float, **more: object) -> list[Score]:
    return [Score.scored(value).model_copy(update=more) for value in values]


def test_a_detail_that_is_no_number_is_none() -> None:
    detail = Score.scored(1, detail={"x": math.nan, "y": -math.inf, "z": 2, "w": "NaN"}).detail
    assert detail == {"x": None, "y": None, "z": 2, "w": "NaN"}


def test_nothing_unscored_is_averaged() -> None:
    refusal = Score.failed(Cause.REFUSAL, "no")
    scores = [*scored(1, 0, 0.5), *scored(0.5, fallback=True), *[TIMEOUT] * 2, refusal, UNDEFINED]
    summary = count_scores(scores).summary({"Hits": 3, "Ratio": math.nan})
    assert (summary.mean, summary.low, summary.high, summary.flagged) == (0.5, 0, 1, 1)
    assert (summary.n, summary.scored, summary.undefined, summary.failed) == (8, 4, 1, 3)
    assert summary.causes == {"timeout": 2, "refusal": 1}
    assert summary.extra == {"Hits": 3, "Ratio": None}
    marks = [*scored(1, 1, passed=True), *scored(1, passed=False), *scored(1)]
    assert count_scores(marks).summary().pass_rate == 2 / 3
    one = count_scores([*scored(0.7), UNDEFINED]).summary()
    assert (one.mean, one.interval) == (0.7, None)


@each_case("scores", [[], [TIMEOUT], [UNDEFINED, TIMEOUT]])
def test_a_mean_over_nothing_is_none(scores: list[Score]) -> None:
    summary = count_scores(scores).summary()
    assert (summary.mean, summary.interval, summary.low, summary.high) == (None,) * 4
    assert (summary.pass_rate, summary.n, summary.scored) == (None, len(scores), 0)


def test_the_interval_is_of_the_scored_ones_and_the_same_each_time() -> None:
    scores = scored(*[1, 0] * 20)
    interval = count_scores(scores).summary().interval
    assert interval is not None
    assert interval[0] < 0.5 < interval[1]
    assert count_scores([*scores, TIMEOUT, UNDEFINED]).summary().interval == interval


def test_a_summary_is_json_without_nan() -> None:
    for scores in ([], [TIMEOUT], scored(0.5), [*scored(0, 1), UNDEFINED]):
        summary = count_scores(scores).summary({"Hits": 1})
        text = json.dumps(summary.model_dump(mode="json"), allow_nan=False)
        assert Summary.model_validate(json.loads(text)) == summary
