import json

import pytest
from tests.cases import each_case
from tests.judges.llm.raw_reply import raw

from ragstone.errors import Cause
from ragstone.judges.llm.prompt import (
    TASKS,
    queries_schema,
    rating_schema,
    verdict_schema,
)
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
            parse_claims(RawReply(text, legacy_text=legacy_text))
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
    value = {"verdicts": [{"claim": 1, "reason": phrase, "evidence": [], "label": "CONTRADICTED"}]}
    (verdict,) = parse_verdicts(raw(json.dumps(value), ONE), ONE)
    assert (verdict.label, verdict.reason) == (Label.CONTRADICTED, phrase)
    assert parse_claims(RawReply(json.dumps({"claims": [phrase]}))) == (phrase,)


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


ALL = [
    *(task.schema(None) for task in TASKS.values()),
    verdict_schema(partial=True),
    queries_schema(5),
    rating_schema([-1, 0, 1]),
]


def objects_of(node: object) -> list[dict[str, object]]:
    """All schemas of objects in a schema."""
    if isinstance(node, list):
        return [found for entry in node for found in objects_of(entry)]
    if not isinstance(node, dict):
        return []
    below = [found for value in node.values() for found in objects_of(value)]
    return [node, *below] if node.get("type") == "object" else below


@each_case("schema", ALL)
def test_a_strict_mode_takes_every_schema(schema: dict[str, object]) -> None:
    assert schema["title"]
    for node in objects_of(schema):
        assert node["additionalProperties"] is False
        assert node["required"] == list(node["properties"])
    assert "$" not in json.dumps(dict(schema))
    assert "description" not in json.dumps(dict(schema))


def test_the_label_comes_last_and_partial_support_is_offered_only_when_asked_for() -> None:
    for partial in (False, True):
        items = verdict_schema(partial)["properties"]["verdicts"]["items"]["properties"]
        assert list(items) == ["claim", "reason", "evidence", "label"]
        assert ("PARTIALLY_SUPPORTED" in items["label"]["enum"]) is partial
    assert verdict_schema(partial=False) == TASKS[VerifyClaims.kind].schema(None)


def test_what_decides_comes_after_its_reason() -> None:
    for kind in ("grade_contexts", "grade_sentences"):
        fields = list(TASKS[kind].schema(None)["properties"]["grades"]["items"]["properties"])
        assert (fields[0], fields[-1]) == ("number", "relevant")
    assert list(TASKS["rate_response"].schema(None)["properties"]) == ["reason", "level"]


def test_no_reasons_are_asked_for_on_sentences() -> None:
    assert "reason" in json.dumps(TASKS["grade_contexts"].schema(None))
    assert "reason" not in json.dumps(TASKS["grade_sentences"].schema(None))


def test_every_guess_has_a_key_and_every_level_is_offered() -> None:
    queries = queries_schema(3)["properties"]["queries"]
    assert queries["required"] == ["1", "2", "3"]
    assert rating_schema([1, 3])["properties"]["level"]["enum"] == [1, 3]
