import json

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.replies import RawReply, parse_grades
from ragstone.types.reply import Failure, JudgeFailureError


def entry(number: object, relevant: object, **more: object) -> dict[str, object]:
    return {"number": number, "relevant": relevant, "reason": "so it is", **more}


def reply(*entries: object) -> str:
    return json.dumps({"grades": entries})


def failure_of(text: str) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_grades(RawReply(text), 3)
    assert caught.value.failure.raw == text
    return caught.value.failure


def test_grades_are_read_by_number_with_their_reasons() -> None:
    blank = {"number": 1, "relevant": True, "reason": " "}
    text = reply(entry(2, False), {"number": 3, "relevant": True}, blank)
    grades = parse_grades(RawReply(text), 3)
    assert [grade.relevant for grade in grades] == [True, False, True]
    assert [grade.reason for grade in grades] == [None, "so it is", None]


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
def test_there_has_to_be_exactly_one_grade_for_each_number(numbers: tuple[int, ...], said: str):
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
