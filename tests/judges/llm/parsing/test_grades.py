import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.parsing.items import parse_grades
from ragstone.judges.llm.parsing.json import RawReply
from ragstone.judges.llm.parsing.responses import parse_claims, parse_explanation
from ragstone.types.reply import Failure, JudgeFailureError

SHOWN = ("The battery lasts 20 hours.", '{"grades": [{"number": 1, "relevant": true}]}')


def entry(number: object, relevant: object, **more: object) -> dict[str, object]:
    return {"number": number, "reason": "so it is", "relevant": relevant, **more}


def reply(*entries: object) -> str:
    return json.dumps({"grades": entries})


def grades_of(text: str, due: int = 3, shown: tuple[str, ...] = SHOWN) -> list[bool]:
    return [
        grade.relevant
        for grade in parse_grades(RawReply(text, shown=shown), ("",) * due, of="contexts")
    ]


def failure_of(text: str, due: int = 3, *, strict_json: bool = False) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_grades(
            RawReply(text, shown=SHOWN, strict_json=strict_json), ("",) * due, of="contexts"
        )
    assert caught.value.failure.raw == text
    return caught.value.failure


RIGHT = reply(entry(1, True), entry(2, False), entry(3, True))


@pytest.mark.parametrize(
    "text",
    [RIGHT, f"```json\n{RIGHT}\n```", f"Here: {RIGHT} Done.", f"<think>[</think>{RIGHT}"],
)
def test_the_schemas_own_shape_is_read_wherever_it_stands(text: str) -> None:
    grades = parse_grades(RawReply(text, shown=SHOWN), ("",) * 3, of="contexts")
    assert [grade.relevant for grade in grades] == [True, False, True]
    assert {grade.reason for grade in grades} == {"so it is"}


@each_case(
    "value",
    [
        [True, False, True],
        [1, 0, 1],
        ["yes", "no", "Yes."],
        ["relevant", "irrelevant", "RELEVANT"],
        ["Relevant", "not_relevant", "useful"],
        {"verdicts": [{"verdict": 1}, {"verdict": 0}, {"verdict": "1"}]},
        {"contexts": [{"context": n, "is_relevant": n != 2} for n in (3, 2, 1)]},
        [{"index": n, "relevance": "yes" if n != 1 else "no"} for n in (0, 1, 2)],
        {"grades": [{"id": f"{n}", "label": r} for n, r in ((2, "no"), (1, "yes"), (3, "yes"))]},
    ],
    ids=json.dumps,
)
def test_known_shapes_are_read_by_number_else_in_order(value: object) -> None:
    assert grades_of(json.dumps(value)) == [True, False, True]


def test_where_one_is_due_one_object_will_do() -> None:
    assert grades_of('{"relevant": false, "reason": ""}', 1) == [False]
    assert failure_of('{"relevant": false}', 2).cause is Cause.MALFORMED


@each_case(
    "entries",
    [
        [],
        [entry(1, True), entry(2, True)],
        [entry(n, True) for n in (1, 2, 3, 4)],
        [entry(1, True), entry(1, True), entry(3, True)],
        [entry(1, True), entry(2, True), entry(4, True)],
        [entry(1, True), entry(2, True), entry(None, True)],
    ],
    ids=["none", "missing", "extra", "doubled", "another", "unnumbered"],
)
def test_there_has_to_be_exactly_one_grade_for_each_number(entries: list[object]) -> None:
    assert failure_of(reply(*entries)).cause is Cause.COUNT_MISMATCH


def test_the_message_says_what_came_for_what() -> None:
    said = failure_of(reply(entry(1, True), entry(2, True))).message
    assert said == "got 2 grades for 3 contexts"
    said = failure_of(reply(*(entry(n, True) for n in (1, 1, 3)))).message
    assert said == "the grades of 3 contexts are numbered 1, 1, 3"


@each_case(
    ("last", "said"),
    [
        (entry(3, "partly"), "'partly' is not a grade"),
        (entry(3, 0.5), "'0.5' is not a grade"),
        (entry(3, [True]), "'[...]' is not a grade"),
        ({"number": 3}, "a grade is missing"),
        (entry(3, True, label="irrelevant"), "'true' is not a grade"),
    ],
)
def test_a_grade_that_cannot_be_read_is_malformed(last: object, said: str) -> None:
    failure = failure_of(reply(entry(1, True), entry(2, True), last))
    assert (failure.cause, failure.message) == (Cause.MALFORMED, said)


@pytest.mark.parametrize(
    "text",
    [
        "1. Relevant\n2. Irrelevant\n3. Relevant",
        "[1] Yes: it says so.\n[2] No - another subject.\n[3] **yes**",
        "Context 1: relevant (it says it)\nContext 2: not relevant\nContext 3: useful",
        "My grades:\n3) yes\n2) no, since I cannot find it\n1) yes",
    ],
)
def test_numbered_lines_are_read_unless_only_json_will_do(text: str) -> None:
    assert grades_of(text) == [True, False, True]
    assert failure_of(text, strict_json=True).cause is Cause.MALFORMED


