"""Where an unknown API's reply has the answer and the contexts."""

import json

import pytest
from tests.cases import each_case

from ragstone.errors import CallError
from ragstone.evaluation.probe import find_paths

LONG = "The filter is changed every six months."


QUOTES = {
    "output": {"text": "Yes."},
    "more_questions": ["What about the price of it?"],
    "quotes": [{"title": "T", "snippet": LONG, "url": "http://a"}],
}
MESSAGES = [{"type": "human", "content": "q"}, {"type": "ai", "content": "Yes."}]


@each_case(
    ("reply", "response", "contexts"),
    [
        ({"answer": "IP68", "sources": [LONG, "Short."]}, "answer", "sources"),
        (QUOTES, "output.text", "quotes[].{id: url, text: snippet}"),
        ({"choices": [{"message": {"content": LONG}}]}, "choices[0].message.content", None),
        ({"messages": MESSAGES}, "messages[-1].content", None),
        ({"id": "1", "status": "ok", "said": LONG}, "said", None),
    ],
)
def test_answer_and_contexts_are_recognized(
    reply: object, response: str, contexts: str | None
) -> None:
    expected = {"response": response} | ({"contexts": contexts} if contexts else {})
    assert find_paths(json.dumps(reply).encode(), "q") == expected


@each_case(
    ("reply", "seen"),
    [
        (b"data: {}", "the reply is not JSON: data: {}"),
        (b'{"error": "no field `frage`", "message": "What was asked?"}', "has no answer"),
    ],
)
def test_a_reply_without_an_answer_is_none(reply: bytes, seen: str) -> None:
    with pytest.raises(CallError, match=seen):
        find_paths(reply, "q")
