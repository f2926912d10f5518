from math import log2

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.metrics import NDCG, get
from ragstone.types.rankings import Rankings

# Grades: a 3, b 2, c 1, x 0, w -1; y is not judged. The discounts of ranks 1 to 4: 1, log2 3, 2,
# log2 5. The best order is a b c.
#   q1  a b c x   the best order: 1
#   q2  b y a w   2 + 0 + 3/2
#   q3  c         1; the list ends
#   q4  x y w     0
#   q5  (none)    0
RANKINGS = Rankings.of(
    ["a b c x".split(), "b y a w".split(), ["c"], "x y w".split(), []],
    [{"a": 3, "b": 2, "c": 1, "x": 0, "w": -1}] * 5,
)
BEST_2, BEST = 3 + 2 / log2(3), 3 + 2 / log2(3) + 1 / 2
STEEP = 7 + 3 / log2(3) + 1 / 2


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("ndcg@2", [1, 2 / BEST_2, 1 / BEST_2, 0, 0]),
        ("ndcg@5", [1, (2 + 3 / 2) / BEST, 1 / BEST, 0, 0]),
        ("ndcg@5,gain=exponential", [1, (3 + 7 / 2) / STEEP, 1 / STEEP, 0, 0]),
    ],
)
def test_the_worked_example(name: str, values: list[float]) -> None:
    metric = get(name)
    assert isinstance(metric, NDCG)
    assert metric.values(RANKINGS).tolist() == pytest.approx(values, abs=1e-12)


def test_linear_is_what_it_is_unless_said() -> None:
    assert get("ndcg") == NDCG(k=5, gain="linear")
    assert str(NDCG(k=3, gain="exponential")) == "ndcg@3,gain=exponential"
    with pytest.raises(UsageError, match="gain"):
        get("ndcg,gain=steep")


@each_case("gain", ["linear", "exponential"])
@each_case("grade", [1e-300, 0.5, 1, 5000, 1e308])
def test_a_grade_may_be_as_high_as_numbers_go(gain: str, grade: float) -> None:
    rankings = Rankings.of([["x", "a", "b"]], [{"a": grade, "b": grade}])
    best = 1 + 1 / log2(3)
    values = NDCG(k=5, gain=gain).values(rankings).tolist()  # type: ignore[arg-type]
    assert values == pytest.approx([(1 / log2(3) + 1 / 2) / best])


def test_nothing_relevant_is_0() -> None:
    assert NDCG().values(Rankings.of([["x"], ["x"]], [{"x": 0}, {"x": -2}])).tolist() == [0, 0]


def test_no_queries_are_no_values() -> None:
    assert NDCG().values(Rankings.of([], [])).tolist() == []
