from typing import Any

from ragstone.metrics.claims import HallucinatedClaims


async def test_the_worked_example(checks: Any) -> None:
    """Of four claims the third stands nowhere and the last is contradicted by both: 2/4."""
    made = checks(in_contexts="S N N C1", in_reference="S S P C1")
    score = await made.score(HallucinatedClaims())
    assert (score.value, score.detail) == (0.5, {"claims": 4, "made_up": 2})
    assert [claim.label[0] for claim in score.claims] == list("SNNCSSPC")
    assert made.kinds == ["extract_claims", "verify_claims", "verify_claims"]


async def test_what_was_retrieved_and_is_wrong_is_no_hallucination(checks: Any) -> None:
    score = await checks(in_contexts="S S", in_reference="C N").score(HallucinatedClaims())
    assert score.value == 0.0


async def test_without_contexts_only_the_reference_can_know(checks: Any) -> None:
    made = checks(in_contexts="S S", in_reference="S N")
    score = await made.score(HallucinatedClaims(), contexts=())
    assert (score.value, len(made.judge.asked)) == (0.5, 2)


async def test_no_claims_are_undefined(checks: Any) -> None:
    score = await checks().score(HallucinatedClaims(), response="Sure!")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")


async def test_contexts_without_texts_are_undefined(checks: Any) -> None:
    made = checks(in_contexts="S", in_reference="S")
    score = await made.score(HallucinatedClaims(), contexts=({"id": "1"}, {"id": "2"}))
    assert (score.state, made.kinds) == ("undefined", [])


def test_lower_is_better() -> None:
    assert not HallucinatedClaims.info().higher_is_better
