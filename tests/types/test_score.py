import json
import math
from collections.abc import Sequence

import pytest
from pydantic import ValidationError
from tests.cases import count_scores, each_case

from ragstone.errors import Cause
from ragstone.types.claim import Claim, JudgedClaim, Label, Verdict
from ragstone.types.score import MetricInfo, Score, State, Summary

TIMEOUT = Score.failed(Cause.TIMEOUT, "no reply within 30 s")
UNDEFINED = Score.undefined("the row has no relevance")


def scored(*values: float) -> list[Score]:
    return [Score.scored(value) for value in values]


def marked(passes: Sequence[bool | None]) -> list[Score]:
    return [Score.scored(1).model_copy(update={"passed": passed}) for passed in passes]


def test_a_scored_score_has_a_number() -> None:
    score = Score.scored(0, detail={"hits": 0})
    assert (score.state, score.value, score.detail) == (State.SCORED, 0.0, {"hits": 0})
    assert (score.reason, score.cause, score.claims, score.fallback) == (None, None, (), False)


def test_an_undefined_score_has_a_reason_only() -> None:
    assert (UNDEFINED.state, UNDEFINED.value, UNDEFINED.cause) == ("undefined", None, None)
    assert UNDEFINED.reason == "the row has no relevance"


def test_a_failed_score_has_its_cause() -> None:
    assert (TIMEOUT.state, TIMEOUT.value, TIMEOUT.cause) == ("failed", None, "timeout")


@each_case("value", [math.nan, math.inf, -math.inf])
@each_case("state", list(State))
def test_no_state_holds_what_is_no_number(state: State, value: float) -> None:
    cause = Cause.TIMEOUT if state is State.FAILED else None
    with pytest.raises(ValidationError):
        Score(state=state, value=value, cause=cause)
    with pytest.raises(ValidationError):
        Score.scored(value)


@pytest.mark.parametrize("mark", [math.nan, math.inf])
def test_a_mark_is_a_number(mark: float) -> None:
    with pytest.raises(ValidationError):
        Score(state=State.SCORED, value=1, threshold=mark)


@each_case(
    ("state", "value", "cause"),
    [
        ("scored", None, None),
        ("scored", 1.0, "timeout"),
        ("undefined", 0.0, None),
        ("undefined", None, "timeout"),
        ("failed", None, None),
        ("failed", 0.0, "timeout"),
    ],
)
def test_states_are_consistent(state: State, value: float | None, cause: Cause | None) -> None:
    with pytest.raises(ValidationError, match="cannot have the"):
        Score(state=state, value=value, cause=cause)


def test_a_detail_that_is_no_number_is_none() -> None:
    detail = Score.scored(1, detail={"x": math.nan, "y": -math.inf, "z": 2, "w": "NaN"}).detail
    assert detail == {"x": None, "y": None, "z": 2, "w": "NaN"}


def test_a_score_is_frozen() -> None:
    score = Score.scored(1)
    with pytest.raises(ValidationError, match="frozen"):
        score.value = 0.5  # type: ignore[misc]
    with pytest.raises(TypeError):
        score.detail["x"] = 1  # type: ignore[index]


def test_a_score_is_json_and_back() -> None:
    claim = JudgedClaim.of(Claim(text="x", span=(0, 1)), Verdict(label=Label.SUPPORTED))
    for score in (Score.scored(0.5, detail={"n": 1}, claims=[claim]), TIMEOUT, UNDEFINED):
        text = json.dumps(score.model_dump(mode="json"), allow_nan=False)
        assert Score.model_validate(json.loads(text)) == score


def test_nothing_unscored_is_averaged() -> None:
    summary = count_scores([*scored(1, 0, 0.5), TIMEOUT, UNDEFINED, UNDEFINED]).summary()
    assert summary.mean == 0.5
    assert (summary.n, summary.scored, summary.undefined, summary.failed) == (6, 3, 2, 1)
    assert (summary.low, summary.high) == (0, 1)
    assert summary.causes == {"timeout": 1}


@pytest.mark.parametrize("scores", [[], [TIMEOUT], [UNDEFINED, TIMEOUT]])
def test_a_mean_over_nothing_is_none(scores: list[Score]) -> None:
    summary = count_scores(scores).summary()
    assert (summary.mean, summary.interval, summary.low, summary.high) == (None,) * 4
    assert summary.pass_rate is None
    assert (summary.n, summary.scored) == (len(scores), 0)


def test_one_value_has_a_mean_and_no_interval() -> None:
    summary = count_scores([*scored(0.7), UNDEFINED]).summary()
    assert (summary.mean, summary.interval) == (0.7, None)


def test_the_interval_is_of_the_scored_ones_and_the_same_each_time() -> None:
    scores = scored(*[1, 0] * 20)
    interval = count_scores(scores).summary().interval
    assert interval is not None
    assert interval[0] < 0.5 < interval[1]
    assert count_scores([*scores, TIMEOUT, UNDEFINED]).summary().interval == interval


def test_failed_ones_are_counted_by_cause() -> None:
    refusal = Score.failed(Cause.REFUSAL, "no")
    assert count_scores([TIMEOUT, refusal, TIMEOUT]).summary().causes == {
        "timeout": 2,
        "refusal": 1,
    }


def test_the_pass_rate_is_of_those_with_a_mark() -> None:
    assert count_scores(marked([True, False, None, True, None])).summary().pass_rate == 2 / 3
    assert count_scores(marked([None])).summary().pass_rate is None


def test_made_up_numbers_are_counted() -> None:
    flagged = Score.scored(0.5).model_copy(update={"fallback": True})
    assert count_scores([flagged, *scored(1, 1)]).summary().flagged == 1


def test_extra_figures_are_kept_and_are_no_nan() -> None:
    assert count_scores([]).summary({"Hits": 3, "Ratio": math.nan}).extra == {
        "Hits": 3,
        "Ratio": None,
    }


def test_a_summary_is_json_without_nan() -> None:
    for scores in ([], [TIMEOUT], scored(0.5), [*scored(0, 1), UNDEFINED]):
        summary = count_scores(scores).summary({"Hits": 1})
        text = json.dumps(summary.model_dump(mode="json"), allow_nan=False)
        assert Summary.model_validate(json.loads(text)) == summary


def test_a_mean_does_not_depend_on_the_order_of_the_sum() -> None:
    values = [0.1] * 9 + [1e-9, 0.7]
    assert (
        count_scores(scored(*values)).summary().mean
        == count_scores(scored(*reversed(values))).summary().mean
    )


def test_a_metric_says_which_way_is_better() -> None:
    info = MetricInfo(name="x", label="X", family="retrieval", description="")
    assert (info.low, info.high, info.higher_is_better, info.needs) == (0, 1, True, ())
