"""Metrics as scorers of MLflow: without it, what is passed in and out; with it, an evaluation."""

import json
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cases import each_case

from ragstone.errors import CallError, Cause, RagstoneError, UsageError
from ragstone.evaluation.runner import evaluate
from ragstone.integrations.mlflow import feedback_of, retrieved, sample_of, scorer
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score

CHARGING = "It charges to 50 percent in 35 minutes."
TEXT = "The phone charges to 50 percent in 22 minutes."


@each_case(
    ("inputs", "outputs", "expectations", "fields"),
    [
        ("q", "a", None, {"query": "q", "response": "a"}),
        ({"question": "q"}, "a", {"expected_response": "r"}, {"response": "a", "reference": "r"}),
        ({"user_input": "q"}, {"answer": "a", "context": ["t"]}, {"expected_facts": ["f"]},
         {"response": "a", "contexts": (Context(text="t"),), "reference_claims": ("f",)}),
        ({"question": "q", "contexts": ["t"], "k": 3}, None, {"relevance": {"d": 1}},
         {"contexts": (Context(text="t"),), "relevance": {"d": 1.0}, "tags": {"k": 3}}),
        ({"messages": [{"role": "user", "content": "q"}]}, {"response": "a"}, None,
         {"query": "q", "response": "a"}),
    ],
)  # fmt: skip
def test_rows_of_mlflow_are_samples(inputs, outputs, expectations, fields) -> None:
    sample = sample_of(inputs, outputs, expectations)
    assert {name: getattr(sample, name) for name in fields if name != "tags"} == {
        name: value for name, value in fields.items() if name != "tags"
    }
    assert fields.get("tags", {}).items() <= dict(sample.tags).items()


def test_documents_of_the_trace_are_the_contexts_if_there_are_no_others() -> None:
    document = SimpleNamespace(page_content="t", metadata={"doc_uri": "d"}, id=None)
    plain = {"page_content": "u", "metadata": {}, "id": "e"}
    trace = SimpleNamespace(search_spans=lambda **_: [SimpleNamespace(outputs=[document, plain])])
    found = sample_of({"query": "q"}, "a", None, trace=trace).contexts
    assert found == (Context(text="t", id="d"), Context(text="u", id="e"))
    own = sample_of({"query": "q"}, {"contexts": ["own"]}, None, trace=trace)
    assert own.contexts == (Context(text="own"),)
    assert retrieved(None) is None
    assert retrieved(SimpleNamespace(search_spans=lambda **_: [])) is None


def traced(*outputs: object) -> SimpleNamespace:
    spans = [SimpleNamespace(outputs=each) for each in outputs]
    return SimpleNamespace(search_spans=lambda **_: spans)


def test_only_lists_of_a_retriever_are_contexts() -> None:
    assert sample_of("q", "a", None, trace=traced(None)).contexts is None  # it failed
    assert sample_of("q", "a", None, trace=traced([])).contexts == ()
    assert sample_of("q", "a", None, trace=traced(None, ["t"])).contexts == (Context(text="t"),)
    for outputs in ({"documents": ["t"]}, "text", [5], [None], [{"page": "t"}], 0):
        with pytest.raises(CallError) as caught:
            sample_of("q", "a", None, trace=traced(outputs))
        assert caught.value.cause is Cause.MALFORMED
        assert sample_of("q", {"contexts": []}, None, trace=traced(outputs)).contexts == ()


def test_rows_that_cannot_be_read_are_errors() -> None:
    for inputs, outputs in (({}, "a"), ({"query": "q"}, {"answr": "a"}), ({"query": "q"}, 5)):
        with pytest.raises(RagstoneError):
            sample_of(inputs, outputs, None)


def test_failed_and_undefined_scores_have_no_value() -> None:
    assert feedback_of(Score.undefined("no contexts")) is None
    failed = feedback_of(Score.failed(Cause.TIMEOUT, "too late"))
    assert failed == {"code": "TIMEOUT", "rationale": "too late"}
    sample = Sample(id="1", query="q", response=CHARGING, contexts=(Context(text=TEXT),))
    score = evaluate([sample], metrics="faithfulness").rows[0].scores["faithfulness"]
    found = feedback_of(score)
    assert found is not None
    assert found["value"] == 0.0
    [claim] = json.loads(found["metadata"]["claims"])
    assert (claim["label"], claim["evidence"]) == ("NOT_ENOUGH_INFO", [TEXT])


@pytest.mark.skipif(find_spec("mlflow") is not None, reason="MLflow is installed")
def test_the_extra_is_named() -> None:
    with pytest.raises(UsageError, match=r"pip install 'ragstone\[mlflow\]'"):
        scorer("faithfulness")


@pytest.mark.filterwarnings("ignore")  # those of MLflow
def test_an_evaluation_of_mlflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    mlflow = pytest.importorskip("mlflow", reason="needs 100 MB: pip install mlflow-skinny pandas")
    mlflow.set_tracking_uri(f"sqlite:///{tmp_path}/mlflow.db")
    mlflow.set_experiment("ragstone")
    rows = [
        {"inputs": {"question": "q"}, "outputs": {"response": CHARGING, "contexts": [TEXT]}},
        {"inputs": {"question": "q"}, "outputs": {"response": TEXT, "contexts": [TEXT]}},
        {"inputs": {"question": "q"}, "outputs": "no contexts"},
        {"inputs": {"question": "q"}, "outputs": {"answr": "no response"}},
    ]
    found = mlflow.genai.evaluate(data=rows, scorers=[scorer("faithfulness")])
    assert found.metrics == {"faithfulness/mean": 0.5}
    given = [trace.info.assessments for trace in mlflow.search_traces(return_type="list")]
    errors = [each.error.error_code for row in given for each in row if each.error]
    assert sorted(len(row) for row in given) == [0, 1, 1, 1]
    assert errors == ["MALFORMED"]
