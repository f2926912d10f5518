import pytest

from ragstone.errors import UsageError
from ragstone.metrics import RPrecision, get
from ragstone.types.rankings import Rankings

# Relevant are a, b and c, so R is 3; x is judged not relevant, y is not judged.
#   q1  c a b x   3 of the first 3: 1
#   q2  x a y b   a of the first 3: 1/3
#   q3  a         the list ends: 1/3
#   q4  x y       0
#   q5  (none)    0
#   q6  x a       with a alone relevant R is 1: 0
RANKINGS = Rankings.of(
    ["c a b x".split(), "x a y b".split(), ["a"], ["x", "y"], [], ["x", "a"]],
    [{"a": 3, "b": 1, "c": 1, "x": 0}] * 5 + [{"a": 1}],
)


def test_the_worked_example() -> None:
    values = RPrecision().values(RANKINGS).tolist()
    assert values == pytest.approx([1, 1 / 3, 1 / 3, 0, 0, 0])


def test_a_copy_above_takes_no_rank() -> None:
    rankings = Rankings.of([["a", "a", "b"]], [{"a": 1, "b": 1}])
    assert RPrecision().values(rankings).tolist() == [1]


def test_nothing_relevant_is_0() -> None:
    assert RPrecision().values(Rankings.of([["x"]], [{"x": 0}])).tolist() == [0]


def test_it_has_no_cut_off_of_its_own() -> None:
    assert str(get("r_precision", k=3)) == "r_precision"
    with pytest.raises(UsageError, match="no parameter k"):
        get("r_precision@5")


def test_the_precision_beside_it_is_of_what_came_back() -> None:
    shares = [score.detail["precision"] for score in RPrecision().scores(RANKINGS)]
    assert shares == [3 / 4, 1 / 2, 1, 0, 0, 1 / 2]
