"""What becomes of a test: one pytest session with a test of every kind, against judges offline."""

from collections.abc import Mapping
from typing import Any

import pytest
from tests.cases import each_case

TESTS = """
import asyncio

import pytest

from ragstone.errors import Cause
from ragstone.types.reply import Failure
from ragstone.integrations.pytest.plugin import assert_faithful, assert_sample
from ragstone.judges.base import ScriptedJudge

GUIDE = ["The battery charges to 50 percent in 22 minutes.", "The case is made of ash wood."]
RIGHT = {"query": "Wood?", "response": "The case is made of ash wood.", "contexts": GUIDE}
WRONG = RIGHT | {"response": "The battery charges to 50 percent in 30 minutes."}
SILENT = RIGHT | {"response": "I do not know."}
FAULT = Failure(Cause.TIMEOUT, "no answer within 60 s")
BROKEN = ScriptedJudge({"extract_claims": FAULT, "verify_claims": FAULT})
marked = pytest.mark.rag(metric="faithfulness", fail_under=0.8)


def test_right():
    assert_faithful("The case is made of ash wood.", GUIDE)

def test_wrong():
    assert_faithful("The battery charges to 50 percent in 30 minutes.", GUIDE)

def test_one_text_is_one_context():
    row = assert_faithful("The case is made of ash wood.", GUIDE[1])
    assert [context.text for context in row.sample.contexts] == [GUIDE[1]]

def test_no_contexts():
    assert_faithful("The case is made of ash wood.", None)

def test_metrics_with_thresholds(evaluate_sample):
    evaluate_sample(RIGHT, metrics={"faithfulness": 0.5})

def test_too_high():
    assert_sample(WRONG, {"hallucination": 0})

def test_undefined():
    assert_sample(SILENT, {"faithfulness": 0})

def test_no_such_metric():
    assert_sample(RIGHT, {"faithfulnes": 0.5})

def test_judge_fails():
    assert_sample(RIGHT, {"faithfulness": 0}, judge=BROKEN)

def test_made_up():
    assert_sample(RIGHT, {"faithfulness": 0.1}, judge=BROKEN, policy="promptfoo-plan")

async def test_right_in_a_loop():
    assert_faithful("The case is made of ash wood.", GUIDE)
    await asyncio.to_thread(assert_faithful, "The case is made of ash wood.", GUIDE)

@marked
async def test_marked_wrong(evaluate_sample):
    evaluate_sample(WRONG)

@marked
def test_marked_and_forgotten():
    pass

@pytest.mark.rag(metric="faithfulness", fail_over=0.8)
def test_marked_the_wrong_way(evaluate_sample):
    evaluate_sample(WRONG)

@marked
class TestOfAClass:
    @pytest.mark.rag(metric="faithfulness", fail_under=0)
    def test_the_nearest_mark_counts(self, evaluate_sample):
        evaluate_sample(WRONG)

    @pytest.mark.rag(metric="hallucination", fail_over=0)
    def test_two_marks(self, evaluate_sample):
        evaluate_sample(WRONG)

def test_retrieval(evaluate_sample):
    ids = [{"id": "a"}, {"id": "b"}]
    row = evaluate_sample({"query": "q", "ranking": ids, "relevance": ["b"]}, metrics="hit@1")
    assert row.scores["hit@1"].value == 0

def test_a_function_under_test(evaluate_sample):
    def answer(query):
        return {"response": "The case is made of ash wood.", "contexts": GUIDE}

    marks = {"faithfulness": 1}
    evaluate_sample({"query": "Wood?"}, target=answer, metrics=["faithfulness"], fail_under=marks)
"""
EXPECTED: Mapping[str, tuple[str, str]] = {
    "test_right": ("passed", ""),
    "test_wrong": ("failure", "faithfulness 0.0000 is not >= 1 (0 of 1 claim supported)"),
    "test_one_text_is_one_context": ("passed", ""),
    "test_no_contexts": ("failure", "UsageError: cannot run faithfulness: no row has contexts"),
    "test_metrics_with_thresholds": ("failure", "pass those as fail_under={'faithfulness': 0.5}"),
    "test_too_high": ("failure", "hallucination 1.0000 is not <= 0"),
    "test_undefined": ("failure", "faithfulness is undefined, so >= 0 cannot be checked: the resp"),
    "test_no_such_metric": ("failure", "there is no metric named 'faithfulnes'; did you mean"),
    "test_judge_fails": ("failure", "ScoreMissingError: faithfulness has no score, timed out: no"),
    "test_made_up": ("failure", "faithfulness:promptfoo-plan 0.5000 was imputed by the policy"),
    "test_right_in_a_loop": ("passed", ""),
    "test_marked_wrong": ("failure", "faithfulness 0.0000 is not >= 0.8"),
    "test_marked_and_forgotten": ("failure", "rag(metric='faithfulness') but evaluated no sample"),
    "test_marked_the_wrong_way": ("failure", "higher is better for faithfulness; use "),
    "test_the_nearest_mark_counts": ("passed", ""),
    "test_two_marks": ("failure", "hallucination 1.0000 is not <= 0"),
    "test_retrieval": ("passed", ""),
    "test_a_function_under_test": ("passed", ""),
}


@pytest.fixture(scope="module")
def ran(lasting_project: Any) -> Any:
    lasting_project.write("test_kinds.py", TESTS)
    return lasting_project.run()


@each_case("name", EXPECTED)
def test_outcome(ran: Any, name: str) -> None:
    assert ran.outcomes.keys() == EXPECTED.keys(), ran.text
    outcome, said = EXPECTED[name]
    assert ran.outcomes[name][0] == outcome, ran.text
    assert said in ran.outcomes[name][1]


def test_a_traceback_ends_in_the_users_own_line(ran: Any) -> None:
    assert "src/ragstone" not in ran.text
    assert "test_kinds.py:24: AssertionError" in ran.text
    assert '>       assert_sample(RIGHT, {"faithfulness": 0}, judge=BROKEN)' in ran.text
