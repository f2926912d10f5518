import json
from collections.abc import Callable

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.judges.llm.replies import (
    RawReply,
    parse_abstention,
    parse_claims,
    parse_explanation,
    parse_found,
    parse_grades,
    parse_queries,
    parse_rating,
)
from ragstone.types.claim import FoundAnswer, GeneratedQueries, Rating
from ragstone.types.questions import FindAnswer
from ragstone.types.reply import Failure, JudgeFailureError

QUERIES = ("How long?", "Of what?")


def two_queries(reply: RawReply) -> GeneratedQueries:
    return parse_queries(reply, 2)


def cause_of(read: Callable[[RawReply], object], text: str) -> Cause:
    with pytest.raises(JudgeFailureError) as caught:
        read(RawReply(text))
    assert caught.value.failure.raw == text
    return caught.value.cause


@each_case(
    ("queries", "commits", "found"),
    [
        ({"1": QUERIES[0], "2": f" {QUERIES[1]}\n"}, True, QUERIES),
        ({"2": QUERIES[1], "1": QUERIES[0]}, True, QUERIES),
        ({"1": " ", "2": QUERIES[1]}, True, QUERIES[1:]),  # too few: asked for again
        ({}, False, ()),
    ],
)
def test_queries_are_read_by_number(queries: object, commits: bool, found: tuple[str, ...]) -> None:
    text = json.dumps({"commits": commits, "queries": queries})
    assert two_queries(RawReply(text)) == GeneratedQueries(queries=found, noncommittal=not commits)


@each_case(
    ("read", "text", "value"),
    [
        *(
            (parse_abstention, f'{{"label": "{label}"}}', abstains)
            for label, abstains in (("ABSTAINS", True), ("answers.", False), (" Abstains", True))
        ),
        (parse_rating, '{"reason": " kind ", "level": 4}', Rating(level=4, reason="kind")),
        (parse_rating, '{"level": -1, "reason": null}', Rating(level=-1)),
        (parse_rating, '{"level": 4, "reason": ""}', Rating(level=4)),
        (parse_explanation, '{"explanation": " All is well. "}', "All is well."),
    ],
)
def test_an_answer_is_read_in_the_form_asked_for(read, text, value) -> None:
    assert read(RawReply(text)) == value


FOUND = FindAnswer(query="How long?", contexts=("It is red.", "It lasts 20 hours."))


def found(reply: RawReply) -> FoundAnswer:
    return parse_found(reply, FOUND)


QUERY_KEYS = ('0="How?"', '3="How?"', '01="How?"', 'first="How?"', "1=1", '1="<query 1>"')
LEVELS = ("4.0", "4.5", "true", "null", "[4]", '"4"', '"good"', '"4/5"', '"4 or 5"')


@each_case(
    ("read", "form", "others"),
    [
        (two_queries, '{{"queries": {{}}, "{}": {}}}', ("noncommittal=false", "commits=1")),
        (two_queries, '{{"commits": true, "queries": {{"{}": {}}}}}', QUERY_KEYS),
        (two_queries, '{{"commits": true, "queries": {1}}}', ("=[]", '="a"')),
        (parse_abstention, '{{"{}": {}}}', ('label="yes"', "label=true", "abstains=true")),
        (parse_abstention, '{{"label": "ANSWERS", "{}": {}}}', ('final_label="ABSTAINS"',)),
        (parse_abstention, "{1}", ('="ABSTAINS"', "=Label: ANSWERS", "=")),
        (parse_rating, '{{"{}": {}}}', (*(f"level={level}" for level in LEVELS), "rating=4")),
        (parse_rating, '{{"level": 2, "{}": {}}}', ("adjusted_level=4",)),
        (parse_rating, "{1}", ('={"reason": "kind"}', "=Level: 4", "=[4]", "=4")),
        (found, '{{"answer": "a", "{}": {}}}', ('found="yes"', "found=1", "evidence=[]")),
        (found, '{{"found": true, "{}": {}}}', ('evidence=["20 hours"]', "answerable=false")),
        (parse_explanation, '{{"{}": {}}}', ('explanation=""', "explanation=7", "final=1")),
        (parse_explanation, "{1}", ("=All is well.", "=null", "=", '={"explanation": "All is')),
    ],
)
def test_an_answer_in_another_form_is_malformed(read, form, others) -> None:
    for other in others:
        text = form.format(*other.split("=", 1))
        assert cause_of(read, text) is Cause.MALFORMED, text
    for text in ("I cannot determine that.", "Lo siento, no puedo ayudar con eso."):
        assert cause_of(read, text) is Cause.REFUSAL


