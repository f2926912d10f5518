import json
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.datasets.reading import lines as loaded

from ragstone.errors import InputError
from ragstone.types.sample import Context


def span(trace: str, number: str, parent: str | None, **attributes: object) -> dict[str, object]:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    place = {"trace_id": trace, "span_id": number}
    return {"name": "s", "context": place, "parent_id": parent, "attributes": named}


LLM = {"openinference__span__kind": "LLM"}
CHAIN = {"openinference__span__kind": "CHAIN"}
ASKED = [{"role": "system", "content": "s"}, {"role": "user", "content": "how high"}]
ROOT = span("t", "1", None, input__value="q")


def test_the_question_of_a_trace_is_found(tmp_path: Path) -> None:
    def asked(*spans: object) -> str:
        sample = loaded(tmp_path / "a.jsonl", *spans).samples[0]
        return f"{sample.query} {sample.response or ''}".strip()

    prompt = span("t", "1", None, input__value="prompt", **LLM)
    search = span("t", "2", None, gen_ai__retrieval__query__text="words")
    tool = span("t", "3", "1", input__value="{'city': 'x'}", openinference__span__kind="TOOL")
    assert asked(prompt, search) == "words", "without an outer question, before the prompt"
    assert asked(prompt, tool) == "prompt", "a tool's input is not a question"
    assert asked(prompt, tool, search) == "words"
    chat = {"gen_ai__operation__name": "chat", "gen_ai__input__messages": ASKED}
    assert asked(span("t", "1", None, **chat)) == "how high"
    assert asked(span("t", "1", "2", input__value="q"), span("t", "2", "1", a=1)) == "q"
    inner = span("t", "2", "1", input__value="rewritten", **CHAIN)
    last = span("t", "3", None, input__value="q", output__value="a", **CHAIN)
    assert asked(ROOT, inner, last) == "q a", "steps that hand on one question are one turn"


def test_documents_without_texts_are_a_ranking_and_none_is_missing(tmp_path: Path) -> None:
    path, documents = tmp_path / "a.jsonl", [{"id": "a", "score": 0.5}, {"id": "b"}]
    one = span("t", "1", None, input__value="q", gen_ai__retrieval__documents=documents)
    sample = loaded(path, one).samples[0]
    assert sample.ranking == (Context(id="a", score=0.5), Context(id="b"))
    assert sample.contexts is None
    none = span("t", "1", None, input__value="q", retrieval__documents=[])
    assert loaded(path, none).samples[0].contexts == ()
    assert loaded(path, ROOT).samples[0].contexts is None


def exported(*attributes: object, **more: object) -> dict[str, object]:
    """A span as OpenTelemetry exports it."""
    made = {"traceId": "t", "spanId": "1", "attributes": attributes, **more}
    return {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}


def attribute(name: str, text: str) -> dict[str, object]:
    return {"key": name, "value": {"stringValue": text}}


def test_attributes_that_nest_beyond_measure_say_nothing(tmp_path: Path) -> None:
    deep: object = {"stringValue": "x"}
    for _ in range(300):
        deep = {"arrayValue": {"values": [deep]}}
    nested = {"key": "retrieval.documents", "value": deep}
    with pytest.raises(InputError, match="column contexts, sample t: lists or objects are nested"):
        loaded(tmp_path / "a.jsonl", exported(attribute("input.value", "q"), nested))


def test_a_null_among_documents_shifts_no_rank(tmp_path: Path) -> None:
    document = {"kvlistValue": {"values": [attribute("id", "R")]}}
    documents = {"arrayValue": {"values": [None, document]}}
    null = {"key": "retrieval.documents", "value": documents}
    numbered = span("t", "1", None, input__value="q", retrieval__documents__1__id="R")
    message = r"column ranking, sample t: item 1 (is null|has neither)"
    for one in (exported(attribute("input.value", "q"), null), numbered):
        with pytest.raises(InputError, match=message):
            loaded(tmp_path / "a.jsonl", one)


def test_no_question_and_two_side_by_side_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 2 traces has a query; record one of"):
        loaded(tmp_path / "a.jsonl", span("t", "1", None, a=1), span("u", "1", None, a=1))
    steps = [span("t", n, "0", input__value=f"q{n}", output__value="a") for n in "12"]
    models = [span("t", n, None, input__value=f"q{n}", **LLM) for n in "12"]
    for made in ([span("t", "0", None, a=1), *steps], models):
        with pytest.raises(InputError, match="column query, sample t: this is a conversation"):
            loaded(tmp_path / "a.jsonl", *made)


@each_case("kind", ["RETRIEVER", "TOOL", "EMBEDDING", "RERANKER"])
def test_what_a_step_gives_is_not_an_answer(tmp_path: Path, kind: str) -> None:
    made = [
        span("t", "1", None, input__value="q", output__value={"unknown": "x"}),
        span("t", "2", "1", output__value='["doc one"]', openinference__span__kind=kind),
        span("t", "3", "1", output__value="rewritten", **CHAIN),
    ]
    model = span("t", "4", "3", output__value="a", **LLM)
    assert loaded(tmp_path / "a.jsonl", *made).samples[0].response is None
    assert loaded(tmp_path / "b.jsonl", *made, model).samples[0].response == "a"


def test_documents_count_once_however_many_spans_tell_of_them(tmp_path: Path) -> None:
    def texts(*made: object) -> list[str]:
        sample = loaded(tmp_path / "a.jsonl", ROOT, *made).samples[0]
        return [each.text for each in sample.contexts or ()]

    found = [{"document.content": text} for text in "abb"]
    made = [
        span("t", "2", "1", retrieval__documents=found),
        span("t", "3", "2", retrieval__documents=[*found, {"document.content": "dropped"}]),
    ]
    beside = span("t", "4", "1", retrieval__documents=[found[0], {"document.content": "c"}])
    assert texts(*made) == ["a", "b", "b"]
    assert texts(*made, beside) == ["a", "b", "b", "c"]
    assert texts(*made, span("t", "3", None)) == ["a", "b", "b"], "another span repeats its id"


