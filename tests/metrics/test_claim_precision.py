from typing import Any

import pytest

from ragstone.metrics.claims import ClaimPrecision
from ragstone.types.questions import VerifyClaims


async def test_the_worked_example(checks: Any) -> None:
    """The response makes five claims, the reference has three of them: 3/5."""
    made = checks(in_reference="S S1 N C1 S")
    score = await made.score(ClaimPrecision())
    assert score.value == 0.6
    assert isinstance(asked := made.judge.asked[1], VerifyClaims)
    assert asked.contexts == ("What is right.",)


async def test_the_facts_of_the_row_are_part_of_the_reference(checks: Any) -> None:
    made = checks(in_reference="S")
    await made.score(ClaimPrecision(), reference_claims=("A fact.", "Another."))
    assert made.judge.asked[1].contexts == ("What is right.", "A fact.\nAnother.")


async def test_facts_may_be_all_there_is_of_a_reference(checks: Any) -> None:
    made = checks(in_reference="S")
    score = await made.score(ClaimPrecision(), reference=None, reference_claims=("A fact.",))
    assert (score.value, made.judge.asked[1].contexts) == (1.0, ("A fact.",))


@pytest.mark.parametrize("changed", [{"reference": " "}, {"reference_claims": (), "reference": ""}])
async def test_a_blank_reference_says_nothing_of_a_response(
    checks: Any, changed: dict[str, Any]
) -> None:
    made = checks(in_reference="S S")
    score = await made.score(ClaimPrecision(), **changed)
    assert (score.state, score.reason) == ("undefined", "the reference is empty")
    assert made.kinds == []


@pytest.mark.parametrize(
    ("response", "reason"),
    [("", "the response is empty"), ("Sure!", "the response makes no claims")],
)
async def test_without_claims_it_is_undefined(checks: Any, response: str, reason: str) -> None:
    score = await checks().score(ClaimPrecision(), response=response)
    assert (score.state, score.reason) == ("undefined", reason)