def test_an_answer_is_found_with_its_evidence() -> None:
    quotes = [{"context": 1, "quote": "20  hours"}, {"context": 2, "quote": "no words of it"}]
    value = {"answer": " 20\nhours", "evidence": quotes, "found": True}
    read = found(RawReply(json.dumps(value)))
    assert (read.found, read.answer) == (True, "20 hours")
    places = [(each.context, each.start, each.end) for each in read.evidence]
    assert places == [(1, 9, 17), (1, None, None)]
    value["found"] = False
    assert found(RawReply(json.dumps(value))) == FoundAnswer(found=False)


TWO = ("It lasts 20 hours.", "It is red.")
JSON = json.dumps({"claims": TWO})


def claims_of(text: str) -> tuple[str, ...]:
    return parse_claims(RawReply(text), "")


def failure_of(text: str, *, legacy_text: bool = False) -> Failure:
    with pytest.raises(JudgeFailureError) as caught:
        parse_claims(RawReply(text, legacy_text=legacy_text), "")
    assert caught.value.failure.raw == text
    return caught.value.failure


@each_case("legacy_text", [False, True])
def test_every_known_json_shape_of_claims_is_read(legacy_text: bool) -> None:
    keys = ("claims", "statements", "truths")  # RAGAS has statements
    for key in keys:
        text = json.dumps({key: TWO}, indent=2)
        assert parse_claims(RawReply(text, legacy_text=legacy_text), "") == TWO
    for key in ("facts", "Claims"):
        assert cause_of(lambda reply: parse_claims(reply, ""), json.dumps({key: TWO})) is (
            Cause.MALFORMED
        )


@each_case(
    "value",
    [
        *({"claims": TWO, key: TWO[:1]} for key in ("statements", "truths", "excluded", "note")),
        *({"claims": TWO, "truncated": True}, {"response": {"claims": TWO}}, [{"claims": TWO}]),
        *({"claims": [each]} for each in (1, None, [], {"claim": TWO[0]}, {"text": TWO[0]})),
        *(TWO, [], [[]], "It is red.", 42, {"claims": "It is red."}, {"claims": None}),
        json.dumps({"claims": TWO}),
    ],
)
def test_claims_in_another_form_are_never_read(value: object) -> None:
    assert failure_of(json.dumps(value)).cause is Cause.MALFORMED


@each_case(
    "claim",
    [
        *("...", "None", "n/a", "No claims", "Claim 1", "fact_2", "<claim>", "string"),
        *("It is red. - SUPPORTED", "It is red (NOT_ENOUGH_INFO)"),
    ],
)
def test_a_placeholder_is_no_claim(claim: str) -> None:
    failure = failure_of(json.dumps({"claims": [*TWO, claim]}))
    assert (failure.cause, failure.message) == (Cause.MALFORMED, f"{claim!r} is a placeholder")


@each_case(
    "text",
    [
        "1. It lasts 20 hours.\n2. It is red.",
        "Here are the claims:\n- It lasts 20 hours.\n- It is red.",
        "* It lasts 20 hours.\n\n• It is red.",
        "(1) It lasts 20 hours.\n[2] It is red.",
        "1) It lasts 20 hours.\n2) It is red.\n3) It is red.",
        "Claim 1: It lasts 20 hours.\nClaim 2: It is red.",
    ],
)
def test_numbered_and_bulleted_lines_are_claims_only_as_legacy_text(text: str) -> None:
    assert parse_claims(RawReply(text, legacy_text=True), "") == TWO
    assert failure_of(text).cause is Cause.MALFORMED


@each_case(
    "text",
    [
        *("1. It is red.\n3. It is old.", "1. It is red.\n1. It is old.", "1.\n2.", "- None"),
        *("1. It is red.\n- It is old.", "- It is red.\n...", "Here are the claims:"),
        "- It is red.\nThese are examples.",
        "I split it.\nIt has one:\n- It is red.",
        "1. I cannot help with that.",
    ],
)
def test_other_lists_are_no_claims_in_legacy_text_either(text: str) -> None:
    assert failure_of(text, legacy_text=True).cause in (Cause.MALFORMED, Cause.REFUSAL)


