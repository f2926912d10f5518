import json
from pathlib import Path

import pytest

from ragstone.datasets import Dataset, load
from ragstone.errors import InputError
from ragstone.types.sample import Context

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
    ("ids", "said"),
    [
        ("1 2", "may be one id or several"),
        ({"a": 1}, "expected a list of ids"),
        ("1", "2 texts, but 1"),
    ],
)
def test_ids_that_join_no_texts_are_told(tmp_path: Path, ids: object, said: str) -> None:
    record = {"user_input": "q", "retrieved_contexts": ["a", "b"], "retrieved_context_ids": ids}
    with pytest.raises(InputError, match=f"column retrieved_contexts: .*{said}"):
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
