"""What the marks `rag` of a test come to."""

from typing import Any

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.integrations.pytest.markers import joined, said_by, sided


@pytest.mark.parametrize(
    ("marks", "options"),
    [
        ([], {}),
        (
            [{"metric": ["hit@5", "mrr"], "fail_under": 0.5}],
            {"metrics": ["hit@5", "mrr"], "fail_under": {"hit@5": 0.5, "mrr": 0.5}},
        ),
        (
            [
                {"metric": "faithfulness", "fail_under": 0.5, "policy": "ragas"},
                {"metric": "faithfulness", "fail_under": 0.9},
                {"metric": "faithfulness"},
                {"metric": "hallucination", "fail_over": "10%"},
            ],
            {
                "metrics": ["faithfulness", "hallucination"],
                "fail_under": {"faithfulness": 0.9},
                "fail_over": {"hallucination": "10%"},
                "policy": "ragas",
            },
        ),
    ],
)
def test_a_later_mark_goes_before_an_earlier_one(
    marks: list[dict[str, object]], options: dict[str, object]
) -> None:
    assert joined(marks) == options


@each_case("mark", [{}, {"metric": []}, {"metric": 5}, {"metric": [5]}, {"fail_under": 0.8}])
def test_a_mark_names_a_metric(mark: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="the mark rag says which metric"):
        joined([mark])


@pytest.mark.parametrize(
    "also", [{}, {"fail_under": None}, {"min_coverage": 1}, {"policy": "ragas"}]
)
def test_a_mark_that_demands_nothing_is_refused(also: dict[str, object]) -> None:
    marks = [{"metric": "hit@5", "fail_under": 1}, {"metric": "faithfulness", **also}]
    with pytest.raises(UsageError, match="no mark rag says what faithfulness has to reach: fail_u"):
        joined(marks)


def test_a_share_of_rows_is_a_demand_too() -> None:
    mark = {"metric": "faithfulness", "min_coverage": {"faithfulness": 1}}
    assert joined([mark])["min_coverage"] == {"faithfulness": 1}


def test_a_mark_says_all_by_name() -> None:
    with pytest.raises(UsageError, match=r"says all by name: .*; 'hallucination' has none"):
        said_by(pytest.mark.rag("hallucination", metric="faithfulness").threshold)
    assert said_by(pytest.mark.rag(metric="mrr").threshold) == {"metric": "mrr"}


def test_where_lower_is_better_a_mark_is_the_most() -> None:
    options = sided({"faithfulness": 0.8, "hallucination": 0.1}, {})
    assert options["fail_under"] == {"faithfulness": 0.8}
    assert options["fail_over"] == {"hallucination": 0.1}


@pytest.mark.parametrize("marks", [{}, ["faithfulness"], "faithfulness", None, {5: 0.8}])
def test_marks_of_nothing_are_refused(marks: Any) -> None:
    with pytest.raises(UsageError, match="say which metrics"):
        sided(marks, {})
