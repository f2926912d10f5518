import json
from pathlib import Path

import pytest

from ragstone.datasets import Dataset, load
from ragstone.errors import InputError
from ragstone.types.sample import Context


def loaded(path: Path, *spans: object) -> Dataset:
    path.write_text("\n".join(map(json.dumps, spans)), encoding="utf-8")
    return load(path)


def span(trace: str, number: str, parent: str | None, **attributes: object) -> dict[str, object]:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    place = {"trace_id": trace, "span_id": number}
    return {"name": "s", "context": place, "parent_id": parent, "attributes": named}


def test_without_an_outer_question_the_search_is_asked_before_the_prompt(tmp_path: Path) -> None:
    found = loaded(
        tmp_path / "a.jsonl",
        span("t", "1", None, input__value="Answer from: ...", openinference__span__kind="LLM"),
        span("t", "2", None, gen_ai__retrieval__query__text="how high"),
    )
    assert found.samples[0].query == "how high"


def test_the_prompt_is_the_question_where_there_is_no_other(tmp_path: Path) -> None:
    message = [{"role": "system", "content": "s"}, {"role": "user", "content": "how high"}]
    one = span("t", "1", None, gen_ai__operation__name="chat", gen_ai__input__messages=message)
    assert loaded(tmp_path / "a.jsonl", one).samples[0].query == "how high"


def test_documents_without_texts_are_a_ranking(tmp_path: Path) -> None:
    documents = [{"id": "a", "score": 0.5}, {"id": "b"}]
    one = span("t", "1", None, input__value="q", gen_ai__retrieval__documents=documents)
    sample = loaded(tmp_path / "a.jsonl", one).samples[0]
    assert sample.ranking == (Context(id="a", score=0.5), Context(id="b"))
    assert sample.contexts is None


def test_a_search_that_found_nothing_is_empty_and_none_is_missing(tmp_path: Path) -> None:
    none = span("t", "1", None, input__value="q", retrieval__documents=[])
    assert loaded(tmp_path / "a.jsonl", none).samples[0].contexts == ()
    assert (
        loaded(tmp_path / "a.jsonl", span("t", "1", None, input__value="q")).samples[0].contexts
        is None
    )


def test_traces_without_any_question_are_reported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 2 traces has a query; record one of"):
        loaded(tmp_path / "a.jsonl", span("t", "1", None, a=1), span("u", "1", None, a=1))


def test_spans_that_are_their_own_parents_end(tmp_path: Path) -> None:
    made = [span("t", "1", "2", input__value="q"), span("t", "2", "1", a=1)]
    assert loaded(tmp_path / "a.jsonl", *made).samples[0].query == "q"


def test_attributes_that_nest_beyond_measure_say_nothing(tmp_path: Path) -> None:
    deep: object = {"stringValue": "x"}
    for _ in range(300):
        deep = {"arrayValue": {"values": [deep]}}
    attributes = [
        {"key": "input.value", "value": {"stringValue": "q"}},
        {"key": "retrieval.documents", "value": deep},
    ]
    made = {"traceId": "t", "spanId": "1", "attributes": attributes}
    with pytest.raises(
        InputError, match="column contexts, sample t: lists or objects are nested more than 50 deep"
    ):
        loaded(tmp_path / "a.jsonl", {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]})


def test_a_null_among_documents_shifts_no_rank(tmp_path: Path) -> None:
    document = {"kvlistValue": {"values": [{"key": "id", "value": {"stringValue": "R"}}]}}
    attributes = [
        {"key": "input.value", "value": {"stringValue": "q"}},
        {"key": "retrieval.documents", "value": {"arrayValue": {"values": [None, document]}}},
    ]
    made = {"traceId": "t", "spanId": "1", "attributes": attributes}
    exported = {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}
    numbered = span("t", "1", None, input__value="q", retrieval__documents__1__id="R")
    for one in (exported, numbered):
        with pytest.raises(
            InputError, match=r"column ranking, sample t: item 1 (is null|has neither)"
        ):
            loaded(tmp_path / "a.jsonl", one)


def test_two_questions_side_by_side_are_two_turns(tmp_path: Path) -> None:
    made = [
        span("t", "0", None, a=1),
        span("t", "1", "0", input__value="q1"),
        span("t", "2", "0", input__value="q2", output__value="a2"),
    ]
    with pytest.raises(InputError, match="column query, sample t: this is a conversation"):
        loaded(tmp_path / "a.jsonl", *made)


def test_two_questions_of_models_without_any_other_are_two_turns(tmp_path: Path) -> None:
    made = [span("t", n, None, openinference__span__kind="LLM", input__value=f"q{n}") for n in "12"]
    with pytest.raises(InputError, match="this is a conversation"):
        loaded(tmp_path / "a.jsonl", *made)


