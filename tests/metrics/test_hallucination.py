from typing import Any

import pytest

from ragstone.metrics.claims import Hallucination


async def test_the_worked_example(checks: Any) -> None:
    """Two claims contradict contexts 1 and 3 of three; the supported one counts not: 2/3."""
    made = checks(in_contexts="C1 S2 C13 N")
    score = await made.score(Hallucination())
    assert score.value == pytest.approx(2 / 3)
    assert score.detail == {"contexts": 3, "contradicted": 2}
    assert made.kinds == ["extract_claims", "verify_claims"]


async def test_what_contradicts_nothing_is_0(checks: Any) -> None:
    assert (await checks(in_contexts="S1 N N2").score(Hallucination())).value == 0.0


async def test_contexts_without_text_are_no_contexts(checks: Any) -> None:
    made = checks(in_contexts="C1 S3")
    contexts = ({"text": "one"}, {"text": " "}, {"text": "three"})
    assert (await made.score(Hallucination(), contexts=contexts)).value == 0.5


@pytest.mark.parametrize("row", ["C S1", "C1 C0", "C1 C"])
async def test_a_contradiction_without_a_place_is_undefined(checks: Any, row: str) -> None:
    score = await checks(in_contexts=row).score(Hallucination())
    assert score.state == "undefined"
    assert score.reason == (
        "contradicted claims without a quote from a context: 1; which context they contradict is "
        "not known"
    )


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"contexts": ()}, "there are no contexts"),
        ({"response": "Sure!"}, "the response makes no claims"),
    ],
)
async def test_nothing_to_contradict_is_undefined(
    checks: Any, changed: dict[str, Any], reason: str
) -> None:
    row = "" if "response" in changed else "C1"
    score = await checks(in_contexts=row).score(Hallucination(), **changed)
    assert (score.state, score.reason) == ("undefined", reason)


def test_lower_is_better() -> None:
    assert not Hallucination.info().higher_is_better


async def test_copies_of_a_context_are_one(checks: Any) -> None:
    contexts = [{"text": text} for text in ("one", "one", "three")]
    score = await checks(in_contexts="C1").score(Hallucination(), contexts=contexts)
    assert (score.value, score.detail["contexts"]) == (0.5, 2)
