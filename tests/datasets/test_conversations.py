"""Values inside objects, as columns where the user names them."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.datasets import Dataset, load
from ragstone.datasets.conversations import messages_in, one_turn
from ragstone.datasets.table import Unreadable
from ragstone.errors import InputError, UsageError
from ragstone.types.sample import Context


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


def test_an_object_of_another_type_is_not_a_message() -> None:
    given = {"type": "final", "text": "It is 70 m."}
    assert messages_in(given) is None
    assert one_turn(given, "response") is given


@pytest.mark.parametrize("field", ["query", "response"])
def test_a_role_that_is_not_known_is_refused(field: str) -> None:
    turns = [{"role": "user", "content": "q"}, {"role": "Narrator", "content": "x"}]
    assert one_turn(turns, field) == Unreadable(
        "unknown message role 'narrator'; expected user, assistant, system or tool"
    )


FILES = Path(__file__).parent / "files"


def rows(path: Path, *records: object) -> Dataset:
    path.write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    return load(path)


def test_as_many_ids_as_texts(tmp_path: Path) -> None:
    record = {"user_input": "q", "retrieved_contexts": ["a", "b"], "retrieved_context_ids": ["1"]}
    with pytest.raises(InputError, match="2 texts, but 1 in retrieved_context_ids"):
        rows(tmp_path / "a.jsonl", record)


@pytest.mark.parametrize("ids", ["doc-a, 2", "doc-a;2", '["doc-a", 2]', ["doc-a", 2]])
def test_ids_in_every_form_join_their_texts(tmp_path: Path, ids: object) -> None:
    record = {"user_input": "q", "retrieved_contexts": ["a", "b"], "retrieved_context_ids": ids}
    sample = rows(tmp_path / "a.jsonl", record).samples[0]
    assert sample.contexts == (Context(text="a", id="doc-a"), Context(text="b", id="2"))


@pytest.mark.parametrize(("texts", "ids"), [(["a"], 5), ("a", "5"), ("a", 5), ('["a"]', [5])])
def test_one_id_joins_one_text(tmp_path: Path, texts: object, ids: object) -> None:
    record = {"user_input": "q", "retrieved_contexts": texts, "retrieved_context_ids": ids}
    assert rows(tmp_path / "a.jsonl", record).samples[0].contexts == (Context(text="a", id="5"),)


def test_ids_join_texts_that_are_objects_without_ids(tmp_path: Path) -> None:
    texts = [{"page_content": "a"}, {"content": "b", "doc_id": "own"}]
    record = {"user_input": "q", "retrieved_contexts": texts, "retrieved_context_ids": [1, 2]}
    sample = rows(tmp_path / "a.jsonl", record).samples[0]
    assert sample.contexts == (Context(text="a", id="1"), Context(text="b", id="own"))


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ("1 2", "may be one id or several"),
        ({"a": 1}, "expected a list of ids"),
        ("1", "2 texts, but 1"),
    ],
)
def test_ids_that_join_no_texts_are_reported(tmp_path: Path, ids: object, message: str) -> None:
    record = {"user_input": "q", "retrieved_contexts": ["a", "b"], "retrieved_context_ids": ids}
    with pytest.raises(InputError, match=f"column retrieved_contexts: .*{message}"):
        rows(tmp_path / "a.jsonl", record)


@pytest.mark.parametrize("scores", ["0.5; 0.4", [0.5, 0.4]])
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


def test_ids_of_a_table_join_the_texts_of_some_rows_and_are_the_ranking_of_others(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.csv"
    lines = (
        "query_index,query,retrieved_contexts,retrieved_ids",
        "0,q,a,5",
        '1,r,,"5, 6"',
        "2,s",
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    first, second, third = load(path).samples
    assert (first.contexts, first.ranking) == ((Context(text="a", id="5"),), None)
    assert (second.contexts, second.ranked_ids) == (None, ("5", "6"))
    assert (third.contexts, third.ranking) == (None, None)


# Values inside objects, as columns where the user names them.


Write = Callable[[str, str], Path]
LANGFUSE = {"traceId": "t", "input": "q", "output": "a"}


@pytest.mark.parametrize("name", ["contexts", "metadata.contexts", "Metadata.Contexts"])
def test_a_part_of_the_metadata_may_be_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "a.jsonl"
    record = {**LANGFUSE, "metadata": {"contexts": ["c"], "level": "easy"}}
    path.write_text(json.dumps(record), encoding="utf-8")
    sample = load(path, columns={"contexts": name}).samples[0]
    assert sample.contexts == (Context(text="c"),)
    assert sample.tags == {"traceId": "t", "level": "easy"}


def test_a_part_of_a_cell_may_be_named_however_deep(write: Write) -> None:
    path = write("a.csv", 'query,more\nq,"{""rag"": {""found"": [""c""], ""k"": 5}}"\nr,\n')
    first, second = load(path, columns={"contexts": "more.rag.found"}).samples
    assert first.contexts == (Context(text="c"),)
    assert (first.tags, second.contexts) == ({"more": '{"rag": {"found": ["c"], "k": 5}}'}, None)
    with pytest.raises(UsageError, match=r"there is no column 'more\.rag\.lost'"):
        load(path, columns={"contexts": "more.rag.lost"})


def test_tags_and_metadata_of_langfuse_are_both_tags(write: Write) -> None:
    record = {**LANGFUSE, "tags": '["x"]', "metadata": '{"k": 1}'}
    cells = [",".join(record), ",".join('"' + v.replace('"', '""') + '"' for v in record.values())]
    tags = load(write("a.csv", "\n".join(cells))).samples[0].tags
    assert tags == {"traceId": "t", "tags": '["x"]', "k": 1}
