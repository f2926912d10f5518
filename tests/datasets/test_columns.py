import json
import re
import sys
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.datasets.reading import lines

from ragstone._internal.text import plain_name
from ragstone.datasets import load
from ragstone.datasets.columns import ALIASES, WEAK_OF, Layout, resolve_columns
from ragstone.errors import InputError, UsageError
from ragstone.types.sample import Context, Sample

PAIRS = [
    (field, alias)
    for field, aliases in ALIASES.items()
    for alias in aliases
    if plain_name(alias) not in WEAK_OF
]


@each_case(("field", "alias"), PAIRS)
@each_case("change", [str, str.upper, str.title, lambda name: f" {name} "])
def test_every_alias_is_its_field(field: str, alias: str, change: type[str]):
    name = change(alias)
    assert Layout.of([name], {}).fields == {field: name}
    assert resolve_columns({alias: "x"}, ["x"]) == {field: "x"}


@each_case("name", ["Ground_truth_answer", "ground truth answer", "GroundTruth-Answer"])
def test_names_match_without_case_blanks_underscores_and_hyphens(name: str):
    assert Layout.of([name], {}).fields == {"reference": name}


def test_the_values_propose_a_query(tmp_path: Path) -> None:
    for row, hint in (
        ({"Querry": "How high is it", "answer": "x"}, "did you mean map query=Querry?"),
        ({"Question_id": "q1", "Text": "How high is it?"}, "did you mean map query=Text?"),
    ):
        with pytest.raises(InputError) as caught:
            lines(tmp_path / "a.jsonl", row)
        assert caught.value.problems[0].fix == hint


def test_a_mapping_of_what_is_not_there():
    for mapped, expected in (
        ({"qurey": "a"}, "there is no field named 'qurey'; did you mean 'query'?"),
        ({"query": "x y"}, "map query='x y': there is no column 'x y' (the columns are 'Frage', "),
    ):
        with pytest.raises(UsageError, match=re.escape(expected)):
            resolve_columns(mapped, ["Frage", "Antwort"])


FILES = Path(__file__).parent / "files"
QUERY, RESPONSE, REFERENCE = "How high is the tower?", "It is 70 m high.", "70 m"
HEIGHT, BUILT = "The tower is 70 m high.", "It was built in 1890."
SHAPES_OF = {
    "ragas samples": "ragas.jsonl ragas.csv",
    "deepeval goldens or test cases": "deepeval.json deepeval.csv",
    "RagaliQ test cases": "ragaliq.json ragaliq.yaml ragaliq.csv",
    "inputs and outputs": "mlflow.jsonl",
    "saved responses": "saved-responses.json",
    "rows of ragstone": "ragstone-rows.jsonl",
    "promptfoo results": "promptfoo.json",
    "LangSmith examples": "langsmith-examples.jsonl",
    "LangSmith runs": "langsmith-runs.jsonl",
    "Langfuse dataset items or observations": "langfuse-items.json langfuse-observations.csv",
    "Phoenix questions whose reference is the retrieved contexts": "phoenix-questions.csv",
    "spans": "otlp.jsonl phoenix.jsonl console-spans.jsonl",
}
READ_AS = {name: shape for shape, names in SHAPES_OF.items() for name in names.split()}
WITHOUT_RESPONSE = ("langfuse-items.json", "langsmith-examples.jsonl")
WITHOUT_CONTEXTS = (*WITHOUT_RESPONSE, "langfuse-observations.csv")


def first(name: str) -> Sample:
    return load(FILES / name).samples[0]


@each_case("name", sorted(path.name for path in FILES.iterdir()))
def test_every_file_is_read_as_what_it_is_whatever_it_is_called(name: str, tmp_path: Path) -> None:
    other = (tmp_path / "data").with_suffix(Path(name).suffix)
    other.write_bytes((FILES / name).read_bytes())
    loaded = load(other)
    notes = [note for note in loaded.source.notes if note.startswith("read as ")]
    assert notes == ([] if name == "ragchecker.json" else [f"read as {READ_AS[name]}"])
    sample = loaded.samples[0]
    assert sample.query == QUERY
    lacks = name in WITHOUT_RESPONSE
    assert sample.response == (None if lacks else RESPONSE)
    assert not lacks or sample.reference == REFERENCE
    texts = [context.text for context in sample.contexts or ()]
    assert texts[:1] == ([] if name in WITHOUT_CONTEXTS else [HEIGHT])


def test_what_files_of_other_tools_have_more(tmp_path: Path) -> None:
    sample = first("ragas.jsonl")
    assert sample.contexts == (Context(text=HEIGHT, id="doc-a"), Context(text=BUILT, id="doc-b"))
    assert sample.relevance == {"doc-a": 1.0}
    assert load(FILES / "ragas.jsonl").samples[1].contexts == ()
    loaded = lines(tmp_path / "a.jsonl", {"user_input": "q", "retrieved_context_ids": ["a", 2]})
    assert (loaded.samples[0].ranked_ids, loaded.samples[0].contexts) == (("a", "2"), None)
    golden = load(FILES / "deepeval.json").samples[1]  # what ought to be retrieved was not
    assert (golden.contexts, golden.tags) == (None, {"context": '["A guild built it."]'})
    assert first("ragaliq.csv").reference_claims == (HEIGHT, "It has a clock.")
    assert first("langsmith-examples.jsonl").tags["inputs.language"] == "en"
    outer = {"id": "a", "run_type": "chain", "inputs": {"x": "q"}, "outputs": {"y": "r"}}
    loaded = lines(tmp_path / "a.jsonl", outer, {**outer, "id": "b", "parent_run_id": "a"})
    assert [(s.id, s.query, s.response) for s in loaded.samples] == [("a", "q", "r")]
    assert "nested rows, ignored: 1" in loaded.source.notes


