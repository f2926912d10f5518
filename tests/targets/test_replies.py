import json

import pytest
from tests.cases import each_case

from ragstone.errors import CallError, Cause
from ragstone.targets.http import fields_of, shaped
from ragstone.types.sample import Context

RANKING = "results[].{id: point_id, text: text, score: score}"
CONTEXTS = "retrieved_chunks[].{id: point_id, text: text, score: score}"


def read(reply: object, **paths: str) -> dict[str, object]:
    content = reply if isinstance(reply, bytes) else json.dumps(reply).encode()
    return fields_of(content, paths, stream=False)


def streamed(*events: object, **paths: str) -> dict[str, object]:
    said = [event if isinstance(event, str) else json.dumps(event) for event in events]
    stream = "".join(f"data: {event}\n\n" for event in said)
    return fields_of(stream.encode(), paths, stream=True)


def test_a_whole_reply() -> None:
    reply = {
        "response": "Yes.",
        "retrieved_chunks": [{"point_id": 5, "text": "five", "score": 0.5}, {"text": "six"}],
    }
    assert read(reply, response="response", contexts=CONTEXTS) == {
        "response": "Yes.",
        "contexts": (Context(text="five", id="5", score=0.5), Context(text="six")),
    }


def test_empty_is_not_failed() -> None:
    reply = {"results": [], "response": ""}
    assert read(reply, response="response", ranking=RANKING) == {"response": "", "ranking": ()}


def test_a_ranking_may_hold_ids_alone() -> None:
    assert read({"ids": [5, "x", 7.0]}, ranking="ids") == {
        "ranking": (Context(id="5"), Context(id="x"), Context(id="7"))
    }


def test_contexts_may_be_texts_alone() -> None:
    assert read({"c": ["a", ""]}, contexts="c") == {"contexts": (Context(text="a"), Context())}


def test_a_ranking_may_hold_texts_alone() -> None:
    assert read([{"t": "a"}], ranking="[].{text: t}") == {"ranking": (Context(text="a"),)}


@each_case(
    ("reply", "told"),
    [
        (b"", "the reply is not valid JSON: "),
        (b"<html>\n<body>", "the reply is not valid JSON: <html> <body>"),
        (b'{"results": [', "the reply is not valid JSON"),
        (b"\xff\xfe\xfa", "the reply is not valid JSON"),
        (b"[" * 100_000, "the reply is not valid JSON"),
        ([], "the reply has no value at 'results[]"),
        (None, "it has null"),
        (5, "it has 5"),
        ("text", "it has text"),
        ({}, "it has no keys"),
        ({"hits": [], "took": 5}, "it has the keys hits, took"),
        ({f"{'k' * 500}{n}": n for n in range(50)}, "the keys kkk"),
        ({"results": None}, "it has the keys results"),
        ({"results": {"a": 1}}, "the reply has no value at"),
        ({"results": "none"}, "the reply has no value at"),
        ({"results": [{"text": "a"}]}, "an item of ranking has no id: "),
        ({"results": [{"point_id": 1}, {"point_id": None}]}, "an item of ranking has no id: "),
        ({"results": [5]}, "an item of ranking has no id: "),
        ({"results": [{"point_id": " "}]}, "an item of ranking: id: "),
        ({"results": [{"point_id": True}]}, "an item of ranking: id: "),
        ({"results": [{"point_id": [1]}]}, "an item of ranking: id: "),
        ({"results": [{"point_id": 1, "text": 5}]}, "an item of ranking: text: "),
        ({"results": [{"point_id": 1, "text": ["a"]}]}, "an item of ranking: text: "),
        ({"results": [{"point_id": 1, "score": "high"}]}, "an item of ranking: score: "),
    ],
)
def test_a_search_s_reply_of_another_shape(reply: object, told: str) -> None:
    with pytest.raises(CallError) as caught:
        read(reply, ranking=RANKING)
    assert caught.value.cause is Cause.MALFORMED
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 350


@each_case(
    ("reply", "told"),
    [
        ({"response": 5, "retrieved_chunks": []}, "expected the response to be text, got 5"),
        (
            {"response": ["a"], "retrieved_chunks": []},
            'expected the response to be text, got ["a"]',
        ),
        ({"response": None, "retrieved_chunks": []}, "the reply has no value at 'response'"),
        ({"response": "a"}, "the reply has no value at 'retrieved_chunks[]"),
        ({"response": "a", "retrieved_chunks": [{"point_id": 5}]}, "contexts has no text"),
        ({"response": "a", "retrieved_chunks": [{"text": None}]}, "contexts has no text"),
        ({"response": "a", "retrieved_chunks": [{"text": 5}]}, "an item of contexts: text"),
        ({"response": "a", "retrieved_chunks": ["five"]}, "an item of contexts has no text"),
    ],
)
def test_a_chat_s_reply_of_another_shape(reply: object, told: str) -> None:
    with pytest.raises(CallError, match=r".") as caught:
        read(reply, response="response", contexts=CONTEXTS)
    assert caught.value.cause is Cause.MALFORMED
    assert told in str(caught.value)


