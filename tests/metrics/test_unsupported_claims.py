from typing import Any

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.metrics import Faithfulness
from ragstone.metrics.claims import UnsupportedClaims
from ragstone.types.policy import POLICIES
from ragstone.types.reply import Failure, PartialVerdict
from ragstone.types.score import Score

SHORT = Failure(Cause.COUNT_MISMATCH, "not one a claim", (PartialVerdict(1, "S", None),))


async def test_the_worked_example(checks: Any) -> None:
    """Four claims, three supported: faithfulness 3/4, unsupported 1/4."""
    score = await checks(in_contexts="S1 S2 N S").score(UnsupportedClaims())
    assert score.value == 0.25
    assert score.detail["supported"] == 3


@each_case(
    ("policy", "value", "mark", "passed"),
    [  # S, P, C, N of four claims, turned round
        ("strict", 0.75, None, None),
        ("weighted", 0.875, None, None),  # 1 - (1 + 0.5 - 1 + 0) / 4
        ("ragas", 0.75, None, None),
        ("deepeval", 0.25, 0.5, True),
        ("ragaliq", 0.75, pytest.approx(0.3), False),
        ("promptfoo-plan", 0.75, 0.5, False),
    ],
)
async def test_each_policy_turned_round(
    checks: Any, policy: str, value: float, mark: float | None, passed: bool | None
) -> None:
    score = await checks(in_contexts="S P C N").score(UnsupportedClaims(policy=policy))
    assert (score.value, score.threshold, score.passed) == (value, mark, passed)


SITUATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mixed": ({"in_contexts": "S P C N"}, {}),
    "all supported": ({"in_contexts": "S S"}, {}),
    "empty response": ({}, {"response": ""}),
    "no claims": ({}, {"response": "Sure!"}),
    "no contexts": ({"in_contexts": "S S"}, {"contexts": ()}),
    **{
        str(cause): ({"in_contexts": "S", "others": {"verify_claims": Failure(cause, "no")}}, {})
        for cause in Cause
    },
    "one verdict short": ({"in_contexts": "S S", "others": {"verify_claims": SHORT}}, {}),
}


@each_case("policy", POLICIES)
@each_case("situation", SITUATIONS)
async def test_it_is_what_faithfulness_lacks_of_1_under_every_policy(
    checks: Any, situation: str, policy: str
) -> None:
    rows, changed = SITUATIONS[situation]
    one = await checks(**rows).score(Faithfulness(policy=policy), **changed)
    other = await checks(**rows).score(UnsupportedClaims(policy=policy), **changed)
    assert (other.state, other.cause, other.fallback) == (one.state, one.cause, one.fallback)
    assert turned(other.value) == turned(None if one.value is None else 1 - one.value)
    assert turned(other.threshold) == turned(None if one.threshold is None else 1 - one.threshold)
    assert other.passed == one.passed
    assert in_range(one, Faithfulness(policy=policy).range)
    assert in_range(other, UnsupportedClaims(policy=policy).range)


def turned(number: float | None) -> Any:
    return None if number is None else pytest.approx(number)


def in_range(score: Score, ends: tuple[float, float]) -> bool:
    return score.value is None or ends[0] <= score.value <= ends[1]


def test_the_range_is_turned_too() -> None:
    assert UnsupportedClaims().range == (0, 1)
    assert UnsupportedClaims(policy="weighted").range == (0, 2)


async def test_a_mark_is_told_the_right_way_round(checks: Any) -> None:
    row = checks(in_contexts="S S S N")
    fine = await row.score(UnsupportedClaims(threshold=0.25))
    assert (fine.passed, fine.reason) == (True, "Unsupported Claims 0.25 is <= 0.25")
    over = await row.score(UnsupportedClaims(threshold=0.2))
    assert (over.passed, over.reason) == (False, "Unsupported Claims 0.25 is > 0.2")
    # nobody verified it: 0.5 reaches the mark of 0.5, and passes all the same not
    lost = checks(in_contexts="S", others={"verify_claims": Failure(Cause.TIMEOUT, "late")})
    flagged = await lost.score(UnsupportedClaims(policy="promptfoo-plan"))
    assert (flagged.value, flagged.passed, flagged.fallback) == (0.5, False, True)
    assert "is <= 0.5, but never passes: it is flagged" in (flagged.reason or "")
