import pytest

from ragstone.metrics import F1
from ragstone.types.rankings import Denominator, Rankings
from ragstone.types.score import Score

# Relevant are a, b and c.           F1 = 2PR / (P + R)
#   q1  a x b y   k=2: P 1/2, R 1/3: 2/6 / 5/6   = 2/5
#                 k=5: P 2/5, R 2/3: 8/15 / 16/15 = 1/2;  of 4 returned: P 2/4: 2/3 / 7/6 = 4/7
#   q2  a b c     k=2: P 1,   R 2/3: 4/3 / 5/3   = 4/5
#                 k=5: P 3/5, R 1:   6/5 / 8/5   = 3/4;   of 3 returned: P 1: 1
#   q3  x         P 0, R 0: 0
#   q4  (none)    P 0, R 0: 0
RANKINGS = Rankings.of(
    ["a x b y".split(), "a b c".split(), ["x"], []], [{"a": 1, "b": 2, "c": 1, "x": 0}] * 4
)


@pytest.mark.parametrize(
    ("k", "denominator", "values"),
    [
        (2, "k", [2 / 5, 4 / 5, 0, 0]),
        (2, "retrieved", [2 / 5, 4 / 5, 0, 0]),
        (5, "k", [1 / 2, 3 / 4, 0, 0]),
        (5, "retrieved", [4 / 7, 1, 0, 0]),
    ],
)
def test_the_worked_example(k: int, denominator: Denominator, values: list[float]) -> None:
    assert F1(k=k, denominator=denominator).values(RANKINGS) == pytest.approx(values, abs=1e-12)


def test_the_mean_is_of_the_queries_not_of_mean_precision_and_recall() -> None:
    """P 1, R 1/2 and P 0, R 0 are F1 2/3 and 0: the mean is 1/3, not F1 of P 1/2 and R 1/4."""
    rankings = Rankings.of([["a"], ["x"]], [{"a": 1, "b": 1}] * 2)
    assert F1(k=1).values(rankings).mean() == pytest.approx(1 / 3, abs=1e-12)


def test_copies_do_not_make_it_exceed_1() -> None:
    assert F1(k=3).values(Rankings.of([["a", "a", "a"]], [{"a": 1}])) == pytest.approx([0.5])


def test_details_are_those_of_every_ranking_metric() -> None:
    assert F1(k=3).scores(RANKINGS)[0].detail == {
        "first_hit_rank": 1,
        "hits": 2,
        "retrieved": 3,
        "relevant": 3,
        "precision": pytest.approx(2 / 3),
        "recall": pytest.approx(2 / 3),
    }


def test_the_summary_has_the_means_it_is_made_of() -> None:
    scores = [*F1(k=3).scores(RANKINGS), Score.undefined("the row has no relevance")]
    details = [score.detail for score in scores if score.value is not None]
    extra = F1(k=3).summarise(scores)
    for name in ("precision", "recall"):
        assert extra[f"Avg {name.title()}"] == pytest.approx(
            sum(float(detail[name] or 0) for detail in details) / len(details)
        )
    assert F1().summarise([])["Avg Recall"] is None
