# ruff: noqa: A002, ARG002, ARG005 - the names of parameters are those of the libraries
"""Objects of LangChain 1.8, LlamaIndex 0.14 and Haystack 3.4, as stand-ins with what is read."""

from types import SimpleNamespace
from uuid import uuid4

import pytest
from tests.cases import each_case

from ragstone.datasets import samples_of
from ragstone.errors import TargetError
from ragstone.evaluation.runner import evaluate
from ragstone.targets.factory import FunctionTarget
from ragstone.types.config import Plan
from ragstone.types.sample import Context, Message, Sample

BOTH = frozenset(("response", "contexts"))


class Document:
    def __init__(self, text: str, own: str | None = None, **metadata: object) -> None:
        self.page_content, self.id, self.metadata = text, own, metadata


def node(text: str, own: str | None = None, **more: object) -> SimpleNamespace:
    """A node of LlamaIndex with its score; it has a random id if it has none of its own."""
    score, parent = more.pop("score", None), more.pop("parent", None)
    within = SimpleNamespace(text=text, id_=own or str(uuid4()), metadata=more, ref_doc_id=parent)
    return SimpleNamespace(node=within, score=score)


class RunnableLambda:
    def __init__(self, function, *inputs: str) -> None:
        self._function, self._inputs = function, inputs

    def get_input_jsonschema(self) -> dict[str, object]:
        return {"properties": {name: {} for name in self._inputs}} if self._inputs else {}

    def invoke(self, input, config=None, **kwargs):
        return self._function(input)

    async def ainvoke(self, input, config=None, **kwargs):
        return self._function(input)


class TextChain:
    """Returns a text, as a chain with a StrOutputParser; its retriever merges two others."""

    def __init__(self, *searches: tuple[int, int | None, list[Document]]) -> None:
        self._searches = searches

    async def ainvoke(self, input, config):
        [callback] = config["callbacks"]
        assert callback.ignore_chain
        assert not callback.ignore_retriever
        for run_id, parent_run_id, documents in self._searches:
            callback.on_retriever_start({}, input, run_id=run_id)
            callback.on_retriever_end(documents, run_id=run_id, parent_run_id=parent_run_id)
        return "I."


class QueryEngine:
    def query(self, str_or_query_bundle):
        nodes = [node("a text", "n-1", score=0.5), node("another")]
        return SimpleNamespace(response=f"of {str_or_query_bundle}", source_nodes=nodes)


class StreamingResponse:
    def __init__(self, *pieces: str) -> None:
        self.response_gen, self.response_txt = iter(pieces), None
        self.source_nodes = [node("a text", parent="101")]


class ChatEngine:
    def __init__(self) -> None:
        self._said: list[str] = []

    def reset(self) -> None:
        self._said = []

    def chat(self, message, chat_history=None):
        self._said.append(message)
        nodes = [node("a text", parent="101")]
        return SimpleNamespace(response=" ".join(self._said), source_nodes=nodes)


class HaystackDocument:
    def __init__(self, content: str, **meta: object) -> None:
        self.id, self.content, self.meta, self.score = "5a4fa402" * 8, content, meta, 0.5


class Pipeline:
    more: bool = False

    def walk(self):
        return [(name, object()) for name in ("retriever", "prompt_builder", "llm")]

    def inputs(self):
        query, rest = {"is_mandatory": True}, {"is_mandatory": self.more, "default_value": None}
        parts = {"question": query, "template": rest}
        return {"retriever": {"query": query, "top_k": rest}, "prompt_builder": parts}

    def run(self, data, include_outputs_from=None):
        assert data == {"retriever": {"query": "Who?"}, "prompt_builder": {"question": "Who?"}}
        assert "retriever" in include_outputs_from
        reply = SimpleNamespace(text="He.", role="assistant", meta={})
        found = [HaystackDocument("a text", point_id=101)]
        return {"retriever": {"documents": found}, "llm": {"replies": [reply]}}


def asked_of(target) -> FunctionTarget:
    return FunctionTarget("rag", target, Plan(min_similarity=0.5, timeout=5), k=5)


async def fields_of(target) -> dict[str, object]:
    given = await asked_of(target).ask(Sample(id="1", query="Who?"), frozenset())
    assert given.calls[0].failure is None, given.calls[0].failure
    return dict(given.fields)


TEXT = (Context(text="Who?"),)
FOUND = (Context(text="a text", id="101"),)


def stream(query: str):
    yield {"context": [Document("a text", point_id=101)]}
    yield {"answer": "I "}
    yield {"answer": "do."}


async def later(query: str):
    yield SimpleNamespace(content="I ", type="AIMessageChunk")
    yield Document("a text", point_id=101)
    yield "do."


def agent(given: dict[str, list[dict[str, str]]]) -> dict[str, object]:
    call = SimpleNamespace(content="", type="ai", tool_calls=[{"name": "search"}])
    documents = [Document("a text", point_id=101)]
    said = SimpleNamespace(content="Source: ...", type="tool", artifact=documents)
    return {"messages": [*given["messages"], call, said, SimpleNamespace(content="I.", type="ai")]}


