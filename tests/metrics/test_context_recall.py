from typing import Any

import pytest
from tests.cases import each_case

from ragstone.metrics.claims import ContextRecall
from ragstone.types.policy import POLICIES
from ragstone.types.questions import VerifyClaims


async def test_the_worked_example(checks: Any) -> None:
    """Two of the reference's five claims stand in the contexts: 2/5."""
    made = checks(reference_in_contexts="S1 N C2 S3 P1")
    score = await made.score(ContextRecall())
    assert score.value == 0.4
    assert made.kinds == ["extract_claims", "verify_claims"]
    assert made.judge.asked[0].response == "What is right."
    assert made.judge.asked[1].contexts == ("one", "two", "three")


async def test_facts_that_the_row_lists_are_the_claims(checks: Any) -> None:
    made = checks(reference_in_contexts="S N")
    facts = ("right a", "right b")
    score = await made.score(ContextRecall(), reference_claims=facts, response=None)
    assert score.value == 0.5
    assert made.judge.asked == [VerifyClaims(claims=facts, contexts=("one", "two", "three"))]


async def test_nothing_retrieved_recalls_nothing(checks: Any) -> None:
    made = checks(reference_in_contexts="S S")
    assert (await made.score(ContextRecall(), contexts=())).value == 0.0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"reference": ""}, "the reference is empty"),
        ({"reference": "Well."}, "the reference makes no claims"),
        ({"reference_claims": ()}, "the reference makes no claims"),
        ({"contexts": ({"id": "1"},)}, "the contexts have no texts"),
    ],
)
async def test_where_the_question_does_not_arise_it_is_undefined(
    checks: Any, changed: dict[str, Any], reason: str
) -> None:
    score = await checks().score(ContextRecall(), **changed)
    assert (score.state, score.reason) == ("undefined", reason)


async def test_equal_facts_are_one_and_blank_ones_none(checks: Any) -> None:
    made = checks(reference_in_contexts="S N")
    facts = ("right 1", "", "right 1", "right 2", " ")
    score = await made.score(ContextRecall(), reference_claims=facts)
    assert (score.value, made.judge.asked[0].claims) == (0.5, ("right 1", "right 2"))


@each_case("policy", POLICIES)
async def test_no_policy_makes_a_number_of_an_empty_reference(checks: Any, policy: str) -> None:
    for nothing in ({"reference": ""}, {"reference_claims": ()}):
        score = await checks().score(ContextRecall(policy=policy), **nothing)
        assert score.state == "undefined"
