import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.parsing.responses import parse_claims
from ragstone.judges.llm.parsing.verdicts import parse_verdicts
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import JudgeFailureError

ONE = VerifyClaims(claims=("It is red.",), contexts=("It is red.",))
PHRASES = [
    "I cannot",
    "I apologize",
    "I am unable",
    "insufficient information",
    "not enough context",
    "cannot determine",
    "no verdicts",
    "refuse to answer",
    "against my policy",
]
VARIATIONS = [
    "I cannot determine the answer from the information provided.",
    "I cannot determine faithfulness from this context",
    "The answer doesn't contain enough information",
    "The answer doesn’t contain enough information",
    "I CAN’T help with that.",
    "I'm sorry, but that is against my guidelines.",
    "I'm unable to verify these statements.",
    "I am not able to judge this.",
    "There is not enough information.",
    "I must decline.",
    "Unable\nto determine this.",
    "As an AI, I have no opinion.",
]


def cause_of(text: str, *, strict_json: bool = False) -> Cause:
    with pytest.raises(JudgeFailureError) as caught:
        parse_verdicts(text, ONE, strict_json=strict_json)
    with pytest.raises(JudgeFailureError):
        parse_claims(text, strict_json=strict_json)
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
        parse_verdicts(text, ONE)
    assert caught.value.cause is Cause.MALFORMED


@each_case("phrase", PHRASES)
def test_a_refusal_phrase_in_a_reason_or_claim_is_no_refusal(phrase: str) -> None:
    value = {"verdicts": [{"claim": 1, "reason": phrase, "evidence": [], "label": "CONTRADICTED"}]}
    (verdict,) = parse_verdicts(json.dumps(value), ONE)
    assert (verdict.label, verdict.reason) == (Label.CONTRADICTED, phrase)
    assert parse_claims(json.dumps({"claims": [phrase]})) == (phrase,)


@pytest.mark.parametrize(
    "text",
    [
        "1. No - there is insufficient information, I cannot say more.",
        "Explanation: there is not enough context.\nVerdict: No",
        "1. It is red. I cannot find it.\nFinal verdict for each statement in order: No.",
    ],
)
def test_a_refusal_phrase_in_a_plain_texts_reason_is_no_refusal(text: str) -> None:
    (verdict,) = parse_verdicts(text, ONE)
    assert verdict.label is Label.CONTRADICTED


@pytest.mark.parametrize(
    "text",
    [
        "I cannot verify this.\n1. Yes",
        "I apologize. Final verdict for each statement in order: Yes.",
        "1. I cannot determine this.",
        "- I am unable to help.",
    ],
)
def test_refusal_is_tested_before_plain_text_is_read(text: str) -> None:
    assert cause_of(text) is Cause.REFUSAL


@pytest.mark.parametrize(
    "text", ['{"error": "I cannot determine it."}', '{"verdicts": [{"reason": "I cannot']
)
def test_refusal_is_tested_only_where_there_is_no_json(text: str) -> None:
    assert cause_of(text) is Cause.MALFORMED


def test_only_json_counts_when_only_json_is_wanted() -> None:
    assert cause_of("I cannot determine it.", strict_json=True) is Cause.MALFORMED
