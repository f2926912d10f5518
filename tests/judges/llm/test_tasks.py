import json
import re
from collections.abc import Iterator

import pytest
from tests.cases import each_case
from tests.judges.each_question import QUESTIONS

from ragstone._internal.sentences import split_sentences
from ragstone.errors import Cause
from ragstone.judges.llm.coverage import invented, uncovered
from ragstone.judges.llm.model import unbounded
from ragstone.judges.llm.prompt import TASKS, Prompt, longest_reply, verdict_schema
from ragstone.judges.llm.replies import RawReply
from ragstone.types.claim import DraftQuestion
from ragstone.types.questions import (
    ExtractClaims,
    ExtractTruths,
    GenerateQueries,
    Question,
    RateResponse,
    VerifyClaims,
    WriteQuestions,
)
from ragstone.types.reply import JudgeFailureError

VERIFY = VerifyClaims(claims=("It is blue.", "It is\nnew."), contexts=("Blue.", "Old.\n\nVery."))
EXTRACT = ExtractClaims(query="What?", response="It is blue.")
RATE = RateResponse(
    criteria="Is it kind?", levels=((1, "rude"), (2, "kind")), query="What?", response="Blue."
)
GUESS = GenerateQueries(response="r", count=1)
WRITE = WriteQuestions(passages=("Blue.", "It is old."), type="multi", count=2)
FEW = ExtractTruths(context="The battery lasts twenty hours." * 9, limit=2)


BATTERY, CASE = "The battery lasts twenty hours.", "The case is made of metal."
OTHER = "The international conference is annual."


@each_case(
    ("more", "claims", "left"),
    [
        (CASE, [BATTERY, CASE], []),
        (CASE, [BATTERY], [CASE]),
        (CASE, [], [BATTERY, CASE]),
        ("It is blue.", [BATTERY], []),  # too short to be missed
        ("Let me know if you need anything further about it.", [BATTERY], []),
        ("The battery weighs 180 grams.", [BATTERY], ["The battery weighs 180 grams."]),
        ("Outdoors the battery lasts twenty hours reliably.", [BATTERY], []),
        (OTHER, [BATTERY, "Its interest confers an annuity."], [OTHER]),
    ],
)
def test_sentences_that_state_something_and_are_in_no_claim(more, claims, left) -> None:
    assert list(uncovered(split_sentences(f"{BATTERY} {more}"), claims)) == left


@each_case(
    ("claim", "response", "new"),
    [
        ("The warranty lasts two years.", "Two years.", False),  # the rest is in the query
        ("It weighs 180 grams.", "It weighs 108 grams.", True),
        ("It lasts 25 hours.", "It lasts twenty-five hours.", False),
        ("It weighs 2.5 g.", "It weighs 25 g.", True),
        ("In 2019 300 people were hired.", "The firm hired 300 people in 2019.", False),
        ("Die Batterie lädt in 30 Minuten.", "In dreißig Minuten lädt die Batterie.", False),
        ("It is new.", "It is old.", True),
        ("電池は二十時間持つ。", "電池は二十時間持ちます。", False),
        ("会社は東京にある。", "電池は二十時間持ちます。", True),
    ],
)
def test_claims_that_do_not_come_from_the_response(claim: str, response: str, new: bool) -> None:
    claims, query = ["It is.", claim], "It is what? How long does the warranty last?"
    assert invented(claims, response, query) == (claim if new else None)


def test_what_a_question_limits_its_schema_limits() -> None:
    def properties(question: Question[object]) -> dict[str, dict[str, object]]:
        return TASKS[question.kind].schema(question)["properties"]

    three = VERIFY.varied(claims=("a", "b", "c"))
    assert properties(three) == verdict_schema(3, 2)["properties"]
    verdicts = properties(three)["verdicts"]
    assert (verdicts["minItems"], verdicts["maxItems"]) == (3, 3)
    verdict = verdicts["items"]["properties"]
    assert verdict["claim"] == {"type": "integer", "minimum": 1, "maximum": 3}
    context = verdict["evidence"]["items"]["properties"]["context"]
    assert context == {"type": "integer", "minimum": 1, "maximum": 2}
    for partial in (False, True):
        offered = json.dumps(properties(VERIFY.varied(partial=partial)))
        assert ("PARTIALLY_SUPPORTED" in offered) is partial
    assert properties(FEW)["truths"]["maxItems"] == 2
    assert TASKS["extract_truths"].options(FEW) == {"limit": "2"}
    parse = TASKS["extract_truths"].parse
    assert parse(RawReply('{"truths": ["a", "b", "c"]}'), FEW) == ("a", "b")
    queries = properties(GUESS.varied(count=4))["queries"]
    assert queries["required"] == ["1", "2", "3", "4"]  # each has a key, so none can be left out
    assert properties(RATE)["level"]["enum"] == [1, 2]
    longer = EXTRACT.varied(response=" ".join([BATTERY] * 50))
    assert properties(longer)["claims"]["maxItems"] >= 50


def test_a_list_has_no_more_claims_than_the_response_has_room_for() -> None:
    many = json.dumps({"claims": [f"{'It is ' * n}blue." for n in range(1, 99)]})
    with pytest.raises(JudgeFailureError, match="98 claims, more than"):
        TASKS["extract_claims"].parse(RawReply(many), EXTRACT)


def nodes(schema: dict[str, object]) -> Iterator[dict[str, object]]:
    yield schema
    below = [*schema.get("properties", {}).values(), *filter(None, [schema.get("items")])]
    for each in below:
        yield from nodes(each)