def test_a_function_of_a_path_that_does_not_fit() -> None:
    with pytest.raises(CallError, match=r"join.* does not fit the reply: .*") as caught:
        read({"a": 5}, response="join('', a)")
    assert caught.value.cause is Cause.MALFORMED


@pytest.mark.parametrize("score", ["NaN", "1e999", "-Infinity", "null"])
def test_a_score_that_is_no_number_is_unknown(score: str) -> None:
    reply = f'{{"results": [{{"point_id": 1, "score": {score}}}]}}'
    assert read(reply.encode(), ranking=RANKING) == {"ranking": (Context(id="1"),)}


def test_halves_of_characters_do_no_harm() -> None:
    reply = rb'{"r": "a\ud83d\ude00 b\ud83d", "c": [{"text": "\ude00 c", "id": "\ud83d"}]}'
    assert read(reply, response="r", contexts="c") == {
        "response": "a\U0001f600 b\ufffd",
        "contexts": (Context(text="\ufffd c", id="\ufffd"),),
    }


def test_pieces_of_a_streamed_answer_are_joined() -> None:
    events = [{"d": {"c": "The "}}, {"d": {}}, {"d": {"c": None}}, {"d": {"c": "answer."}}]
    assert streamed(*events, "[DONE]", response="d.c") == {"response": "The answer."}


def test_a_streamed_reply_may_have_contexts() -> None:
    events = [{"chunks": []}, {"t": "Yes"}, {"chunks": [{"text": "a"}]}, {"t": "."}]
    assert streamed(*events, response="t", contexts="chunks") == {
        "response": "Yes.",
        "contexts": (Context(text="a"),),
    }


def test_a_character_cut_apart_by_a_stream_is_whole_again() -> None:
    events = [r'{"t": "a\ud83d"}', r'{"t": "\ude00"}']
    assert streamed(*events, response="t") == {"response": "a\U0001f600"}


@pytest.mark.parametrize(
    ("events", "response"),
    [
        (["It was ", "2024", ".", " null", '"', "[1]"], 'It was 2024. null"[1]'),
        (["42"], "42"),
        (['"a"', '"\\n"', '"b"'], "a\nb"),
        (['"a"', "b"], '"a"b'),
    ],
)
def test_events_that_are_text(events: list[str], response: str) -> None:
    stream = "".join(f"data: {event}\n\n" for event in events).encode()
    assert fields_of(stream, {"response": "@"}, stream=True) == {"response": response}


def test_words_between_events_of_json_say_nothing() -> None:
    assert streamed({"t": "a"}, "ping", {"t": "b"}, "END", response="t") == {"response": "ab"}


@each_case(
    ("events", "cause", "told"),
    [
        ([{"t": "half"}, '{"t": "an ans'], Cause.MALFORMED, "an event is not valid JSON: "),
        ([{"t": "half"}, {"error": {"m": "oh"}}], Cause.UNREACHABLE, 'error: {"m": "oh"}'),
        ([{"t": "half"}, {"t": 5}], Cause.MALFORMED, "a piece of the response is 5"),
        ([{"x": 1}], Cause.MALFORMED, "no event of the reply has a value at 't'"),
        (["ping"], Cause.MALFORMED, "no event of the reply has a value at 't'"),
    ],
)
def test_a_stream_that_broke_is_no_answer(events: list[object], cause: Cause, told: str) -> None:
    with pytest.raises(CallError) as caught:
        streamed(*events, response="t")
    assert caught.value.cause is cause
    assert told in str(caught.value)


def test_an_error_that_is_null_is_none() -> None:
    assert streamed({"t": "a", "error": None}, response="t") == {"response": "a"}


@each_case("value", ["text", {"a": 1}, 5, None, iter([])])
def test_contexts_that_are_no_list(value: object) -> None:
    with pytest.raises(CallError, match="expected contexts to be a list"):
        shaped("contexts", value)


def test_contexts_stay_as_they_are() -> None:
    contexts = (Context(text="a"), Context(text="b", id="1"))
    assert shaped("contexts", contexts) == contexts
