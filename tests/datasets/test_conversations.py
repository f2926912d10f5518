"""Values inside objects, as columns where the user names them."""

import json
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.datasets.reading import Write, lines

from ragstone.datasets import load
from ragstone.datasets.conversations import messages_in, one_turn
from ragstone.datasets.table import Unreadable
from ragstone.errors import InputError, UsageError
from ragstone.types.sample import Context


def test_parts_of_text_are_what_was_said() -> None:
    for kind in ("text", "input_text", "output_text", None):
        parts = [{"type": kind, "content": "It is "}, {"type": kind, "text": "70 m."}, " High."]
        assert one_turn([{"role": "assistant", "parts": parts}], "response") == "It is 70 m. High."
    for kind in ("reasoning", "thinking", "blob", "uri", "tool_result"):
        parts = [{"type": kind, "content": "aGk="}, {"type": "text", "content": "It is 70 m."}]
        assert one_turn([{"role": "user", "parts": parts}], "query") == "It is 70 m."
        said = {"role": "user", "content": {"type": kind, "text": "x"}}
        assert one_turn([said], "query") is None


def test_messages_of_langchain_and_what_is_none() -> None:
    for kind in ("ai", "AIMessage", "AIMessageChunk"):
        message = {"type": kind, "content": "It is 70 m."}
        assert one_turn(message, "response") == "It is 70 m."
        within = {"lc": 1, "type": "constructor", "kwargs": message}
        assert one_turn({"messages": [within]}, "response") == "It is 70 m."
    given = {"type": "final", "text": "It is 70 m."}
    assert messages_in(given) is None
    assert one_turn(given, "response") is given
    turns = [{"role": "user", "content": "q"}, {"role": "Narrator", "content": "x"}]
    for field in ("query", "response"):
        assert one_turn(turns, field) == Unreadable(
            "unknown message role 'narrator'; expected user, assistant, system or tool"
        )


FILES = Path(__file__).parent / "files"


def read_ids(folder: Path, texts: object, ids: object) -> tuple[Context, ...] | None:
    record = {"user_input": "q", "retrieved_contexts": texts, "retrieved_context_ids": ids}
    return lines(folder / "a.jsonl", record).samples[0].contexts


@each_case(
    ("texts", "ids", "joined"),
    [
        *((["a", "b"], ids, "doc-a 2") for ids in ("doc-a, 2", '["doc-a", 2]', ["doc-a", 2])),
        ([{"page_content": "a"}, {"content": "b", "doc_id": "own"}], [1, 2], "1 own"),
        *((texts, ids, "5") for texts, ids in ((["a"], 5), ("a", "5"), ("a", 5), ('["a"]', [5]))),
    ],
)
def test_ids_in_every_form_join_their_texts(
    tmp_path: Path, texts: object, ids: object, joined: str
) -> None:
    found = read_ids(tmp_path, texts, ids) or ()
    assert " ".join(str(each.id) for each in found) == joined
    assert "".join(each.text for each in found) in ("a", "ab")


@each_case(
    ("ids", "message"),
    [
        ("1 2", "may be one id or several"),
        ({"a": 1}, "expected a list of ids"),
        ("1", "2 texts, but 1"),
        (["1"], "2 texts, but 1 in retrieved_context_ids"),
    ],
)
def test_ids_that_join_no_texts_are_reported(tmp_path: Path, ids: object, message: str) -> None:
    with pytest.raises(InputError, match=f"column retrieved_contexts: .*{message}"):
        read_ids(tmp_path, ["a", "b"], ids)


@each_case("scores", ["0.5; 0.4", [0.5, 0.4]])
def test_ids_of_saved_responses_without_texts_are_a_ranking(tmp_path: Path, scores: object) -> None:
    made = json.loads((FILES / "saved-responses.json").read_text(encoding="utf-8"))
    row = {"retrieved_contexts": None, "retrieved_ids": [5, 6], "retrieved_scores": scores}
    made["responses"][0] |= row
    for mode in ("chat", "search"):
        made["metadata"]["mode"] = mode
        (tmp_path / "a.json").write_text(json.dumps(made), encoding="utf-8")
        sample = load(tmp_path / "a.json").samples[0]
        assert sample.ranking == (Context(id="5", score=0.5), Context(id="6", score=0.4))
        assert sample.contexts is None


def test_a_part_of_the_metadata_may_be_named(tmp_path: Path) -> None:
    record = {"traceId": "t", "input": "q", "output": "a", "metadata": {"contexts": ["c"], "n": 1}}
    for name in ("contexts", "Metadata.Contexts"):
        sample = lines(tmp_path / "a.jsonl", record, columns={"contexts": name}).samples[0]
        assert (sample.contexts, sample.tags) == ((Context(text="c"),), {"traceId": "t", "n": 1})


def test_a_part_of_a_cell_may_be_named_however_deep(write: Write) -> None:
    path = write("a.csv", 'query,more\nq,"{""rag"": {""found"": [""c""], ""k"": 5}}"\nr,\n')
    first, second = load(path, columns={"contexts": "more.rag.found"}).samples
    assert first.contexts == (Context(text="c"),)
    assert (first.tags, second.contexts) == ({"more": '{"rag": {"found": ["c"], "k": 5}}'}, None)
    with pytest.raises(UsageError, match=r"there is no column 'more\.rag\.lost'"):
        load(path, columns={"contexts": "more.rag.lost"})
