from typing import Any

import pytest

from ragstone.metrics.claims import ClaimRecall
from ragstone.types.questions import ExtractClaims, VerifyClaims


async def test_the_worked_example(checks: Any) -> None:
    """The reference makes four claims, the response says the first and the last: 2/4."""
    made = checks(in_response="S1 C1 N S")
    score = await made.score(ClaimRecall())
    assert score.value == 0.5
    assert made.judge.asked == [
        ExtractClaims(query="q", response="What is right."),
        VerifyClaims(
            claims=("right 1", "right 2", "right 3", "right 4"), contexts=("What it says.",)
        ),
    ]


async def test_facts_that_the_row_lists_are_not_extracted(checks: Any) -> None:
    made = checks(in_response="S N N")
    score = await made.score(ClaimRecall(), reference_claims=("right a", "right b", "right c"))
    assert score.value == pytest.approx(1 / 3)
    assert made.kinds == ["verify_claims"]
    assert made.judge.asked[0].claims == ("right a", "right b", "right c")


@pytest.mark.parametrize("response", ["", " \n"])
async def test_a_blank_response_says_nothing_of_it_and_no_verdict_is_asked(
    checks: Any, response: str
) -> None:
    made = checks(in_response="S S")
    score = await made.score(ClaimRecall(), response=response)
    assert (score.value, made.kinds) == (0.0, ["extract_claims"])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"reference": ""}, "the reference is empty"),
        ({"reference": "Well."}, "the reference makes no claims"),
        ({"reference_claims": ()}, "the reference makes no claims"),
    ],
)
async def test_without_claims_to_say_it_is_undefined(
    checks: Any, changed: dict[str, Any], reason: str
) -> None:
    score = await checks().score(ClaimRecall(), **changed)
    assert (score.state, score.reason) == ("undefined", reason)
