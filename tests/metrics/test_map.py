import pytest

from ragstone.metrics import MAP
from ragstone.types.rankings import Rankings

# Relevant are a, b and c; x is judged not relevant, y and z are not judged.
#   q1  a b c x   1/1 + 2/2 + 3/3                 of 3: 1
#   q2  x a y b   1/2 at 2, 2/4 at 4; c never     of 3: 1/3, and 1/6 where k < 4
#   q3  c         1/1; the list ends              of 3: 1/3
#   q4  x y z     0
#   q5  (none)    0
RANKINGS = Rankings.of(
    ["a b c x".split(), "x a y b".split(), ["c"], "x y z".split(), []],
    [{"a": 3, "b": 1, "c": 1, "x": 0}] * 5,
)


@pytest.mark.parametrize(
    ("k", "values"),
    [
        (1, [1 / 3, 0, 1 / 3, 0, 0]),
        (3, [1, 1 / 6, 1 / 3, 0, 0]),
        (5, [1, 1 / 3, 1 / 3, 0, 0]),
    ],
)
def test_the_worked_example(k: int, values: list[float]) -> None:
    assert MAP(k=k).values(RANKINGS).tolist() == pytest.approx(values, abs=1e-12)


def test_it_divides_by_all_relevant_though_k_is_less() -> None:
    assert MAP(k=2).values(RANKINGS)[0] == pytest.approx(2 / 3)


def test_a_copy_above_takes_no_rank() -> None:
    assert MAP(k=2).values(Rankings.of([["x", "x", "a"]], [{"a": 1}])).tolist() == [1 / 2]


def test_nothing_relevant_is_0() -> None:
    assert MAP(k=2).values(Rankings.of([["x"]], [{"x": 0}])).tolist() == [0]