@each_case("name", ["deepeval.csv", "ragaliq.csv"])
def test_joined_texts_are_taken_apart_and_that_is_reported(tmp_path: Path, name: str) -> None:
    loaded = load(FILES / name)
    assert [context.text for context in loaded.samples[0].contexts or ()] == [HEIGHT, BUILT]
    assert any(note.startswith("split at |: ") for note in loaded.source.notes)
    own = lines(tmp_path / "a.jsonl", {"query": "q", "context": "a | b", "name": "n"})
    assert own.samples[0].contexts == (Context(text="a | b"),)


def test_a_search_file_has_a_ranking_and_shows_why_it_has_no_response(tmp_path: Path) -> None:
    made = json.loads((FILES / "saved-responses.json").read_text(encoding="utf-8"))
    made["metadata"]["mode"] = "search"
    made["responses"][0] |= {"response": None, "retrieved_ids": [5], "retrieved_scores": [0.5]}
    path = tmp_path / "responses{1}.json"
    path.write_text(json.dumps(made), encoding="utf-8")
    loaded = load(path)
    assert loaded.samples[0].ranking == (Context(text=HEIGHT, id="5", score=0.5),)
    assert loaded.samples[0].contexts is None
    assert loaded.absent == {
        field: f"responses{{1}}.json was collected in mode search, so no row has {field}; "
        "collect in mode chat"
        for field in ("response", "contexts")
    }


def test_each_row_shows_where_its_answer_is(tmp_path: Path) -> None:
    run = {"run_type": "chain", "inputs": {"question": "q"}}
    loaded = lines(
        tmp_path / "a.jsonl",
        {**run, "id": "1", "outputs": {"answer": "a", "contexts": ["c"]}},
        {**run, "id": "2", "outputs": {"output": "b", "documents": [{"page_content": "d"}]}},
        {**run, "id": "3", "outputs": {"answer": "a", "output": "b"}},
        {**run, "id": "4", "outputs": {"error": "timeout", "n": 1}},
    )
    assert [sample.response for sample in loaded.samples] == ["a", "b", "a", None]
    texts = [[context.text for context in s.contexts or ()] for s in loaded.samples]
    assert texts == [["c"], ["d"], [], []]
    assert "outputs.output" not in loaded.samples[1].tags
    assert loaded.samples[2].tags["outputs.output"] == "b"


def test_a_column_that_is_mapped_goes_before_the_shape_in_every_row(tmp_path: Path) -> None:
    record = {"inputs": {"frage": "q", "sprache": "de"}, "outputs": {"antwort": "r", "n": 1}}
    columns = {"question": "inputs.frage", "reference": "outputs.antwort"}
    (sample,) = lines(tmp_path / "a.jsonl", record, columns=columns).samples
    assert (sample.query, sample.reference) == ("q", "r")
    assert sample.tags == {"inputs.sprache": "de", "outputs.n": 1}
    run = {"run_type": "chain", "inputs": {"question": "q"}}
    records = [{**run, "outputs": {"answer": "a"}}, {**run, "outputs": {"output": "b"}}]
    for field, column, reference in (("reference", "output", "b"), ("response", "answer", None)):
        columns = {field: f"outputs.{column}"}
        sample = lines(tmp_path / "a.jsonl", *records, columns=columns).samples[1]
        assert (sample.response, sample.reference) == (None, reference)


def test_rows_of_two_makers_are_read_each_by_its_own_names(tmp_path: Path) -> None:
    ragas = {"user_input": "p", "retrieved_contexts": ["c"], "question": "a tag"}
    own = {"query": "q", "contexts": ["d"]}, {"question": "r", "context": "e"}, {"input": "s"}
    samples = lines(tmp_path / "a.jsonl", ragas, *own).samples
    assert [sample.query for sample in samples] == list("pqrs")
    texts = ["".join(context.text for context in s.contexts or ()) for s in samples]
    assert texts == ["c", "d", "e", ""]
    assert samples[0].tags == {"question": "a tag"}


@pytest.mark.parametrize("first", ["query", "nothing"])
def test_the_work_for_many_columns_is_bounded_by_their_number(tmp_path: Path, first: str) -> None:
    """Calls are counted: 40,000 columns took 2,000 calls each."""
    path, names = tmp_path / "wide.csv", [first, *(f"column_{n}" for n in range(10_000))]
    path.write_text(",".join(names) + "\n" + ",".join("x" for _ in names), encoding="utf-8")
    calls = 0

    def count(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    message = ""
    sys.setprofile(count)
    try:
        load(path)
    except InputError as error:
        message = str(error)
    finally:
        sys.setprofile(None)
    assert calls < 300 * len(names)
    assert ("'column_48', and 9,951 more" in message) == (first != "query")
    assert len(message) < 5000
