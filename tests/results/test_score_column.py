from ragstone.errors import Cause
from ragstone.results.metric_summary import ScoreColumn
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.score import Score

CLAIM = JudgedClaim(
    text="so", span=None, label=Label.SUPPORTED, reason=None, confidence=None, evidence=()
)


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
    column = ScoreColumn()
    for place in range(100):
        column.add(place, Score.scored(place % 2, claims=[CLAIM]))
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
