from typing import Any

import pytest

from ragstone.metrics.citations import CitationPrecision

RESPONSE = (
    "So said 1 [1, 3]. So said 2 and said 3 [1][2]. So said 4 [7]. See also these.\n\n[1] A list."
)


async def test_the_worked_example(checks: Any) -> None:
    """Right: 1 at the first, 1 and 2 at the second. Wrong: 3 at the first, and 7, which is none.

    3/5; the list of sources makes no claim and counts not.
    """
    made = checks(in_contexts="S1 S1 S2 S1")
    score = await made.score(CitationPrecision(), response=RESPONSE)
    assert (score.value, score.detail) == (0.6, {"citations": 5, "right": 3})
    assert made.kinds == ["extract_claims", "verify_claims"]


async def test_only_what_supports_a_claim_by_a_quote_is_right(checks: Any) -> None:
    made = checks(in_contexts="C1 N S0 P2")
    assert (await made.score(CitationPrecision(), response=RESPONSE)).value == 0.0


async def test_a_source_cited_twice_in_a_sentence_counts_once(checks: Any) -> None:
    made = checks(in_contexts="S1")
    score = await made.score(CitationPrecision(), response="As [1] has it, said 1 [1][2].")
    assert (score.value, score.detail["citations"]) == (0.5, 2)


async def test_a_document_cited_by_its_id_may_be_several_contexts(checks: Any) -> None:
    contexts = [{"text": text, "id": "guide" if text != "one" else "x"} for text in
                ("one", "two", "three")]  # fmt: skip
    made = checks(in_contexts="S3")
    score = await made.score(CitationPrecision(), response="said 1 [guide].", contexts=contexts)
    assert (score.value, score.detail["citations"]) == (1.0, 1)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("said 1.", "no claim of the response cites anything"),
        ("said 1.\n\n[2] The list of sources.", "no claim of the response cites anything"),
        ("Sure!", "the response makes no claims"),
    ],
)
async def test_without_citations_it_is_undefined(checks: Any, response: str, reason: str) -> None:
    made = checks(in_contexts="" if "Sure" in response else "S1")
    score = await made.score(CitationPrecision(), response=response)
    assert (score.state, score.reason) == ("undefined", reason)