@each_case(
    ("target", "fields"),
    [
        (RunnableLambda(str.upper), {"response": "WHO?"}),
        (RunnableLambda(lambda q: SimpleNamespace(content=q, type="ai")), {"response": "Who?"}),
        (RunnableLambda(lambda given: given["input"], "input"), {"response": "Who?"}),
        (RunnableLambda(lambda q: {"input": q, "answer": q, "context": [Document(q)]}),
         {"response": "Who?", "contexts": TEXT}),
        (RunnableLambda(lambda q: [Document("a text", id=101)]), {"contexts": FOUND}),
        (QueryEngine(),
         {"response": "of Who?",
          "contexts": (Context(text="a text", id="n-1", score=0.5), Context(text="another"))}),
        (lambda q: [node("a text", doc_id=101)], {"contexts": FOUND}),
        (lambda q: ("I.", [Document("a text", id=101)]), {"response": "I.", "contexts": FOUND}),
        (stream, {"response": "I do.", "contexts": FOUND}),
        (later, {"response": "I do.", "contexts": FOUND}),
        (lambda q: StreamingResponse("I ", "do."), {"response": "I do.", "contexts": FOUND}),
        (RunnableLambda(agent, "messages"), {"response": "I.", "contexts": FOUND}),
        (ChatEngine(), {"response": "Who?", "contexts": FOUND}),
        (Pipeline(),
         {"response": "He.", "contexts": (Context(text="a text", id="101", score=0.5),)}),
        (lambda q: {"response": QueryEngine().query(q), "contexts": []},
         {"response": "of Who?", "contexts": ()}),
        (lambda q: {"ranking": [Document("", "a"), Document("", "b")]},
         {"ranking": (Context(id="a"), Context(id="b"))}),
    ],
)  # fmt: skip
async def test_their_objects_are_read(target, fields: dict[str, object]) -> None:
    assert await fields_of(target) == fields


async def test_contexts_of_a_chain_that_returns_a_text_are_what_it_retrieved() -> None:
    one, other = Document("a text", point_id=101), Document("another", point_id=102)
    assert await fields_of(TextChain((1, None, [one]))) == {"response": "I.", "contexts": FOUND}
    merged = TextChain((2, 1, [other, one]), (3, 1, [other]), (1, None, [one]))
    assert await fields_of(merged) == {"response": "I.", "contexts": FOUND}
    twice = await fields_of(TextChain((1, 0, [one]), (2, 0, [other])))
    assert twice["contexts"] == (*FOUND, Context(text="another", id="102"))
    assert (await fields_of(TextChain((1, None, []))))["contexts"] == ()
    assert await fields_of(TextChain()) == {"response": "I."}


TURN = Sample(
    id="1",
    query="And the battery?",
    history=(Message(role="user", content="Hi"), Message(role="assistant", content="Hello")),
)
BEFORE, LAST = TURN.messages[:-1], TURN.messages[-1]


@each_case(
    ("inputs", "given", "notes"),
    [
        (("input", "chat_history"), {"input": TURN.query, "chat_history": BEFORE}, 0),
        (("messages",), {"messages": [*BEFORE, LAST]}, 0),
        (("input",), {"input": TURN.query}, 1),
        ((), TURN.query, 1),
    ],
)
async def test_chains_are_given_the_history_if_they_take_it(inputs, given, notes: int) -> None:
    seen: list[object] = []
    chain = RunnableLambda(lambda value: seen.append(value) or "yes", *inputs)
    target = asked_of(chain)
    assert (await target.ask(TURN, BOTH)).fields == {"response": "yes"}
    assert seen == [given]
    assert len(target.notes([TURN])) == notes
    assert target.notes([TURN.model_copy(update={"history": None})]) == ()


def test_a_history_that_is_left_out_is_noted() -> None:
    rows = [{"messages": [*BEFORE, LAST]}]
    message = "given questions without the conversation before them; see `messages` in docs"
    with pytest.warns(UserWarning, match=message):
        evaluate(rows, metrics="faithfulness", target=QueryEngine())
    evaluate(rows, metrics="faithfulness", target=lambda messages: {"response": "", "contexts": []})


def test_documents_without_ids_leave_rankings_undefined() -> None:
    rows, chain = [{"query": "Who?", "relevance": ["a"]}], lambda q: {"context": [Document(q)]}
    run = evaluate(rows, metrics="hit", target=RunnableLambda(chain))
    assert str(run.rows[0].scores["hit@5"].reason).startswith("some retrieved documents have no id")


def test_random_ids_are_found_where_the_relevant_ids_are_random() -> None:
    there, other = str(uuid4()), str(uuid4())
    rows = [{"query": "Who?", "relevance": [there]}, {"query": "What?", "relevance": [other]}]
    documents = [Document("t", there)]
    asked = evaluate(rows, metrics="recall", target=lambda q: documents)
    saved = evaluate([{**row, "contexts": documents} for row in rows], metrics="recall")
    for run in (asked, saved):
        assert [row.scores["recall@5"].value for row in run.rows] == [1, 0]


@each_case(
    "saved",
    [
        {"contexts": [(Document("a text", point_id=101), 0.5)], "answer": "He."},
        {"contexts": [node("a text", parent="101", score=0.5)], "answer": "He."},
        {"answer": SimpleNamespace(response="He.", source_nodes=[node("a text", parent="101")])},
    ],
)
def test_their_objects_are_read_from_rows(saved: dict[str, object]) -> None:
    (sample,) = samples_of([{"query": "Who?", "point_ids": [101], **saved}]).samples
    assert (sample.response, sample.ranked_ids) == ("He.", ("101",))


async def test_rows_share_no_memory_of_a_chat_engine() -> None:
    asked = asked_of(ChatEngine())
    given = [await asked.ask(Sample(id=q, query=q), BOTH) for q in ("Who?", "Why?")]
    assert [each.fields["response"] for each in given] == ["Who?", "Why?"]


def test_a_pipeline_that_needs_more_than_the_query_is_refused() -> None:
    needy = type("Needy", (Pipeline,), {"more": True})()
    with pytest.raises(TargetError, match="needs the input top_k of retriever; use a function"):
        asked_of(needy)
