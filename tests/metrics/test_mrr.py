import pytest

from ragstone.metrics import MRR
from ragstone.types.rankings import Rankings
from ragstone.types.score import Score

# Relevant are a and b.
#   q1  a b x     first at 1: 1
#   q2  x b a     first at 2: 1/2
#   q3  x y z a   first at 4: 1/4, and 0 where k < 4
#   q4  x y       0
#   q5  (none)    0
RANKINGS = Rankings.of(
    ["a b x".split(), "x b a".split(), "x y z a".split(), "x y".split(), []],
    [{"a": 1, "b": 1, "x": 0}] * 5,
)


@pytest.mark.parametrize(
    ("k", "values"),
    [(1, [1, 0, 0, 0, 0]), (3, [1, 1 / 2, 0, 0, 0]), (5, [1, 1 / 2, 1 / 4, 0, 0])],
)
def test_the_worked_example(k: int, values: list[float]) -> None:
    assert MRR(k=k).values(RANKINGS).tolist() == values


def test_a_copy_above_takes_no_rank() -> None:
    assert MRR(k=2).values(Rankings.of([["x", "x", "a"]], [{"a": 1}])).tolist() == [1 / 2]


def test_details_say_the_rank() -> None:
    ranks = [score.detail["first_hit_rank"] for score in MRR(k=5).scores(RANKINGS)]
    assert ranks == [1, 2, 4, None, None]


def test_the_summary_counts_where_the_first_was_found() -> None:
    scores = [*MRR(k=3).scores(RANKINGS), *[Score.undefined("the row has no relevance")] * 2]
    assert MRR(k=3).summarise(scores) == {
        "Found in Top-K": 2,
        "Not Found": 3,
        "Rank 1 (Perfect)": 1,
        "Perfect Queries": 1,
        "Zero Queries": 3,
        "Nothing Relevant": 0,
    }
