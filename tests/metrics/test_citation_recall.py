from typing import Any

from ragstone.metrics.citations import CitationRecall

# "said 1" ... are the claims, and the sentences that they stand in.
RESPONSE = "So said 1 [1]. So said 2 [1][2]. So said 3. So said 4 [3] and said 5."


async def test_the_worked_example(checks: Any) -> None:
    """1 and 2 cite what they rest on, 3 nothing, 4 another context, 5 its sentence's: 3/5."""
    made = checks(in_contexts="S1 S2 S1 S1 S3")
    score = await made.score(CitationRecall(), response=RESPONSE)
    assert (score.value, score.detail) == (0.6, {"claims": 5, "cited": 3})
    assert len(score.claims) == 5
    assert made.kinds == ["extract_claims", "verify_claims"]


async def test_only_what_is_supported_by_a_quote_can_be_cited(checks: Any) -> None:
    made = checks(in_contexts="C1 S0 S N P3")
    score = await made.score(CitationRecall(), response=RESPONSE)
    assert score.value == 0.0


async def test_what_is_not_known_is_left_out_and_told(checks: Any) -> None:
    made = checks(in_contexts="S1 S S2 S1 S3")
    score = await made.score(CitationRecall(), response=RESPONSE)
    assert score.value == 2 / 4
    assert score.detail["supported_without_quote"] == 1
    quoteless = await checks(in_contexts="S S").score(CitationRecall(), response=RESPONSE)
    assert quoteless.state == "undefined"
    assert "supported without quote: 2" in (quoteless.reason or "")


async def test_a_claim_that_no_sentence_makes_is_left_out(checks: Any) -> None:
    score = await checks(in_contexts="S1").score(CitationRecall(), response="Other words [1].")
    assert (score.state, "unplaced: 1" in (score.reason or "")) == ("undefined", True)


async def test_without_citations_or_contexts_nothing_is_cited(checks: Any) -> None:
    made = checks(in_contexts="S1 S2")
    assert (await made.score(CitationRecall(), response="said 1. said 2.")).value == 0.0
    assert (await made.score(CitationRecall(), response="said 1 [1].", contexts=())).value == 0.0


async def test_no_claims_are_undefined(checks: Any) -> None:
    score = await checks().score(CitationRecall(), response="Sure! [1]")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")