def test_steps_that_hand_on_one_question_are_one_turn(tmp_path: Path) -> None:
    made = [
        span("t", "1", None, input__value="q", openinference__span__kind="CHAIN"),
        span("t", "2", "1", input__value="rewritten", openinference__span__kind="CHAIN"),
        span(
            "t", "3", None, input__value="q", output__value="a", openinference__span__kind="AGENT"
        ),
    ]
    sample = loaded(tmp_path / "a.jsonl", *made).samples[0]
    assert (sample.query, sample.response) == ("q", "a")


@pytest.mark.parametrize("kind", ["RETRIEVER", "TOOL", "EMBEDDING", "RERANKER"])
def test_what_a_step_gives_is_not_an_answer(tmp_path: Path, kind: str) -> None:
    made = [
        span("t", "1", None, input__value="q", output__value={"unknown": "x"}),
        span("t", "2", "1", output__value='["doc one"]', openinference__span__kind=kind),
        span("t", "3", "1", output__value="rewritten", openinference__span__kind="CHAIN"),
    ]
    model = span("t", "4", "3", output__value="a", openinference__span__kind="LLM")
    assert loaded(tmp_path / "a.jsonl", *made).samples[0].response is None
    assert loaded(tmp_path / "b.jsonl", *made, model).samples[0].response == "a"


def test_a_tools_input_is_not_a_question(tmp_path: Path) -> None:
    made = [
        span("t", "1", None, input__value="prompt", openinference__span__kind="LLM"),
        span("t", "2", "1", input__value="{'city': 'x'}", openinference__span__kind="TOOL"),
    ]
    assert loaded(tmp_path / "a.jsonl", *made).samples[0].query == "prompt"
    search = span("t", "3", "1", input__value="words", openinference__span__kind="RETRIEVER")
    assert loaded(tmp_path / "b.jsonl", *made, search).samples[0].query == "words"


def test_documents_count_once_however_many_spans_tell_of_them(tmp_path: Path) -> None:
    found = [{"document.content": "a"}, {"document.content": "b"}, {"document.content": "b"}]
    made = [
        span("t", "1", None, input__value="q"),
        span("t", "2", "1", retrieval__documents=found),
        span("t", "3", "2", retrieval__documents=[*found, {"document.content": "dropped"}]),
    ]
    beside = span("t", "4", "1", retrieval__documents=[found[0], {"document.content": "c"}])
    contexts = loaded(tmp_path / "a.jsonl", *made).samples[0].contexts
    assert [each.text for each in contexts or ()] == ["a", "b", "b"]
    contexts = loaded(tmp_path / "b.jsonl", *made, beside).samples[0].contexts
    assert [each.text for each in contexts or ()] == ["a", "b", "b", "c"]


def test_a_search_keeps_its_documents_when_another_span_repeats_its_id(tmp_path: Path) -> None:
    made = [
        span("t", "1", None, input__value="q"),
        span("t", "2", "1", retrieval__documents=[{"document.content": "outer"}]),
        span("t", "3", "2", retrieval__documents=[{"document.content": "inner"}]),
        span("t", "3", None),
    ]
    contexts = loaded(tmp_path / "a.jsonl", *made).samples[0].contexts
    assert [each.text for each in contexts or ()] == ["outer"]


def test_spans_without_ids_are_spans_each(tmp_path: Path) -> None:
    made = [{"traceId": "t", "attributes": [attribute("input.value", "q")]}]
    made += [{"traceId": "t", "attributes": [attribute("output.value", "a")]}]
    spans = {"resourceSpans": [{"scopeSpans": [{"spans": made}]}]}
    sample = loaded(tmp_path / "a.jsonl", spans).samples[0]
    assert (sample.query, sample.response) == ("q", "a")


def attribute(name: str, text: str) -> dict[str, object]:
    return {"key": name, "value": {"stringValue": text}}


def test_the_outcome_of_an_exported_span_is_its_status(tmp_path: Path) -> None:
    given = [attribute("input.value", "q"), attribute("output.value", "a")]
    made = {"traceId": "t", "spanId": "1", "status_code": "ERROR", "attributes": given}
    exported = {"resourceSpans": [{"scopeSpans": [{"spans": [made]}]}]}
    assert loaded(tmp_path / "a.jsonl", exported).samples[0].response == "a"


RANDOM = "5b0c2f3e-7d1b-4c8e-9c55-0a1b2c3d4e5f"
POINT = json.dumps({"point_id": 101})


