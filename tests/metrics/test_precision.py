import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone.metrics import Precision
from ragstone.types.rankings import Denominator, Rankings

# Relevant are a, b and c.
#   q1  a x b y   k=1: 1/1   k=2: 1/2   k=3: 2/3   k=5: 2/5, or 2/4 of what came back
#   q2  a b       k=1: 1/1   k=2: 2/2   k=3: 2/3   k=5: 2/5, or 2/2
#   q3  x         0
#   q4  (none)    0; nothing came back, so nothing that came back is relevant
RANKINGS = Rankings.of(
    ["a x b y".split(), "a b".split(), ["x"], []], [{"a": 1, "b": 2, "c": 1, "x": 0}] * 4
)


@each_case(
    ("k", "denominator", "values"),
    [
        (1, "k", [1, 1, 0, 0]),
        (2, "k", [1 / 2, 1, 0, 0]),
        (3, "k", [2 / 3, 2 / 3, 0, 0]),
        (5, "k", [2 / 5, 2 / 5, 0, 0]),
        (1, "retrieved", [1, 1, 0, 0]),
        (3, "retrieved", [2 / 3, 2 / 2, 0, 0]),
        (5, "retrieved", [2 / 4, 2 / 2, 0, 0]),
    ],
)
def test_the_worked_example(k: int, denominator: Denominator, values: list[float]) -> None:
    assert Precision(k=k, denominator=denominator).values(RANKINGS).tolist() == values


@pytest.mark.parametrize(("denominator", "value"), [("k", 2 / 4), ("retrieved", 2 / 3)])
def test_a_copy_is_no_document_that_came_back(denominator: Denominator, value: float) -> None:
    rankings = Rankings.of([["a", "a", "x", "b"]], [{"a": 1, "b": 1}])
    assert Precision(k=4, denominator=denominator).values(rankings).tolist() == [value]


def test_k_is_the_denominator_unless_said() -> None:
    assert Precision() == Precision(k=5, denominator="k")


def test_another_denominator_is_refused() -> None:
    with pytest.raises(ValidationError):
        Precision(denominator="relevant")  # type: ignore[arg-type]


def test_the_summary_counts_both_ends() -> None:
    metric = Precision(k=2)
    assert metric.summarise(metric.scores(RANKINGS)) == {
        "Perfect Queries": 1,
        "Zero Queries": 2,
        "Nothing Relevant": 0,
    }