LIMITS = {
    "array": {"minItems", "maxItems"},
    "integer": {"minimum", "maximum"},
    "string": {"maxLength"},
}


@each_case("question", QUESTIONS.values())
def test_strict_modes_take_every_schema_and_everything_in_it_is_bounded(question: Question[object]):
    schema = TASKS[question.kind].schema(question)
    assert schema["title"]
    for node in nodes(schema):
        assert "enum" in node or LIMITS.get(node["type"], set()) <= node.keys()
        if node["type"] == "object":
            assert node["additionalProperties"] is False
            assert node["required"] == list(node["properties"])
    for node in nodes(unbounded(schema)):
        assert not node.keys() & set().union(*LIMITS.values())
        assert node.keys() & {"title", "properties", "items", "type"}
    assert not re.search(r"\$|description", json.dumps(schema))


def keys(schema: dict[str, object]) -> Iterator[str]:
    for key, each in schema.get("properties", {}).items():
        yield key
        yield from keys(each.get("items", each))


@each_case("question", QUESTIONS.values())
def test_a_prompt_asks_for_the_keys_of_its_schema_in_their_order(question: Question[object]):
    form = Prompt.of(question.kind).system.partition("Reply with JSON")[2]
    schema = TASKS[question.kind].schema(question)
    assert (
        re.findall(r'"(\w+)"', form) == [key for key in keys(schema) if key not in ("2", "3")] != []
    )


def example(schema: dict[str, object], *, longest: bool = False, number: int = 1) -> object:
    """A reply in the form that a schema asks for, or the longest one."""
    if "enum" in schema:
        return max(schema["enum"], key=lambda each: len(str(each)) if longest else 0)
    if schema["type"] == "object":
        fields = schema["properties"].items()
        return {key: example(each, longest=longest, number=number) for key, each in fields}
    if schema["type"] == "array":
        most = schema["maxItems"] if longest else max(1, schema["minItems"])
        return [example(schema["items"], longest=longest, number=n + 1) for n in range(most)]
    text = "字" * schema.get("maxLength", 0) if longest else "It is blue."
    return {"string": text, "integer": number, "boolean": not longest}[schema["type"]]


@each_case("question", QUESTIONS.values())
def test_the_longest_reply_has_room(question: Question[object]) -> None:
    schema = TASKS[question.kind].schema(question)
    length = len(json.dumps(example(schema, longest=True), ensure_ascii=False))
    assert 0.49 * length <= longest_reply(schema) <= length + 20


def changes(value: object) -> Iterator[tuple[str | None, object]]:
    """Yield a reply's value with one key left out, and it, or with something in another form."""
    if isinstance(value, dict):
        yield None, {**value, "note": "draft"}
        yield None, [value]
        for key, each in value.items():
            rest = {other: value[other] for other in value if other != key}
            yield key, rest
            yield None, {**rest, f" {key.capitalize()}": each}
            yield from ((left_out, {**value, key: other}) for left_out, other in changes(each))
    elif isinstance(value, list):
        yield None, value[0]
        yield None, {str(n): each for n, each in enumerate(value, 1)}
        yield from ((left_out, [other, *value[1:]]) for left_out, other in changes(value[0]))
    else:
        yield None, [value]
        for other in {bool: ("yes", 1), int: ("1", 1.0, True), str: (1, True)}[type(value)]:
            yield None, other


OPTIONAL = {
    "verify_claims": {"evidence", "reason"},
    "grade_contexts": {"reason"},
    "rate_response": {"reason"},
    "find_answer": {"evidence"},
    "write_questions": {"reference", "claims", "quotes"},
}


@each_case("question", QUESTIONS.values())
def test_replies_are_read_in_the_form_of_the_schema_and_in_no_other(question: Question[object]):
    task, optional = TASKS[question.kind], set[str]()

    def read(value: object) -> object:
        return question.reply(task.parse(RawReply(json.dumps(value)), question)).value

    value = example(task.schema(question))
    read(value)
    for left_out, other in changes(value):
        cause = None
        try:
            read(other)
        except JudgeFailureError as error:
            cause = error.cause
        if cause is None:
            assert left_out, other
            optional.add(left_out)
        else:
            counted = left_out is not None and left_out.isdigit()
            assert cause is (Cause.COUNT_MISMATCH if counted else Cause.MALFORMED), other
    assert optional == OPTIONAL.get(question.kind, set())


def test_no_more_questions_than_asked_for_are_read_and_none_without_a_query() -> None:
    parse = TASKS["write_questions"].parse
    draft = {"reference": "It is old.", "claims": ["It is\nold."]}
    draft["quotes"] = [{"passage": 2, "quote": "Is  old"}]
    many = {"questions": [{**draft, "query": query} for query in ("", "What\nis it?", "B?", "C?")]}
    first, second = parse(RawReply(json.dumps(many)), WRITE)
    assert first == DraftQuestion(
        query="What is it?",
        reference="It is old.",
        claims=("It is old.",),
        quotes=((2, "Is  old"),),  # as written
    )
    assert second.query == "B?"
    assert parse(RawReply('{"questions": []}'), WRITE) == ()
    placeholder = '{"questions": [{"query": "What?", "claims": ["<claim 1>"]}]}'
    for reply in ("What is it?", '{"questions": [{"query": "..."}]}', placeholder):
        with pytest.raises(JudgeFailureError) as failed:
            parse(RawReply(reply), WRITE)
        assert failed.value.failure.cause is Cause.MALFORMED
