from typing import Any

import pytest

from ragstone.metrics.claim_checks import (
    REFERENCE_IN_CONTEXTS,
    REFERENCE_IN_RESPONSE,
    RESPONSE_IN_CONTEXTS,
    RESPONSE_IN_REFERENCE,
    Check,
)


@pytest.mark.parametrize(
    ("check", "needs", "text", "sources"),
    [
        (RESPONSE_IN_CONTEXTS, ("response", "contexts"), "What it says.", ("one", "two", "three")),
        (
            RESPONSE_IN_REFERENCE,
            ("response", "reference_claims"),
            "What it says.",
            ("What is right.",),
        ),
        (
            REFERENCE_IN_RESPONSE,
            ("reference_claims", "response"),
            "What is right.",
            ("What it says.",),
        ),
        (
            REFERENCE_IN_CONTEXTS,
            ("reference_claims", "contexts"),
            "What is right.",
            ("one", "two", "three"),
        ),
    ],
)
def test_what_is_held_against_what(
    checks: Any, check: Check, needs: tuple[str, ...], text: str, sources: tuple[str, ...]
) -> None:
    sample = checks().sample()
    assert check.needs == needs
    assert (check.text(sample), check.sources(sample)) == (text, sources)
    assert check.given_claims(sample) is None


def test_the_claims_that_a_row_lists_are_known(checks: Any) -> None:
    sample = checks().sample(reference_claims=("a", "b"))
    assert REFERENCE_IN_RESPONSE.given_claims(sample) == ("a", "b")
    assert RESPONSE_IN_REFERENCE.given_claims(sample) is None
    assert RESPONSE_IN_REFERENCE.sources(sample) == ("What is right.", "a\nb")
    assert RESPONSE_IN_REFERENCE.sources(sample.model_copy(update={"reference": None})) == ("a\nb",)


def test_a_blank_text_is_no_source(checks: Any) -> None:
    sample = checks().sample(response=" ", reference="", reference_claims=())
    assert REFERENCE_IN_RESPONSE.sources(sample) == ()
    assert RESPONSE_IN_REFERENCE.sources(sample) == ()
    assert RESPONSE_IN_CONTEXTS.text(sample) == " "


@pytest.mark.parametrize(
    ("texts", "textless"), [((), False), (("", " "), True), (("", "one"), False)]
)
def test_contexts_may_have_no_texts(checks: Any, texts: tuple[str, ...], textless: bool) -> None:
    sample = checks().sample(contexts=[{"text": text, "id": "1"} for text in texts])
    obstacle = RESPONSE_IN_CONTEXTS.obstacle(sample)
    assert obstacle == ("the contexts have no text" if textless else None)
    assert RESPONSE_IN_CONTEXTS.sources(sample) == texts  # quotes are counted by these places


def test_a_blank_reference_is_an_obstacle_and_a_blank_response_is_none(checks: Any) -> None:
    sample = checks().sample(response="", reference=" ")
    assert RESPONSE_IN_REFERENCE.obstacle(sample) == "the reference is empty"
    assert REFERENCE_IN_RESPONSE.obstacle(sample) is None
