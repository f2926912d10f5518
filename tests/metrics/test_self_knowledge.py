from typing import Any

from ragstone.metrics.claims import SelfKnowledge


async def test_the_worked_example(checks: Any) -> None:
    """Of four claims the second and the third are right, the third stands in no context: 1/4."""
    made = checks(in_contexts="S1 S2 N N", in_reference="N S S C")
    score = await made.score(SelfKnowledge())
    assert (score.value, score.detail) == (0.25, {"claims": 4, "known": 1})
    assert made.kinds == ["extract_claims", "verify_claims", "verify_claims"]


async def test_without_contexts_all_that_is_right_was_known(checks: Any) -> None:
    made = checks(in_contexts="S S", in_reference="S N")
    assert (await made.score(SelfKnowledge(), contexts=())).value == 0.5


async def test_no_claims_are_undefined(checks: Any) -> None:
    score = await checks().score(SelfKnowledge(), response="Sure!")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")


def test_lower_is_better() -> None:
    assert not SelfKnowledge.info().higher_is_better
