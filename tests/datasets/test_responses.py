"""Saved responses that say more of themselves than their rows do."""

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from tests.cases import each_case
from tests.datasets.reading import lines

from ragstone.datasets import Dataset, load, samples_of
from ragstone.datasets.responses import error_message
from ragstone.types.config import Source
from ragstone.types.sample import Context, Sample

RUN = {"run_type": "chain", "inputs": {"question": "q"}}
BOTH = {"response", "contexts"}
GIVEN = {"answer": "a", "documents": ["c"]}


def document(folder: Path, value: object) -> Dataset:
    path = folder / "a.json"
    path.write_text(json.dumps(value), encoding="utf-8")
    return load(path)


def results_of(folder: Path, **changed: object) -> Dataset:
    """Two results of promptfoo, of which the second is changed."""
    good = {
        "vars": {"query": "q", "context": "c"},
        "provider": {"id": "p"},
        "response": {"output": "a"},
        "success": True,
    }
    second = {**good, "success": False, "testIdx": 1, **changed}
    return document(folder, {"results": {"results": [good, second]}})


def saved(*second: Mapping[str, object], mode: str = "chat") -> dict[str, object]:
    first = {"query_index": 0, "query": "q", "response": "a", "retrieved_contexts": ["c"]}
    return {"metadata": {"mode": mode}, "responses": [first, *second]}


def why(loaded: Dataset, row: int = 1) -> dict[str, tuple[str, str]]:
    """Return field -> the cause and the file's own words, for what a row lacks."""
    return {
        field: (failure.cause.value, failure.message.partition("records a failed call: ")[2])
        for field, failure in loaded.failures.get(row, {}).items()
    }


def test_a_run_of_langsmith_with_an_error_failed(tmp_path: Path) -> None:
    good, path = {**RUN, "outputs": GIVEN, "error": None}, tmp_path / "a.jsonl"
    error = "TimeoutError()Traceback\n  at line 1"
    loaded = lines(path, good, {**RUN, "outputs": None, "error": error})
    assert why(loaded) == dict.fromkeys(BOTH, ("timeout", "TimeoutError()Traceback"))
    assert "failed calls recorded in the data: 1" in loaded.source.notes
    assert "error" not in loaded.samples[1].tags
    loaded = lines(path, good, {**good, "error": "boom"})
    assert loaded.samples[1].response is None
    assert loaded.samples[1].contexts is not None, "what was found can be scored"
    assert why(loaded) == {"response": ("unreachable", "boom")}
    note = "in the data: 1; 1 of them had a response, which is ignored"
    assert loaded.source.notes[-1].endswith(note)
    loaded = lines(path, {**RUN, "outputs": None, "status": "error"})
    assert why(loaded, 0) == dict.fromkeys(BOTH, ("unreachable", "status is error"))
    assert loaded.known == BOTH
    given = {**RUN, "outputs": {"answer": "a"}}
    loaded = lines(path, given, {**RUN, "outputs": None, "error": "boom"})
    assert loaded.known == {"response"}, "what no call of the file gives is not failed"


@each_case(
    ("changed", "expected"),
    [
        ({"response": {}, "error": "429 rate limited"}, ("rate_limited", "429 rate limited")),
        ({"response": {"error": "API error: 500\nat x"}}, ("unreachable", "API error: 500")),
        ({"response": {"output": "half", "error": "cut"}}, ("unreachable", "cut")),
        ({"response": None, "error": "boom", "failureReason": 2}, ("unreachable", "boom")),
        # an assertion that failed is not a call
        ({"error": "Expected output to contain x"}, None),
        ({"error": "Expected", "response": {"output": ""}, "failureReason": 1}, None),
        ({"error": "Expected", "response": {"output": ""}, "gradingResult": {"pass": False}}, None),
    ],
)
def test_a_provider_of_promptfoo_that_failed(
    tmp_path: Path, changed: dict[str, object], expected: tuple[str, str] | None
) -> None:
    loaded = results_of(tmp_path, **changed)
    assert why(loaded) == ({"response": expected} if expected else {})
    assert (loaded.samples[1].response is None) is bool(expected)


def test_saved_responses_with_an_error_failed(tmp_path: Path) -> None:
    row = {"query_index": 1, "query": "q", "response": "", "retrieved_contexts": []}
    loaded = document(tmp_path, saved({**row, "error": "read timed out"}))
    assert (loaded.samples[1].response, loaded.samples[1].contexts) == (None, None)
    assert why(loaded) == dict.fromkeys(BOTH, ("timeout", "read timed out"))
    loaded = document(tmp_path, saved({**row, "error": {"message": "boom"}}, mode="search"))
    assert why(loaded)["ranking"] == ("unreachable", "boom")
    assert document(tmp_path, saved({**row, "error": ""})).failures == {}


def span(number: str, parent: str | None, kind: str, **more: object) -> dict[str, object]:
    made = {f"{name}.value": more.pop(name) for name in ("input", "output") if name in more}
    return {
        "context": {"trace_id": "t", "span_id": number},
        "parent_id": parent,
        "attributes": {"openinference.span.kind": kind, **made},
        **more,
    }


