import json

import pytest
from tests.cases import each_case
from tests.judges.llm.raw_reply import raw

from ragstone.errors import Cause
from ragstone.judges.llm.replies import RawReply, parse_claims, parse_verdicts
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import JudgeFailureError

ONE = VerifyClaims(claims=("It is red.",), contexts=("It is red.",))
PHRASES = [
    *("I cannot", "I apologize", "I am unable", "insufficient information", "no verdicts"),
    *("not enough context", "cannot determine", "refuse to answer", "against my policy"),
]
VARIATIONS = [
    "I cannot determine the answer from the information provided.",
    "I cannot determine faithfulness from this context",
    "The answer doesn't contain enough information",
    *("The answer doesn’t contain enough information", "I CAN’T help with that."),
    *("I'm sorry, but that is against my guidelines.", "I'm unable to verify these statements."),
    *("I am not able to judge this.", "There is not enough information.", "I must decline."),
    *("Unable\nto determine this.", "As an AI, I have no opinion."),
]


def cause_of(text: str) -> Cause:
    for legacy_text in (True, False):
        with pytest.raises(JudgeFailureError) as caught:
            parse_verdicts(raw(text, ONE, legacy_text=legacy_text), ONE)
        with pytest.raises(JudgeFailureError):
            parse_claims(RawReply(text, legacy_text=legacy_text), "")
    assert caught.value.failure.returned == ()
    return caught.value.cause


@each_case("phrase", PHRASES)
def test_the_nine_phrases_are_refusals_in_any_case(phrase: str) -> None:
    for text in (phrase, phrase.upper(), f"Well: {phrase.capitalize()} this."):
        assert cause_of(text) is Cause.REFUSAL


@each_case("text", VARIATIONS)
def test_other_words_of_refusing_are_refusals(text: str) -> None:
    assert cause_of(text) is Cause.REFUSAL


@each_case("text", ["", "The weather is fine.", "Sure!", "Yes? No?", "1. Hm\n2. Oh"])
def test_empty_and_unrelated_replies_are_malformed_not_refused(text: str) -> None:
    with pytest.raises(JudgeFailureError) as caught:
        parse_verdicts(raw(text, ONE), ONE)
    assert caught.value.cause is Cause.MALFORMED


@each_case("phrase", PHRASES)
def test_a_refusal_phrase_in_a_reason_or_claim_is_no_refusal(phrase: str) -> None:
    value = {"verdicts": [{"claim": 1, "label": "CONTRADICTED", "reason": phrase}]}
    (verdict,) = parse_verdicts(raw(json.dumps(value), ONE), ONE)
    assert (verdict.label, verdict.reason) == (Label.CONTRADICTED, phrase)
    reply = RawReply(json.dumps({"claims": [phrase]}))
    assert parse_claims(reply, f"{phrase}, I said.") == (phrase,)
    with pytest.raises(JudgeFailureError) as caught:
        parse_claims(reply, "It is red.")  # a claim of the judge's own
    assert caught.value.cause is Cause.REFUSAL


@each_case(
    ("text", "cause"),
    [
        ("I cannot verify this.\n1. Yes", Cause.REFUSAL),
        ("I apologize. Final verdict for each statement in order: Yes.", Cause.REFUSAL),
        ("- I am unable to help.", Cause.REFUSAL),
        ('{"error": "I cannot determine it."}', Cause.MALFORMED),
        ('{"verdicts": [{"reason": "I cannot', Cause.MALFORMED),
    ],
)
def test_refusal_is_tested_before_plain_text_is_read_and_after_json(text: str, cause: Cause):
    assert cause_of(text) is cause
