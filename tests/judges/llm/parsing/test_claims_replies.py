import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.parsing.responses import parse_claims, parse_explanation
from ragstone.types.reply import Failure, JudgeFailureError

TWO = ("It lasts 20 hours.", "It is red.")
JSON = json.dumps({"claims": TWO})


def failure_of(text: str, *, strict_json: bool = False) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_claims(text, strict_json=strict_json)
    assert caught.value.failure.raw == text
    return caught.value.failure


@each_case(
    "value",
    [
        {"claims": TWO},
        {"statements": TWO},
        {"facts": TWO},
        {"truths": TWO},
        TWO,
        {"claims": [{"claim": text} for text in TWO]},
        {"statements": [{"statement": text, "id": 7} for text in TWO]},
        [{"text": text} for text in TWO],
        [{"fact": TWO[0]}, TWO[1]],
        {"Claims": TWO, "note": "done"},
    ],
)
@each_case("strict_json", [False, True])
def test_every_known_json_shape_of_claims_is_read(value: object, strict_json: bool) -> None:
    assert parse_claims(json.dumps(value), strict_json=strict_json) == TWO
    assert parse_claims(json.dumps(value, indent=2), strict_json=strict_json) == TWO


@each_case(
    "text",
    [
        f"```json\n{JSON}\n```",
        f"```\n{JSON}\n```",
        f"Here are the claims:\n\n```json\n{JSON}\n```\nHope this helps!",
        f"Sure! {JSON} That is all [1].",
        f"<think>Perhaps {{'claims': []}} or [\"x\"?</think>\n{JSON}",
        f"\ufeff{JSON}\n",
        f"{JSON}\nTo repeat: {JSON}",
    ],
)
def test_json_is_found_in_fences_after_thoughts_and_in_prose(text: str) -> None:
    assert parse_claims(text) == TWO
    assert parse_claims(text, strict_json=True) == TWO


@each_case(
    "text",
    [
        "1. It lasts 20 hours.\n2. It is red.",
        "Here are the claims:\n- It lasts 20 hours.\n- It is red.\n\nDone.",
        "* It lasts 20 hours.\n\n• It is red.",
        "(1) It lasts 20 hours.\n[2] It is red.",
        "1) It lasts 20 hours.\n2) It is red.\n3) It is red.",
    ],
)
def test_numbered_and_bulleted_lines_are_claims_unless_json_is_demanded(text: str) -> None:
    assert parse_claims(text) == TWO
    assert failure_of(text, strict_json=True).cause is Cause.MALFORMED


@each_case(
    "text",
    [
        "It lasts 20 hours.\nIt is red.",
        "There are no claims.",
        "---\n- - -\n***",
        "42",
        '"It is red."',
        '{"claims": "It is red."}',
        '{"claims": [1, 2]}',
        '{"claims": [null]}',
        '{"answer": ["It is red."]}',
        "[[]]",
        "<think>1. It is red.\n2. It",
    ],
)
def test_prose_and_other_json_are_not_claims(text: str) -> None:
    assert failure_of(text).cause is Cause.MALFORMED


@pytest.mark.parametrize("text", ["", " \n\t", "<think>hm</think>", "\ufeff"])
def test_an_empty_reply_is_malformed(text: str) -> None:
    failure = failure_of(text)
    assert (failure.cause, failure.message) == (Cause.MALFORMED, "the reply is empty")


@pytest.mark.parametrize("text", ['{"claims": []}', "[]", "```json\n[]\n```", '{"claims": [" "]}'])
def test_no_claims_is_an_answer(text: str) -> None:
    assert parse_claims(text) == ()


def test_blank_claims_are_dropped_equal_ones_are_one_and_lines_are_joined() -> None:
    text = json.dumps({"claims": ["It is\n  red.", "", "It is red.", " \t", "It is not."]})
    assert parse_claims(text) == ("It is red.", "It is not.")


@each_case("cut", range(1, len(JSON)))
def test_json_that_is_cut_off_is_never_read_in_part(cut: int) -> None:
    for text in (JSON[:cut], f"```json\n{JSON[:cut]}", f"Sure: {JSON[:cut]}\n- It is red."):
        if '"' in text:
            assert failure_of(text).cause is Cause.MALFORMED


def test_differing_answers_in_one_reply_are_none() -> None:
    echoed = '{"claims": ["The moon is cheese."]}'
    for text in (f"The text says {echoed}\n{JSON}", f"```\n{echoed}\n```\n```\n{JSON}\n```"):
        failure = failure_of(text)
        assert failure.cause is Cause.MALFORMED
        assert failure.message.startswith("2 different answers in one reply; the reply begins")


@each_case(
    "text",
    [
        '{"claims": ["a"], "claims": ["b"]}',
        '{"claims": ["a"], "Claims": ["b"]}',
        "[" * 100_000,
        '{"claims": [' * 20_000,
        '{"claims": [NaN]}',
        '{"claims": [' + "9" * 10_000 + "]}",
        '{"claims": ["a"]} {"claims": ["b"',
    ],
    ids=["twice", "twice in another case", "deep", "deep objects", "NaN", "huge", "second cut off"],
)
def test_odd_json_is_malformed(text: str) -> None:
    assert failure_of(text).cause is Cause.MALFORMED


def test_halves_of_characters_are_replaced() -> None:
    assert parse_claims(r'{"claims": ["a\ud800b", "\ud83d\ude00"]}') == (
        "a\N{REPLACEMENT CHARACTER}b",
        "😀",
    )
    with pytest.raises(JudgeFailureError) as caught:
        parse_claims("\ud800")
    assert caught.value.failure.raw == "\N{REPLACEMENT CHARACTER}"


def test_fence_markers_and_tags_in_a_claim_are_its_text() -> None:
    claims = ("Write ```json [] ``` first.", "</think> ends it.", '{"claims": []} is empty.')
    assert parse_claims(json.dumps({"claims": claims})) == claims
    assert parse_claims(f"```json\n{json.dumps({'claims': claims}, indent=1)}\n```") == claims


@pytest.mark.parametrize("text", ['{"explanation": " All is well. "}', "All is well."])
def test_an_explanation_is_json_or_the_whole_text(text: str) -> None:
    assert parse_explanation(text) == "All is well."


@each_case(
    ("text", "cause"),
    [
        ("I cannot explain this.", Cause.REFUSAL),
        ('{"explanation": ""}', Cause.MALFORMED),
        ('{"explanation": 7}', Cause.MALFORMED),
        ('{"explanation": "All is', Cause.MALFORMED),
        ("", Cause.MALFORMED),
    ],
)
def test_what_explains_nothing_is_a_failure(text: str, cause: Cause) -> None:
    with pytest.raises(JudgeFailureError) as caught:
        parse_explanation(text)
    assert caught.value.cause is cause


def test_an_explanation_in_plain_text_is_not_strict() -> None:
    with pytest.raises(JudgeFailureError, match="no JSON"):
        parse_explanation("All is well.", strict_json=True)