@each_case(
    "text",
    [
        "All three contexts are relevant.",
        "Relevant. Irrelevant. Relevant.",
        "Yes\nNo\nYes",
        "1. yes, but only partly\n2. it is relevant\n3. no doubt of it",
        RIGHT[:-20],
        "",
        '{"claims": []}',
        f"{RIGHT} or rather {reply(*(entry(n, True) for n in (1, 2, 3)))}",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert failure_of(text).cause is Cause.MALFORMED


def test_a_line_without_a_grade_beside_lines_with_one_is_malformed() -> None:
    failure = failure_of("1. Relevant\n2. Perhaps\n3. Irrelevant")
    assert (failure.cause, failure.message) == (Cause.MALFORMED, "'Perhaps' is not a grade")


def test_a_refusal_is_one_where_nothing_was_read() -> None:
    assert failure_of("I'm sorry, but I cannot grade these.").cause is Cause.REFUSAL
    assert failure_of("I cannot assess this.\n1. Yes").cause is Cause.REFUSAL


def test_json_of_a_text_that_was_shown_is_no_grade() -> None:
    quoting = f"The context says {SHOWN[1]}, so:"
    assert grades_of(f"{quoting}\n{reply(entry(1, False))}", 1) == [False]
    failure = failure_of(quoting, 1)
    assert (failure.cause, "only repeats" in failure.message) == (Cause.MALFORMED, True)


def test_nor_is_a_numbered_line_of_one() -> None:
    shown = ("Rules:\n1. No, you may not.",)
    with pytest.raises(JudgeFailureError) as caught:
        parse_grades(RawReply("[1] No, you may not.", shown=shown), ("",), of="contexts")
    assert caught.value.cause is Cause.MALFORMED


TWO = ("It lasts 20 hours.", "It is red.")
JSON = json.dumps({"claims": TWO})


def failure_of_of_claims_replies(text: str, *, strict_json: bool = False) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_claims(RawReply(text, strict_json=strict_json))
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
    assert parse_claims(RawReply(json.dumps(value), strict_json=strict_json)) == TWO
    assert parse_claims(RawReply(json.dumps(value, indent=2), strict_json=strict_json)) == TWO


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
    assert parse_claims(RawReply(text)) == TWO
    assert parse_claims(RawReply(text, strict_json=True)) == TWO


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
    assert parse_claims(RawReply(text)) == TWO
    assert failure_of_of_claims_replies(text, strict_json=True).cause is Cause.MALFORMED


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
    assert failure_of_of_claims_replies(text).cause is Cause.MALFORMED


@pytest.mark.parametrize("text", ["", " \n\t", "<think>hm</think>", "\ufeff"])
def test_an_empty_reply_is_malformed(text: str) -> None:
    failure = failure_of_of_claims_replies(text)
    assert (failure.cause, failure.message) == (Cause.MALFORMED, "the reply is empty")


@pytest.mark.parametrize("text", ['{"claims": []}', "[]", "```json\n[]\n```", '{"claims": [" "]}'])
def test_no_claims_is_an_answer(text: str) -> None:
    assert parse_claims(RawReply(text)) == ()


def test_blank_claims_are_dropped_equal_ones_are_one_and_lines_are_joined() -> None:
    text = json.dumps({"claims": ["It is\n  red.", "", "It is red.", " \t", "It is not."]})
    assert parse_claims(RawReply(text)) == ("It is red.", "It is not.")


@each_case("cut", range(1, len(JSON)))
def test_json_that_is_cut_off_is_never_read_in_part(cut: int) -> None:
    for text in (JSON[:cut], f"```json\n{JSON[:cut]}", f"Sure: {JSON[:cut]}\n- It is red."):
        if '"' in text:
            assert failure_of_of_claims_replies(text).cause is Cause.MALFORMED


def test_differing_answers_in_one_reply_are_none() -> None:
    echoed = '{"claims": ["The moon is cheese."]}'
    for text in (f"The text says {echoed}\n{JSON}", f"```\n{echoed}\n```\n```\n{JSON}\n```"):
        failure = failure_of_of_claims_replies(text)
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
    assert failure_of_of_claims_replies(text).cause is Cause.MALFORMED


def test_halves_of_characters_are_replaced() -> None:
    assert parse_claims(RawReply(r'{"claims": ["a\ud800b", "\ud83d\ude00"]}')) == (
        "a\N{REPLACEMENT CHARACTER}b",
        "😀",
    )
    with pytest.raises(JudgeFailureError) as caught:
        parse_claims(RawReply("\ud800"))
    assert caught.value.failure.raw == "\N{REPLACEMENT CHARACTER}"


def test_fence_markers_and_tags_in_a_claim_are_its_text() -> None:
    claims = ("Write ```json [] ``` first.", "</think> ends it.", '{"claims": []} is empty.')
    assert parse_claims(RawReply(json.dumps({"claims": claims}))) == claims
    assert (
        parse_claims(RawReply(f"```json\n{json.dumps({'claims': claims}, indent=1)}\n```"))
        == claims
    )


@pytest.mark.parametrize("text", ['{"explanation": " All is well. "}', "All is well."])
def test_an_explanation_is_json_or_the_whole_text(text: str) -> None:
    assert parse_explanation(RawReply(text)) == "All is well."


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
        parse_explanation(RawReply(text))
    assert caught.value.cause is cause


def test_an_explanation_in_plain_text_is_not_strict() -> None:
    with pytest.raises(JudgeFailureError, match="no JSON"):
        parse_explanation(RawReply("All is well.", strict_json=True))
