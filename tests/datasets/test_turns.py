import pytest
from tests.cases import each_case

from ragstone.datasets.adapters.conversations import messages_in, one_turn
from ragstone.datasets.table import Unreadable


@pytest.mark.parametrize("kind", ["text", "input_text", "output_text", None])
def test_parts_of_text_are_what_was_said(kind: str | None) -> None:
    parts = [{"type": kind, "content": "It is "}, {"type": kind, "text": "70 m."}, " High."]
    assert one_turn([{"role": "assistant", "parts": parts}], "response") == "It is 70 m. High."


@each_case("kind", ["reasoning", "thinking", "blob", "uri", "tool_result"])
def test_thoughts_pictures_and_tools_are_not(kind: str) -> None:
    parts = [{"type": kind, "content": "aGk="}, {"type": "text", "content": "It is 70 m."}]
    assert one_turn([{"role": "user", "parts": parts}], "query") == "It is 70 m."
    assert one_turn([{"role": "user", "content": {"type": kind, "text": "x"}}], "query") is None


@pytest.mark.parametrize("kind", ["ai", "AIMessage", "AIMessageChunk"])
def test_answers_of_langchain_by_all_their_names(kind: str) -> None:
    message = {"type": kind, "content": "It is 70 m."}
    assert one_turn(message, "response") == "It is 70 m."
    within = {"lc": 1, "type": "constructor", "kwargs": message}
    assert one_turn({"messages": [within]}, "response") == "It is 70 m."


def test_an_object_of_another_type_is_no_message() -> None:
    given = {"type": "final", "text": "It is 70 m."}
    assert messages_in(given) is None
    assert one_turn(given, "response") is given


@pytest.mark.parametrize("field", ["query", "response"])
def test_a_role_that_is_not_known_is_refused(field: str) -> None:
    said = [{"role": "user", "content": "q"}, {"role": "Narrator", "content": "x"}]
    assert one_turn(said, field) == Unreadable(
        "unknown message role 'narrator'; expected user, assistant, system or tool"
    )
