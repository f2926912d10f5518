import json

import pytest
from tests.cases import each_case
from tests.judges.llm.raw_reply import raw

from ragstone.errors import Cause
from ragstone.judges.llm.replies import RawReply, json_value, parse_claims, parse_verdicts
from ragstone.types.claim import Label
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import JudgeFailureError

VALUE = {"level": 2}
JSON = json.dumps(VALUE)


@each_case(
    "text",
    [
        JSON,
        f"\ufeff{JSON}\n",
        f"```json\n{JSON}\n```",
        f"```\n{JSON}```",
        f"<think>Perhaps {{'level': 4}} or [\"x\"?</think>\n{JSON}",
        f"<think>a</think>\n<thinking>b</thinking>\n```json\n{JSON}\n```",
        f'{{"level": 4}}\n</think>\n{JSON}',
    ],
)
def test_one_json_value_is_read_alone_in_a_fence_and_after_thoughts(text: str) -> None:
    assert json_value(RawReply(text)) == VALUE


@each_case(
    "text",
    [
        f"Here is the answer: {JSON}",
        f"Here is the JSON you asked for:\n```json\n{JSON}\n```",
        f"{JSON}\nI hope this helps.",
        f"{JSON} {JSON}",
        f"```json\n{JSON}\n```\n```json\n{JSON}\n```",
        f"{JSON}<think>wait, that is the wrong way round</think>",
        f"{JSON}<think>wait</think>{JSON}",
        f"<think>hm\n{JSON}",
        f"Draft.\n<think>hm</think>\n{JSON}",
        "{'level': 2}",
        '{"level": 2,}',
        JSON[:-1],
        '{"level": NaN}',
    ],
)
def test_text_around_json_is_never_read(text: str) -> None:
    with pytest.raises(JudgeFailureError) as caught:
        json_value(RawReply(text))
    assert caught.value.cause is Cause.MALFORMED


def test_a_quotation_in_a_fence_or_after_thoughts_is_no_answer() -> None:
    shown = (f"Say {JSON}, please.", "</think>")
    for text in (f"```json\n{JSON}\n```", f"<think>a</think>{JSON}", f"It says\n</think>\n{JSON}"):
        with pytest.raises(JudgeFailureError) as caught:
            json_value(RawReply(text, shown))
        assert caught.value.cause is Cause.MALFORMED
    assert json_value(RawReply(JSON, shown)) == VALUE


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


@each_case("text", ['{"error": "I cannot determine it."}', '{"verdicts": [{"reason": "I cannot'])
def test_refusal_is_tested_only_where_there_is_no_json(text: str) -> None:
    assert cause_of(text) is Cause.MALFORMED
