"""Columns with several meanings, and shapes of rows, as users' files had them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from pydantic import BaseModel
from tests.cases import each_case

from ragstone.datasets import Dataset, load, samples_of
from ragstone.errors import InputError

Write = Callable[[str, str | bytes], Path]
TEXT = "The lighthouse is 31 m high."


def columns(dataset: Dataset) -> dict[str, str]:
    return {each.field: each.column for each in dataset.source.fields if each.field != "query"}


def read(*rows: Mapping[str, object], **options: object) -> dict[str, str]:
    return columns(samples_of(rows, **options))  # type: ignore[arg-type]


@each_case(
    ("row", "expected"),
    [
        # a name says what a column is
        (
            {"question": "q?", "answer": "a", "ground_truth": "g"},
            "response=answer reference=ground_truth",
        ),
        (
            {"question": "q?", "answer": "g", "llm_answer": "a"},
            "response=llm_answer reference=answer",
        ),
        (
            {"Question": "q?", "Answer": "g", "RAG Output": "a"},
            "response=RAG Output reference=Answer",
        ),
        (
            {"Frage": "q?", "Soll-Antwort": "g", "Ist-Antwort": "a"},
            "response=Ist-Antwort reference=Soll-Antwort",
        ),
        ({"question": "q?", "answer": ["a", "b"]}, "reference=answer"),
        (
            {"prompt": "q?", "response": "r", "input.tokens": 5, "output.tokens": 6},
            "response=response",
        ),
        (
            {"input": "q?", "response": "r", "outputs": {"latency": 5}, "item": {"id": 7}},
            "response=response",
        ),
        # the only part of an object is a field if it has a text, and its name fits
        (
            {
                "inputs": {"question": "q?"},
                "outputs": "x",
                "expectations": {"guidelines": ["be nice"]},
            },
            "response=outputs",
        ),
        (
            {
                "inputs": {"question": "q?"},
                "outputs": "x",
                "expectations": {"expected_facts": ["a", "b"]},
            },
            "response=outputs reference_claims=expectations.expected_facts",
        ),
        # contexts are texts
        (
            {"question": "q?", "response": "r", "sources": "https://a.b/c", "evidence": "high"},
            "response=response",
        ),
        (
            {"question": "q?", "response": "r", "documents": ["d1", "d2"], "chunks": 5},
            "response=response",
        ),
        (
            {"question": "q?", "response": "r", "sources": [TEXT]},
            "response=response contexts=sources",
        ),
        (
            {"question": "q?", "response": "r", "context": "short"},
            "response=response contexts=context",
        ),
        (
            {"question": "q?", "response": "r", "contexts": ["See /etc/config.json"]},
            "response=response contexts=contexts",
        ),
        (
            {"question": "q?", "response": "r", "contexts": [TEXT], "scenario": "billing"},
            "response=response contexts=contexts",
        ),
        (
            {"question": "q?", "contexts": [TEXT], "scenario": "billing", "reference": "g"},
            "reference=reference",
        ),
        # relevant documents are ids
        ({"question": "q?", "gold_docs": ["d1"]}, "relevance=gold_docs"),
        ({"question": "q?", "gold_doc": "Annual Report 2023"}, "relevance=gold_doc"),
        ({"question": "q?", "relevant": "yes"}, ""),
        ({"question": "q?", "relevant": 1}, ""),
        ({"question": "q?", "gold_doc": "Paris, the capital of France"}, ""),
        ({"question": "q?", "retrieval_gt": [["d1"]]}, "relevance=retrieval_gt"),
        ({"question": "q?", "conversations": 5}, ""),
    ],
)
def test_names_values_and_other_columns_decide(row: dict[str, object], expected: str) -> None:
    pairs = [f"{field}={column}" for field, column in read(row).items()]
    assert " ".join(pairs) == expected


@each_case(
    ("answers", "expected"),
    [("response", {"response": "answer"}), ("reference", {"reference": "answer"})],
)
def test_an_answer_beside_a_question_alone(answers: str, expected: dict[str, str]) -> None:
    assert read({"question": "q?", "answer": "a"}, answers=answers) == expected


@each_case("name", ["answer", "Antwort", "output"])
def test_an_answer_beside_a_question_alone_is_asked_about(name: str) -> None:
    with pytest.raises(InputError, match=f"map response={name}, or map reference={name}"):
        read({"question": "q?", name: "a"}, answers="ask")
    with pytest.raises(InputError, match=r"map reference=.*answer"):
        read({"Inputs": {"question": "q?"}, "Outputs": {"answer": "a"}}, answers="ask")


def test_file_names_under_a_sure_name_are_refused() -> None:
    with pytest.raises(InputError, match=r"are names of files or ids, such as 'a\.pdf'"):
        read({"question": "q?", "response": "r", "contexts": ["a.pdf", "b.pdf"]})


def test_texts_that_questions_were_written_from_are_noted() -> None:
    row = {"question": "q?", "context": TEXT, "answer": "31 m"}
    notes = samples_of([row], columns={"reference": "answer"}).source.notes
    assert any("may have the texts that the questions were written from" in n for n in notes)


def test_rows_after_the_first_hundred_count() -> None:
    rows = [{"question": "q?", "answer": "a", "contexts": [TEXT]}] * 100
    rows += [{"question": "q?", "answer": "g", "response": "r", "contexts": [TEXT]}]  # type: ignore[dict-item]
    last = samples_of(rows).samples[-1]
    assert (last.response, last.reference) == ("r", "g")
    late = [{"question": "q?", "response": "a", "expected": None}] * 100
    late += [{"question": "q?", "response": "a", "expected": "gold"}]  # type: ignore[dict-item]
    assert samples_of(late).samples[-1].reference == "gold"


def test_a_mapped_path_uses_its_columns_up() -> None:
    row = {"question": "q?", "answer": {"text": "A is a pump."}, "alt": "B"}
    assert read(row, columns={"reference": "answer.text"}) == {"reference": "answer.text"}
    both = {"question": "q?", "answer": "A", "alt": ["B", None]}
    (sample,) = samples_of([both], columns={"reference": "[answer, alt][]"}).samples
    assert (sample.reference, sample.response) == (("A", "B"), None)


def test_lists_of_records_are_rows_only_if_they_ask() -> None:
    row = {"Satz": "q?", "reply": "a", "hits": [{"text": TEXT, "id": "d1"}]}
    found = samples_of([row], columns={"query": "Satz", "response": "reply", "contexts": "hits"})
    assert [context.id for context in found.samples[0].contexts or ()] == ["d1"]
    squad = {"title": "T", "paragraphs": [{"context": TEXT, "qas": [{"question": "q?"}]}]}
    assert samples_of([squad]).samples[0].query == "q?"


@each_case(
    ("value", "ids"),
    [
        ({"q1": {"question": "a?"}, "q2": {"question": "b?"}}, ["q1", "q2"]),
        ({"question": "a?", "response": "r", "contexts": [{"text": TEXT}]}, ["1"]),
        ({"run": {"cases": [{"id": "x", "question": "a?"}], "docs": [{"text": TEXT}]}}, ["x"]),
        ({"question": {"0": "a?", "1": "b?"}, "id": {"1": "y", "0": "x"}}, ["x", "y"]),
    ],
)
def test_rows_are_found_in_objects(write: Write, value: object, ids: list[str]) -> None:
    path = write("a.json", json.dumps(value))
    assert [sample.id for sample in load(path).samples] == ids


def test_a_list_of_rows_may_be_chosen(write: Write) -> None:
    rows = {"one": {"rows": [{"question": "a?"}]}, "two": [{"question": "b?"}]}
    path = write("a.json", json.dumps(rows))
    with pytest.raises(InputError, match=r"use --sheet one\.rows or --sheet two"):
        load(path)
    assert load(path, sheet="one.rows").samples[0].query == "a?"
    with pytest.raises(InputError, match=r"three contains null, not a list"):
        load(path, sheet="three")


def test_a_title_and_a_word_in_a_row_are_no_header(write: Write) -> None:
    with pytest.raises(InputError, match="use --header-row 3"):
        load(write("a.csv", "Questions of October,\nDone by: A,Kern\nFrage,Antwort\nq?,a\n"))
    path = write("b.csv", "term,definition\nreference,A text\n")
    assert load(path, columns={"query": "term"}).samples[0].query == "reference"


@each_case("word", [r"\N", "(null)", "[NULL]", "NaN"])
def test_words_of_databases_for_missing_values(write: Write, word: str) -> None:
    path = write("a.csv", f"query,response,retrieved_ids\nq?,{word},{word}\n")
    (sample,) = load(path).samples
    assert (sample.response, sample.ranking) == (None, None)


def test_numbers_with_decimals_are_no_ids() -> None:
    with pytest.raises(InputError, match=r"21\.0022 has decimals, so it may be several ids"):
        read({"query": "q?", "relevant_ids": 21.0022})


def test_texts_in_quotes_of_json_are_read_without_them(write: Write) -> None:
    path = write("a.csv", 'query,response\nq?,"""Zürich"""\n')
    dataset = load(path)
    assert dataset.samples[0].response == "Zürich"
    assert "texts in JSON's quotes are read without them" in dataset.source.notes[0]


def test_an_object_is_no_question(write: Write) -> None:
    path = write("a.csv", 'request\n"{""question"": ""q?""}"\n')
    with pytest.raises(InputError, match=r"map one of its parts, such as query=request\.question"):
        load(path, columns={"query": "request"})
    assert load(path, columns={"query": "request.question"}).samples[0].query == "q?"


@each_case(
    "context",
    [
        f"page_content='{TEXT}' metadata={{'page': 30}}",
        f"Document(metadata={{'page': 30}}, page_content='{TEXT}')",
        {"node": {"text": TEXT}, "score": "0.5"},
        {"content": {"text": TEXT}},
    ],
)
def test_documents_that_were_printed_are_their_texts(context: object) -> None:
    (sample,) = samples_of([{"query": "q?", "contexts": [context]}]).samples
    assert [each.text for each in sample.contexts or ()] == [TEXT]


HUMAN = {"type": "human", "data": {"content": "q?"}}
CALL = {"type": "ai", "data": {"content": "", "tool_calls": [{"name": "search"}]}}
TOOLS = [
    {"type": "tool", "data": {"content": text}} for text in ("one", '["two", "three"]', "[1, 2]")
]
SAID = {"type": "ai", "data": {"content": "a"}}


def test_all_tools_of_a_turn_are_its_contexts() -> None:
    dataset = samples_of([{"messages": [HUMAN, CALL, *TOOLS, SAID]}])
    (sample,) = dataset.samples
    assert (sample.query, sample.response) == ("q?", "a")
    assert [each.text for each in sample.contexts or ()] == ["one", "two", "three", "[1, 2]"]
    assert "texts of tools are read as contexts: 1 conversation" in dataset.source.notes
    own = samples_of([{"messages": [HUMAN, *TOOLS, SAID], "contexts": [TEXT]}]).samples[0]
    assert [each.text for each in own.contexts or ()] == [TEXT]


def test_a_chat_whose_last_question_is_asked_is_one_row() -> None:
    asked = [
        {"speaker": "user", "text": "a?"},
        {"speaker": "agent", "text": "b"},
        {"speaker": "user", "text": "c?"},
    ]
    (sample,) = samples_of([{"input": asked, "targets": "g"}]).samples
    assert (sample.query, sample.reference, len(sample.history or ())) == ("c?", "g", 2)


def test_inputs_with_messages_keep_their_contexts() -> None:
    messages = [{"role": "user", "content": "q?"}]
    row = {
        "inputs": {"messages": messages, "context": TEXT},
        "outputs": "a",
        "expectations": {"expected_response": "g"},
    }
    (sample,) = samples_of([row]).samples
    assert (sample.query, sample.response, sample.reference) == ("q?", "a", "g")
    assert [each.text for each in sample.contexts or ()] == [TEXT]


def test_tags_and_metadata_are_both_read() -> None:
    (sample,) = samples_of([{"query": "q?", "metadata": "m", "tags": {"level": 1}}]).samples
    assert dict(sample.tags) == {"metadata": "m", "level": 1}


class _Info(BaseModel):
    text: str
    lang: str


def test_objects_in_tags_stay_whole() -> None:
    (sample,) = samples_of([{"query": "q?", "info": _Info(text="x", lang="de")}]).samples
    assert json.loads(str(sample.tags["info"])) == {"text": "x", "lang": "de"}


def test_what_is_nested_too_deeply_is_refused() -> None:
    deep: list[object] = []
    for _ in range(600):
        deep = [deep]
    with pytest.raises(InputError, match=r"deep|not text"):
        samples_of([{"query": "q?", "response": deep}])
