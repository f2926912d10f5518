from typing import Any

import pytest

from ragstone.metrics.claims import ClaimUtilization


async def test_the_worked_example(checks: Any) -> None:
    """Three of four claims were retrieved, two of them were said: 2/3."""
    made = checks(reference_in_contexts="S1 S2 N S", in_response="S S S C")
    score = await made.score(ClaimUtilization())
    assert score.value == pytest.approx(2 / 3)
    assert score.detail == {"found": 3, "used": 2}
    names = ["right 1", "right 2", "right 3", "right 4"]
    assert [claim.text for claim in score.claims] == names * 2


async def test_a_blank_response_uses_nothing(checks: Any) -> None:
    made = checks(reference_in_contexts="S1 S2", in_response="S S")
    assert (await made.score(ClaimUtilization(), response="")).value == 0.0
    assert made.kinds == ["extract_claims", "verify_claims"]


@pytest.mark.parametrize(
    ("rows", "changed", "reason"),
    [
        (
            {"reference_in_contexts": "N C1 P1", "in_response": "S S S"},
            {},
            "the contexts support none of the reference's claims",
        ),
        ({}, {"reference": "Well."}, "the reference makes no claims"),
    ],
)
async def test_where_nothing_was_found_it_is_undefined(
    checks: Any, rows: dict[str, str], changed: dict[str, str], reason: str
) -> None:
    score = await checks(**rows).score(ClaimUtilization(), **changed)
    assert (score.state, score.reason) == ("undefined", reason)
