"""What the marks `rag` of a test come to."""

import json
import re
from typing import Any

import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.integrations.pytest.session import (
    keywords_of,
    merge_marks,
    split_thresholds,
    worker_share,
)
from ragstone.types.config import Plan


def test_a_later_mark_goes_before_an_earlier_one() -> None:
    assert merge_marks([]) == {}
    options = merge_marks([{"metric": ["hit@5", "mrr"], "fail_under": 0.5}])
    assert options == {"metrics": ["hit@5", "mrr"], "fail_under": {"hit@5": 0.5, "mrr": 0.5}}
    marks = [
        {"metric": "faithfulness", "fail_under": 0.5, "policy": "ragas"},
        {"metric": "faithfulness", "fail_under": 0.9},
        {"metric": "faithfulness"},
        {"metric": "hallucination", "fail_over": "10%"},
    ]
    assert merge_marks(marks) == {
        "metrics": ["faithfulness", "hallucination"],
        "fail_under": {"faithfulness": 0.9},
        "fail_over": {"hallucination": "10%"},
        "policy": "ragas",
    }
    coverage = {"faithfulness": 1}
    covered = merge_marks([{"metric": "faithfulness", "min_coverage": coverage}])
    assert covered["min_coverage"] == coverage


@each_case("mark", [{}, {"metric": []}, {"metric": 5}, {"metric": [5]}, {"fail_under": 0.8}])
def test_a_mark_names_a_metric(mark: dict[str, object]) -> None:
    with pytest.raises(UsageError, match="the marker rag needs a metric"):
        merge_marks([mark])


def test_an_unknown_keyword_of_a_mark_is_refused() -> None:
    mark = {"metric": "faithfulness", "fail_undr": 0.8}
    message = "no keyword of the marker rag named 'fail_undr'; did you mean 'fail_under'?"
    with pytest.raises(UsageError, match=re.escape(message)):
        merge_marks([mark])


@each_case("also", [{}, {"fail_under": None}, {"min_coverage": 1}, {"policy": "ragas"}])
def test_a_mark_that_demands_nothing_is_refused(also: dict[str, object]) -> None:
    marks = [{"metric": "hit@5", "fail_under": 1}, {"metric": "faithfulness", **also}]
    with pytest.raises(UsageError, match="no marker sets a threshold for faithfulness: add fail_u"):
        merge_marks(marks)


def test_a_mark_says_all_by_name() -> None:
    with pytest.raises(UsageError, match=r"keyword arguments only: .*; got 'hallucination'"):
        keywords_of(pytest.mark.rag("hallucination", metric="faithfulness").mark)
    assert keywords_of(pytest.mark.rag(metric="mrr").mark) == {"metric": "mrr"}


def test_where_lower_is_better_a_mark_is_the_most() -> None:
    options = split_thresholds({"faithfulness": 0.8, "hallucination": 0.1}, {})
    assert options["fail_under"] == {"faithfulness": 0.8}
    assert options["fail_over"] == {"hallucination": 0.1}


@each_case("marks", [{}, ["faithfulness"], "faithfulness", None, {5: 0.8}])
def test_marks_of_nothing_are_refused(marks: Any) -> None:
    with pytest.raises(UsageError, match="expected metrics with thresholds"):
        split_thresholds(marks, {})


# Tests of a file's rows: each comes to what it would in a run of the whole file.


TESTS = """
import pytest
from ragstone.integrations.pytest.plugin import assert_sample

@pytest.mark.rag_dataset("FILE")
def test_answer(sample):
    assert_sample(sample, {"faithfulness": 0.8})

@pytest.mark.rag_dataset("FILE")
def test_answered_now(sample):
    filled = {"response": "It is of ash wood.", "contexts": ["It is of ash wood."]}
    assert_sample({"query": sample.query, **filled}, {"faithfulness": 0.8})
"""
LATE = "no reply within 60 s; raise the timeout"


def saved(*rows: dict[str, object]) -> str:
    """Return a file of saved responses."""
    responses = [{"query_index": n, "query": "Of what?", **row} for n, row in enumerate(rows)]
    return json.dumps({"metadata": {"mode": "chat"}, "responses": responses})


def test_a_row_whose_call_failed_says_why(project: Any) -> None:
    late = {"response": None, "retrieved_contexts": None, "error": LATE}
    fine = {"response": "It is of ash wood.", "retrieved_contexts": ["Ash."]}
    project.write("answers.json", saved(late, fine))
    project.write("test_it.py", TESTS.replace("FILE", "answers.json"))
    ran = project.run()
    outcome, said = ran.outcomes["test_answer[1]"]
    assert outcome == "failure"
    assert f"timed out: the file records a failed call: {LATE}" in said
    assert "faithfulness failed, timed out: 1" in ran.summary
    assert ran.outcomes["test_answered_now[1]"][0] == "passed"


# Limits: each of xdist's workers has its part, and all together keep the whole.


PLAN = Plan(max_calls=5, max_cost=0.3)


@each_case(("count", "calls"), [(1, [5]), (2, [3, 2]), (7, [1, 1, 1, 1, 1, 0, 0])])
def test_the_parts_are_the_whole(count: int, calls: list[int]) -> None:
    parts = [worker_share(PLAN, {"workerid": f"gw{n}", "workercount": count}) for n in range(count)]
    assert [part.max_calls for part in parts] == calls
    assert sum(part.max_cost or 0 for part in parts) == pytest.approx(0.3)


def test_workers_with_names_of_their_own_keep_it_too() -> None:
    names = ["x", "gw0", "left-1"]
    parts = [worker_share(PLAN, {"workerid": name, "workercount": 3}) for name in names]
    assert [part.max_calls for part in parts] == [1, 2, 1]
    assert worker_share(PLAN, {}) == PLAN
    without = worker_share(Plan(), {"workerid": "gw1", "workercount": 2})
    assert without.max_calls is without.max_cost is None