RANDOM = "5b0c2f3e-7d1b-4c8e-9c55-0a1b2c3d4e5f"
POINT = json.dumps({"point_id": 101})


@each_case(
    "documents",
    [
        {"retrieval__documents": [{"document": {"id": RANDOM, "content": "a", "metadata": POINT}}]},
        {"retrieval__documents__0__document__content": "a",
         "retrieval__documents__0__document__id": RANDOM,
         "retrieval__documents__0__document__metadata": POINT},
        {"output__value": json.dumps(
            {"documents": [{"page_content": "a", "id": RANDOM, "metadata": {"point_id": 101}}]})},
        {"traceloop__entity__output": json.dumps(
            [json.dumps({"node": {"id_": RANDOM, "text": "a", "metadata": {},
                                  "relationships": {"1": {"node_id": "101"}}}, "score": 0.5})])},
    ],
)  # fmt: skip
def test_ids_are_in_the_metadata_of_documents(tmp_path: Path, documents: dict[str, object]) -> None:
    search = span("t", "2", "1", openinference__span__kind="RETRIEVER", **documents)
    found = loaded(tmp_path / "a.jsonl", span("t", "1", None, input__value="q"), search)
    [context] = found.samples[0].contexts or ()
    assert (context.id, context.text) == ("101", "a")


PROMPT = "Context: a. Question: q"


@each_case(
    "answer",
    [
        {"output__value": json.dumps({"replies": ["yes"], "meta": [{}]})},
        {"output__value": json.dumps({"llm": {"replies": ["yes"]}})},
        {"output__value": json.dumps({"replies": ["ChatMessage(_role='assistant')"]}),
         "llm__output_messages__0__message__content": "yes",
         "llm__output_messages__0__message__role": "assistant"},
        {"llm__output_messages": [{"message": {"role": "assistant", "content": "yes"}}]},
        {"traceloop__entity__output": json.dumps({"outputs": "yes", "kwargs": {}})},
    ],
)  # fmt: skip
def test_a_prompt_is_never_an_answer(tmp_path: Path, answer: dict[str, object]) -> None:
    query = json.dumps({"data": {"retriever": {"query": "q"}, "prompt_builder": {"question": "q"}}})
    builder = {"name": "PromptBuilder.run"}
    for prompt in (PROMPT, json.dumps({"prompt": PROMPT})):
        made = [
            span("t", "1", None, input__value=query, **CHAIN),
            span("t", "2", "1", output__value=prompt, **LLM) | builder,
            span("t", "3", "1", **LLM, **answer) | {"name": "llm"},
        ]
        sample = loaded(tmp_path / "a.jsonl", *made).samples[0]
        assert (sample.query, sample.response) == ("q", "yes")
        assert loaded(tmp_path / "b.jsonl", *made[:2]).samples[0].response is None


def test_spans_of_openllmetry(tmp_path: Path) -> None:
    for asked, answered in (
        ({"inputs": "q", "tags": [], "kwargs": {"name": "Chain"}}, {"outputs": "a", "kwargs": {}}),
        ({"inputs": {"input": "q"}}, {"outputs": {"answer": "a", "context": []}}),
        ({"str_or_query_bundle": "q"}, {"response": "a", "metadata": {}}),
        ({"query_bundle": {"query_str": "q", "embedding": None}}, "a"),
        ({"message": "q"}, {"response": "a", "source_nodes": []}),
    ):
        given = {"input": json.dumps(asked), "output": json.dumps(answered)}
        made = {f"traceloop.entity.{name}": text for name, text in given.items()}
        one = span("t", "1", None, **made, traceloop__span__kind="workflow")
        sample = loaded(tmp_path / "a.jsonl", one).samples[0]
        assert (sample.query, sample.response) == ("q", "a")


def test_documents_of_an_agents_tools_are_contexts(tmp_path: Path) -> None:
    document = {"page_content": "c", "id": None, "metadata": {"point_id": 7}}
    for artifact, found in (([document], (Context(id="7", text="c"),)), ("c", None)):
        output = json.dumps({"type": "tool", "kwargs": {"content": "c", "artifact": artifact}})
        step = span("t", "2", "1", openinference__span__kind="TOOL", output__value=output)
        assert loaded(tmp_path / "a.jsonl", ROOT, step).samples[0].contexts == found


def test_spans_of_otlp_in_snake_case(tmp_path: Path) -> None:
    def made(number: str, parent: str | None, **attributes: str) -> dict[str, object]:
        values = [
            {"key": name.replace("__", "."), "value": {"int_value": None, "string_value": text}}
            for name, text in attributes.items()
        ]
        place = {"trace_id": "t", "span_id": number, "parent_span_id": parent}
        return {**place, "name": "n", "attributes": values}

    document = "retrieval__documents__0__document__"
    found = {f"{document}id": "d", f"{document}content": "c"}
    spans = [made("1", None, input__value="q", output__value="a"), made("2", "1", **found)]
    page = {"data": spans, "next_cursor": None}
    whole = {"resource_spans": [{"scope_spans": [{"spans": spans}]}]}
    for content in (page, whole):
        [sample] = loaded(tmp_path / "a.json", content).samples
        assert (sample.query, sample.response, sample.tags["span_id"]) == ("q", "a", "1")
        assert sample.contexts == (Context(id="d", text="c"),)