@each_case(
    ("text", "claims"),
    [
        *((text, ()) for text in ('{"claims": []}', '```json\n{"claims": []}\n```')),
        (
            '{"claims": ["It is\\n  red.", "", "It is red.", " \\t", "It is not."]}',
            ("It is red.", "It is not."),
        ),
        ('{"claims": ["Write ```json [] ``` first."]}', ("Write ```json [] ``` first.",)),
        ('{"claims": ["</think> ends it."]}', ("</think> ends it.",)),
    ],
)
def test_blank_claims_are_dropped_equal_ones_are_one_and_lines_are_joined(text, claims) -> None:
    assert claims_of(text) == claims


@each_case("cut", range(1, len(JSON)))
def test_json_that_is_cut_off_is_never_read_in_part(cut: int) -> None:
    for text in (JSON[:cut], f"```json\n{JSON[:cut]}", f"{JSON[:cut]}\n- It is red."):
        assert failure_of(text).cause is Cause.MALFORMED


@each_case(
    "text",
    [
        *('{"claims": ["a"], "claims": ["b"]}', '{"claims": ["a"], "Claims": ["b"]}'),
        *("[" * 100_000, '{"claims": [' * 20_000, '{"claims": [NaN]}'),
        '{"claims": [' + "9" * 10_000 + "]}",
        '{"claims": ["a"]} {"claims": ["b"',
        *("It lasts 20 hours.\nIt is red.", "There are no claims.", "<think>1. It is red."),
        *("", " \n\t", "<think>hm</think>", "\ufeff"),
        json.dumps({"claims": [], "a\n" * 1000: 1}),
    ],
)
def test_odd_json_is_malformed(text: str) -> None:
    failure = failure_of(text)
    assert failure.cause is Cause.MALFORMED
    assert "\n" not in failure.message
    assert len(failure.message) < 1000


def test_halves_of_characters_are_replaced() -> None:
    text = r'{"claims": ["a\ud800b", "\ud83d\ude00"]}'
    assert claims_of(text) == ("a\N{REPLACEMENT CHARACTER}b", "😀")
    with pytest.raises(JudgeFailureError) as caught:
        claims_of("\ud800")
    assert caught.value.failure.raw == "\N{REPLACEMENT CHARACTER}"


def three_grades(reply: RawReply) -> list[tuple[bool, str | None]]:
    return [(grade.relevant, grade.reason) for grade in parse_grades(reply, [""] * 3)]


def graded(*numbers: object, **more: object) -> str:
    return json.dumps({"grades": [{"number": n, "relevant": True, **more} for n in numbers]})


def test_grades_are_read_by_number_with_their_reasons() -> None:
    two = {"number": 2, "relevant": False, "reason": "so it is"}
    blank = {"number": 1, "relevant": True, "reason": " "}
    text = json.dumps({"grades": [two, {"number": 3, "relevant": True}, blank]})
    assert three_grades(RawReply(text)) == [(True, None), (False, "so it is"), (True, None)]


@each_case(
    ("numbers", "said"),
    [
        *(((), "got 0 grades for 3"), ((2,), "got 1 grade for 3"), ((1, 2, 3, 4), "got 4 grades")),
        ((1, 1, 3), "the grades for 1 to 3 are numbered 1, 1, 3"),
        ((0, 1, 2), "the grades for 1 to 3 are numbered 0, 1, 2"),
        ((1, -2, 3), "the grades for 1 to 3 are numbered 1, -2, 3"),
    ],
)
def test_there_has_to_be_exactly_one_grade_for_each_number(numbers: tuple, said: str) -> None:
    with pytest.raises(JudgeFailureError, match=said) as caught:
        three_grades(RawReply(graded(*numbers)))
    assert caught.value.cause is Cause.COUNT_MISMATCH


@each_case(
    "text",
    [
        *(graded(1, number, 3) for number in ("2", "two", "二", 2.0, 2.5, True, [2], None)),
        *(graded(1, 2, 3, relevant=each) for each in ("yes", "true", 1, 0, 0.5, [True], None)),
        *(graded(1, 2, 3, **{key: False}) for key in ("is_relevant", "irrelevant", "verdict")),
        *(graded(1, 2, 3).replace("grades", key) for key in ("verdicts", "contexts", "Grades")),
        *(graded(1, 2, 3).replace("number", key) for key in ("index", "id", "context")),
        *(graded(1, 2, 3).replace("}]", f"}}, {last}]") for last in ('{"number": 3}', "true")),
        *(graded(1, 2, 3)[1:-1], graded(1, 2, 3)[:-9], '{"grades": [true, true, true]}', ""),
        graded(1, 2, 3).replace("]}", '], "corrections": {"2": false}}'),
    ],
)
def test_grades_in_another_form_are_never_read(text: str) -> None:
    assert cause_of(three_grades, text) is Cause.MALFORMED
