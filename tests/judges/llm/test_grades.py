import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.replies import RawReply, parse_grades
from ragstone.types.reply import Failure, JudgeFailureError

SHOWN = ("The battery lasts 20 hours.", '{"grades": [{"number": 1, "relevant": true}]}')


def entry(number: object, relevant: object, **more: object) -> dict[str, object]:
    return {"number": number, "reason": "so it is", "relevant": relevant, **more}


def reply(*entries: object) -> str:
    return json.dumps({"grades": entries})


def grades_of(text: str, due: int = 3, shown: tuple[str, ...] = SHOWN) -> list[bool]:
    return [grade.relevant for grade in parse_grades(RawReply(text, shown), due, of="contexts")]


def failure_of(text: str, due: int = 3) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_grades(RawReply(text, SHOWN), due, of="contexts")
    assert caught.value.failure.raw == text
    return caught.value.failure


RIGHT = reply(entry(1, True), entry(2, False), entry(3, True))


@pytest.mark.parametrize(
    "text",
    [RIGHT, f"```json\n{RIGHT}\n```", f"<think>[</think>{RIGHT}"],
)
def test_the_schemas_own_shape_is_read_wherever_it_stands(text: str) -> None:
    grades = parse_grades(RawReply(text, SHOWN), 3, of="contexts")
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
        {"grades": [{"context": n, "relevant": n != 2} for n in (3, 2, 1)]},
        [{"index": n, "relevant": "yes" if n != 1 else "no"} for n in (0, 1, 2)],
        {"grades": [{"id": f"{n}", "relevant": r} for n, r in ((2, "no"), (1, "yes"), (3, "yes"))]},
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
        (entry(3, True, verdict="irrelevant"), "'true' is not a grade"),
    ],
)
def test_a_grade_that_cannot_be_read_is_malformed(last: object, said: str) -> None:
    failure = failure_of(reply(entry(1, True), entry(2, True), last))
    assert (failure.cause, failure.message) == (Cause.MALFORMED, said)


@each_case(
    "value",
    [
        {"contexts": [{"context": n, "relevant": True} for n in (1, 2, 3)]},
        [{"index": n, "relevance": "yes"} for n in (0, 1, 2)],
        *(
            {"grades": [{"number": n, "relevant": n == 1, key: value} for n in (1, 2, 3)]}
            for key, value in (
                *(("is_relevant", False), ("label", "no"), ("irrelevant", True), ("note", "draft")),
                *(("passage", 3), ("text", "The battery lasts 20 hours."), ("revised", 0)),
            )
        ),
        *(
            {"grades": [{key: n, "relevant": n == 1} for n in (3, 2, 1)]}
            for key in ("passage", "chunk", "source", "doc", "ref")
        ),
        {"grades": [entry(n, True) for n in (1, 2, 3)], "corrections": {"2": False}},
        {"draft": {"grades": [entry(n, True) for n in (1, 2, 3)]}},
    ],
)
def test_grades_with_other_keys_are_never_read(value: object) -> None:
    assert failure_of(json.dumps(value)).cause is Cause.MALFORMED


@each_case(
    "number", ["b", "two", "二", "II", "2/3", "1.5", 2.5, True, [2], "-2", "٢", "Context 2 of 3"]
)
def test_a_number_in_another_form_is_a_mismatch(number: object) -> None:
    failure = failure_of(reply(entry(1, True), entry(number, True), entry(3, True)))
    assert failure.cause is Cause.COUNT_MISMATCH


@each_case(
    "text",
    [
        "All three contexts are relevant.",
        "Relevant. Irrelevant. Relevant.",
        "Yes\nNo\nYes",
        "1. Relevant\n2. Irrelevant\n3. Relevant",
        "[1] Yes: it says so.\n[2] No - another subject.\n[3] **yes**",
        f"Here: {RIGHT} Done.",
        "1. yes, but only partly\n2. it is relevant\n3. no doubt of it",
        RIGHT[:-20],
        "",
        '{"claims": []}',
        f"{RIGHT} or rather {reply(*(entry(n, True) for n in (1, 2, 3)))}",
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