@pytest.mark.parametrize(
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


@pytest.mark.parametrize(
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
@pytest.mark.parametrize("prompt", [PROMPT, json.dumps({"prompt": PROMPT})])
def test_a_prompt_is_never_an_answer(
    tmp_path: Path, prompt: str, answer: dict[str, object]
) -> None:
    query = json.dumps({"data": {"retriever": {"query": "q"}, "prompt_builder": {"question": "q"}}})
    made = [
        span("t", "1", None, input__value=query, openinference__span__kind="CHAIN"),
        span("t", "2", "1", output__value=prompt, openinference__span__kind="LLM")
        | {"name": "PromptBuilder.run"},
        span("t", "3", "1", openinference__span__kind="LLM", **answer) | {"name": "llm"},
    ]
    sample = loaded(tmp_path / "a.jsonl", *made).samples[0]
    assert (sample.query, sample.response) == ("q", "yes")
    assert loaded(tmp_path / "b.jsonl", *made[:2]).samples[0].response is None


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ({"inputs": "q", "tags": [], "kwargs": {"name": "Chain"}}, {"outputs": "a", "kwargs": {}}),
        ({"inputs": {"input": "q"}}, {"outputs": {"answer": "a", "context": []}}),
        ({"str_or_query_bundle": "q"}, {"response": "a", "metadata": {}}),
        ({"query_bundle": {"query_str": "q", "embedding": None}}, "a"),
        ({"message": "q"}, {"response": "a", "source_nodes": []}),
    ],
)
def test_spans_of_openllmetry(tmp_path: Path, asked: object, answered: object) -> None:
    attributes = {
        "traceloop.span.kind": "workflow",
        "traceloop.entity.input": json.dumps(asked),
        "traceloop.entity.output": json.dumps(answered),
    }
    sample = loaded(tmp_path / "a.jsonl", span("t", "1", None, **attributes)).samples[0]
    assert (sample.query, sample.response) == ("q", "a")


@pytest.mark.parametrize("inner", ["data", "kwargs"])
def test_documents_of_an_agents_tools_are_contexts(tmp_path: Path, inner: str) -> None:
    document = {"page_content": "c", "id": None, "metadata": {"point_id": 7}}
    made = [
        span("t", "1", None, input__value="q", output__value="a"),
        span("t", "2", "1", openinference__span__kind="TOOL", output__value="5"),
    ]
    assert loaded(tmp_path / "a.jsonl", *made).samples[0].contexts is None
    for artifact, contexts in (
        ([document], (Context(id="7", text="c"),)),
        ([{"url": "image.png"}], None),
        ("c", None),
    ):
        returned = {"type": "tool", inner: {"content": "c", "artifact": artifact}}
        made[1]["attributes"]["output.value"] = json.dumps(returned)  # type: ignore[index]
        assert loaded(tmp_path / "a.jsonl", *made).samples[0].contexts == contexts


def test_spans_of_otlp_in_snake_case(tmp_path: Path) -> None:
    nothing = dict.fromkeys(("array_value", "bool_value", "int_value"))
    root = {"trace_id": "t", "span_id": "1", "parent_span_id": None, "name": "query"}
    search = {"trace_id": "t", "span_id": "2", "parent_span_id": "1", "name": "search"}
    given = {"input.value": "q", "output.value": "a"}
    texts = {
        "retrieval.documents.0.document.id": "d",
        "retrieval.documents.0.document.content": "c",
    }
    for each, attributes in ((root, given), (search, texts)):
        each["attributes"] = [
            {"key": name, "value": {**nothing, "string_value": text}}
            for name, text in attributes.items()
        ]
    page = {"data": [root, search], "next_cursor": None}
    exported = {"resource_spans": [{"scope_spans": [{"spans": [root, search]}]}]}
    for number, content in enumerate((page, exported)):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(content), encoding="utf-8")
        [sample] = load(path).samples
        assert (sample.query, sample.response, sample.tags["span_id"]) == ("q", "a", "1")
        assert sample.contexts == (Context(id="d", text="c"),)


def test_a_span_of_the_console_exporter(tmp_path: Path) -> None:
    one = {
        "name": "query", "context": {"trace_id": "0x2c", "span_id": "0xb3", "trace_state": "[]"},
        "kind": "SpanKind.INTERNAL", "parent_id": None, "status": {"status_code": "UNSET"},
        "attributes": {"input.value": "q", "output.value": "a"}, "events": [], "links": [],
        "resource": {"attributes": {"service.name": "rag"}, "schema_url": ""},
    }  # fmt: skip
    assert loaded(tmp_path / "a.jsonl", one).samples[0].response == "a"
    path = tmp_path / "b.jsonl"  # as it is written by default
    path.write_text(f"{json.dumps(one, indent=4)}\n" * 2, encoding="utf-8")
    assert load(path).samples[0].response == "a"