THROWN = {"name": "exception", "attributes": {"exception.message": "boom"}}


@each_case(
    ("state", "cause", "message"),
    [
        ({"status_code": "ERROR", "status_message": "429"}, "rate_limited", "429"),
        ({"status": {"status_code": "ERROR", "description": "boom"}}, "unreachable", "boom"),
        ({"status_code": "ERROR", "events": [THROWN]}, "unreachable", "boom"),
        ({"status_code": "ERROR"}, "unreachable", "the status of its span is error"),
    ],
)
def test_a_trace_whose_outermost_span_failed(
    tmp_path: Path, state: dict[str, object], cause: str, message: str
) -> None:
    made = span("1", None, "CHAIN", input="q", output="half", **state)
    assert why(lines(tmp_path / "a.jsonl", made), 0) == dict.fromkeys(BOTH, (cause, message))


def test_a_span_of_otlp_or_langfuse_that_failed(tmp_path: Path) -> None:
    asked = {"key": "input.value", "value": {"stringValue": "q"}}
    thrown = {"key": "exception.message", "value": {"stringValue": "boom"}}
    for code in (2, "STATUS_CODE_ERROR"):
        one = {"traceId": "t", "spanId": "1", "attributes": [asked], "status": {"code": code}}
        one["events"] = [{"name": "exception", "attributes": [thrown]}]
        exported = {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}
        loaded = lines(tmp_path / "a.jsonl", exported)
        assert why(loaded, 0)["response"] == ("unreachable", "boom")
    slow = {"traceId": "t", "input": "q", "output": "a", "level": "WARNING", "statusMessage": "s"}
    lost = {**slow, "output": None, "level": "ERROR", "statusMessage": "boom"}
    loaded = lines(tmp_path / "a.jsonl", {**slow, "id": "a"}, {**lost, "id": "b"})
    assert (why(loaded, 0), why(loaded)) == ({}, {"response": ("unreachable", "boom")})


def test_an_inner_span_that_failed_counts_where_no_answer_came(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    model = span("2", "1", "LLM", status_code="ERROR", status_message="boom")
    asked = span("1", None, "CHAIN", input="q")
    assert why(lines(path, asked, model), 0)["response"] == ("unreachable", "boom")
    answered = span("1", None, "CHAIN", input="q", output="a")
    assert lines(path, answered, model).failures == {}
    first = span("1", None, "LLM", input="q", status_code="ERROR", status_message="429")
    again = span("2", None, "LLM", input="q", output="a")
    assert lines(path, first, again).failures == {}
    inner = span("3", "1", "CHAIN", input="q", output="a")
    assert why(lines(path, first, inner), 0)["response"] == ("rate_limited", "429")


def test_a_search_that_failed_gave_no_contexts(tmp_path: Path) -> None:
    def trace(name: str, **state: object) -> list[dict[str, object]]:
        made = [span("1", None, "CHAIN", input="q", output="a"), span("2", "1", "RETRIEVER")]
        for number, each in enumerate(made, 1):
            each["context"] = {"trace_id": name, "span_id": str(number)}
        made[1] |= state
        return made

    found = {"attributes": {"openinference.span.kind": "RETRIEVER", "retrieval.documents": ["c"]}}
    loaded = lines(tmp_path / "a.jsonl", *trace("t", **found), *trace("u", status_code="ERROR"))
    assert why(loaded) == {"contexts": ("unreachable", "the status of its span is error")}
    assert loaded.samples[1].response == "a"


@each_case("nothing", [None, "", " ", "None", "null", False, {}, "NaN"])
def test_nothing_is_not_an_error(nothing: object) -> None:
    assert error_message(nothing) is None
    assert error_message(True) == "no reason given"


def test_mappings_and_samples_stand_side_by_side():
    sample = Sample(id="a", query="a", tags={"x": None})
    dataset = samples_of(
        [{"Question": "b", "point_ids": [1], "contexts": [Context(text="c")]}, sample], name="mine"
    )
    assert dataset.samples == (
        Sample(id="1", query="b", relevance={"1": 1.0}, contexts=(Context(text="c"),)),
        sample,
    )
    source = dataset.source.model_copy(update={"fields": (), "tags": ()})
    assert source == Source(name="mine", rows=2)


class NAType:
    """Like pandas.NA, which is not equal to itself."""


def test_what_pandas_and_numpy_make():
    (sample, other) = samples_of(
        [
            {"query": "a", "response": float("nan"), "point_ids": np.array([1, 2])},
            {"query": "a", "response": NAType(), "ranking": [np.int64(3)], "n": np.int64(3)},
        ]
    ).samples
    assert (sample.response, other.response) == (None, None)
    assert sample.relevance == {"1": 1.0, "2": 1.0}
    assert (other.ranked_ids, repr(other.tags["n"])) == (("3",), "3")
