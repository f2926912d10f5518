"""Columns with several meanings, and shapes of rows, as users' files had them."""

import json
from collections.abc import Mapping

import pytest
from tests.cases import each_case
from tests.datasets.reading import Write

from ragstone.datasets import Dataset, load, samples_of
from ragstone.errors import InputError
from ragstone.types.sample import Sample

TEXT = "The lighthouse is 31 m high."


def columns(dataset: Dataset) -> dict[str, str]:
    return {each.field: each.column for each in dataset.source.fields if each.field != "query"}


def read(*rows: Mapping[str, object], **options: object) -> dict[str, str]:
    return columns(samples_of(rows, **options))  # type: ignore[arg-type]


FACTS = {"expected_facts": ["a", "b"]}
ASKED = {"inputs": {"question": "q?"}, "outputs": "x"}


@each_case(
    ("row", "expected"),  # a row without a question gets one
    [
        # a name says what a column is
        ({"answer": "a", "ground_truth": "g"}, "response=answer reference=ground_truth"),
        ({"answer": "g", "llm_answer": "a"}, "response=llm_answer reference=answer"),
        ({"Answer": "g", "RAG Output": "a"}, "response=RAG Output reference=Answer"),
        (
            {"Frage": "q?", "Soll-Antwort": "g", "Ist-Antwort": "a"},
            "response=Ist-Antwort reference=Soll-Antwort",
        ),
        ({"input": "q?", "response": "r", "outputs": {"latency": 5}}, "response=response"),
        # the only part of an object is a field if it has a text, and its name fits
        ({**ASKED, "expectations": {"guidelines": ["be nice"]}}, "response=outputs"),
        (
            {**ASKED, "expectations": FACTS},
            "response=outputs reference_claims=expectations.expected_facts",
        ),
        # contexts are texts
        ({"response": "r", "sources": "https://a.b/c", "evidence": "high"}, "response=response"),
        ({"response": "r", "sources": [TEXT]}, "response=response contexts=sources"),
        ({"response": "r", "contexts": ["See /a.json"]}, "response=response contexts=contexts"),
        ({"contexts": [TEXT], "scenario": "billing", "reference": "g"}, "reference=reference"),
        # relevant documents are ids
        ({"gold_docs": ["d1"]}, "relevance=gold_docs"),
        ({"gold_doc": "Paris, the capital of France"}, ""),
        ({"retrieval_gt": [["d1"]]}, "relevance=retrieval_gt"),
    ],
)
def test_names_values_and_other_columns_decide(row: dict[str, object], expected: str) -> None:
    found = read(row if "q?" in str(row) else {"question": "q?", **row})
    assert " ".join(f"{field}={column}" for field, column in found.items()) == expected


@each_case("name", ["answer", "Antwort", "output"])
def test_an_answer_beside_a_question_alone_is_asked_about(name: str) -> None:
    row = {"question": "q?", name: "a"}
    for answers in ("response", "reference"):
        assert read(row, answers=answers) == {answers: name}
    with pytest.raises(InputError, match=f"map response={name}, or map reference={name}"):
        read(row, answers="ask")
    with pytest.raises(InputError, match=r"map reference=.*answer"):
        read({"Inputs": {"question": "q?"}, "Outputs": {"answer": "a"}}, answers="ask")


def test_rows_after_the_first_hundred_count() -> None:
    def last(first: dict[str, object], **more: object) -> Sample:
        return samples_of([first] * 100 + [first | more]).samples[-1]

    found = last({"question": "q?", "answer": "a", "contexts": [TEXT]}, answer="g", response="r")
    assert (found.response, found.reference) == ("r", "g")
    found = last({"question": "q?", "response": "a", "expected": None}, expected="gold")
    assert found.reference == "gold"


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


def test_rows_are_found_in_objects(write: Write) -> None:
    for value, ids in (
        ({"q1": {"question": "a?"}, "q2": {"question": "b?"}}, ["q1", "q2"]),
        ({"question": "a?", "response": "r", "contexts": [{"text": TEXT}]}, ["1"]),
        ({"run": {"cases": [{"id": "x", "question": "a?"}], "docs": [{"text": TEXT}]}}, ["x"]),
        ({"question": {"0": "a?", "1": "b?"}, "id": {"1": "y", "0": "x"}}, ["x", "y"]),
    ):
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


def test_what_is_doubtful_is_refused_or_noted() -> None:
    deep: list[object] = []
    for _ in range(600):
        deep = [deep]
    for row, message in (
        ({"response": "r", "contexts": ["a.pdf"]}, r"are names of files or ids, such as 'a\.pdf'"),
        ({"relevant_ids": 21.0022}, r"21\.0022 has decimals, so it may be several ids"),
        ({"response": deep}, "deep|not text"),
    ):
        with pytest.raises(InputError, match=message):
            read({"question": "q?", **row})
    row = {"question": "q?", "context": TEXT, "answer": "31 m"}
    notes = samples_of([row], columns={"reference": "answer"}).source.notes
    assert any("may have the texts that the questions were written from" in n for n in notes)
    notes = samples_of([{"question": "q?", "gold_docs": [{"name": "a b c"}]}]).source.notes
    assert any("may have the relevant documents, but its values are not ids" in n for n in notes)
    with pytest.raises(InputError, match=r"map one of its parts, such as query=request\.question"):
        samples_of([{"request": '{"question": "q?"}'}], columns={"query": "request"})
