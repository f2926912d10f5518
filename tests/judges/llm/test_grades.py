import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.replies import RawReply, parse_grades
from ragstone.types.reply import Failure, JudgeFailureError

SHOWN = ("The battery lasts 20 hours.", '{"grades": [{"number": 1, "relevant": true}]}')


def entry(number: object, relevant: object, **more: object) -> dict[str, object]:
    return {"number": number, "relevant": relevant, "reason": "so it is", **more}


def reply(*entries: object) -> str:
    return json.dumps({"grades": entries})


def grades_of(text: str, due: int = 3) -> list[bool]:
    return [grade.relevant for grade in parse_grades(RawReply(text, SHOWN), [""] * due)]


def failure_of(text: str, due: int = 3) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_grades(RawReply(text, SHOWN), [""] * due)
    assert caught.value.failure.raw == text
    return caught.value.failure


RIGHT = reply(entry(1, True), entry(2, False), entry(3, True))


@each_case(
    "text",
    [
        RIGHT,
        f"```json\n{RIGHT}\n```",
        f"<think>[</think>{RIGHT}",
        reply(entry(2, False), entry(3, True), entry(1, True)),
    ],
)
def test_the_schemas_own_shape_is_read_by_number_wherever_it_stands(text: str) -> None:
    grades = parse_grades(RawReply(text, SHOWN), [""] * 3)
    assert [grade.relevant for grade in grades] == [True, False, True]
    assert {grade.reason for grade in grades} == {"so it is"}


def test_a_reason_may_be_missing_or_blank() -> None:
    text = reply({"number": 1, "relevant": True}, entry(2, True, reason=" "))
    assert [grade.reason for grade in parse_grades(RawReply(text), [""] * 2)] == [None, None]


@each_case(
    ("numbers", "said"),
    [
        ((), "got 0 grades for 3"),
        ((2,), "got 1 grade for 3"),
        ((1, 2, 3, 4), "got 4 grades for 3"),
        ((1, 1, 3), "the grades for 1 to 3 are numbered 1, 1, 3"),
        ((1, 2, 4), "the grades for 1 to 3 are numbered 1, 2, 4"),
        ((0, 1, 2), "the grades for 1 to 3 are numbered 0, 1, 2"),
        ((1, -2, 3), "the grades for 1 to 3 are numbered 1, -2, 3"),
    ],
)
def test_there_has_to_be_exactly_one_grade_for_each_number(
    numbers: tuple[int, ...], said: str
) -> None:
    failure = failure_of(reply(*(entry(number, True) for number in numbers)))
    assert (failure.cause, failure.message) == (Cause.COUNT_MISMATCH, said)


@each_case("relevant", ["yes", "true", "relevant", "partly", 1, 0, 0.5, [True], None])
def test_a_grade_is_true_or_false(relevant: object) -> None:
    failure = failure_of(reply(entry(1, True), entry(2, relevant), entry(3, True)))
    assert failure.cause is Cause.MALFORMED
    assert "(grades.1.relevant: Input should be a valid boolean)" in failure.message


@each_case("number", ["2", "b", "two", "二", "2/3", 2.0, 2.5, True, [2], None, "Context 2"])
def test_a_number_in_another_form_is_malformed(number: object) -> None:
    failure = failure_of(reply(entry(1, True), entry(number, True), entry(3, True)))
    assert failure.cause is Cause.MALFORMED
    assert "(grades.1.number: Input should be a valid integer)" in failure.message


ENTRIES = [entry(n, True) for n in (1, 2, 3)]


@each_case(
    "value",
    [
        *(ENTRIES, [True] * 3, ENTRIES[0], {"draft": {"grades": ENTRIES}}, {"claims": []}),
        *({key: ENTRIES} for key in ("verdicts", "contexts", "Grades")),
        {"grades": ENTRIES, "corrections": {"2": False}},
        *(
            {"grades": [{**each, key: value} for each in ENTRIES]}
            for key, value in (
                *(("is_relevant", False), ("label", "no"), ("irrelevant", True), ("note", "draft")),
                *(("verdict", True), ("text", "The battery lasts 20 hours."), ("revised", 0)),
            )
        ),
        *(
            {"grades": [{key: n, "relevant": n == 1} for n in (3, 2, 1)]}
            for key in ("index", "id", "context", "passage", "ref")
        ),
        *({"grades": [*ENTRIES[:2], last]} for last in ({"number": 3}, {"relevant": True}, True)),
    ],
)
def test_grades_in_another_form_are_never_read(value: object) -> None:
    assert failure_of(json.dumps(value)).cause is Cause.MALFORMED


@each_case(
    "text",
    [
        "All three contexts are relevant.",
        "Yes\nNo\nYes",
        "1. Relevant\n2. Irrelevant\n3. Relevant",
        f"Here: {RIGHT} Done.",
        RIGHT[:-20],
        "",
        f"{RIGHT} or rather {reply(*ENTRIES)}",
    ],
)
def test_nothing_is_guessed(text: str) -> None:
    assert failure_of(text).cause is Cause.MALFORMED


def test_a_refusal_is_one_where_nothing_was_read() -> None:
    assert failure_of("I'm sorry, but I cannot grade these.").cause is Cause.REFUSAL
    assert failure_of("I cannot assess this.\n1. Yes").cause is Cause.REFUSAL


def test_json_of_a_text_that_was_shown_is_no_grade() -> None:
    failure = failure_of(f"```json\n{SHOWN[1]}\n```", 1)
    assert (failure.cause, "only repeats" in failure.message) == (Cause.MALFORMED, True)
    assert grades_of(SHOWN[1], 1) == [True]
    assert failure_of(f"The context says {SHOWN[1]}.", 1).cause is Cause.MALFORMED
