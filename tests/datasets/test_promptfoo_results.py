"""What `promptfoo eval -o FILE.json` wrote, as samples."""

from pathlib import Path
from typing import Any, Protocol

import pytest
from tests.cases import each_case
from tests.datasets.reading import lines

from ragstone.datasets.responses import NOTE
from ragstone.errors import InputError
from ragstone.types.sample import Sample


class Read(Protocol):
    def __call__(self, *results: object, **how: Any) -> tuple[Sample, ...]: ...


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(*results: object, **how: Any) -> tuple[Sample, ...]:
        document = {"evalId": "eval-1", "results": {"version": 3, "results": list(results)}}
        loaded = lines(tmp_path / "out.json", document, **how)
        assert "read as promptfoo results" in loaded.source.notes
        assert NOTE in loaded.source.notes
        return tuple(loaded.samples)

    return reading


def result(**changed: object) -> dict[str, object]:
    return {
        "testIdx": 0,
        "promptIdx": 0,
        "vars": {"query": "q?", "context": "c.", "topic": "towers"},
        "prompt": {"raw": "Answer q?", "label": "Answer {{query}}"},
        "provider": {"id": "echo", "label": ""},
        "response": {"output": "message."},
        "success": True,
        "score": 1,
        "gradingResult": {"componentResults": []},
        **changed,
    }


def component(kind: str, score: float, **metadata: object) -> dict[str, object]:
    assertion = {"type": kind, "value": "{{truth}}"}
    return {"score": score, "assertion": assertion, "metadata": metadata}


def graded(*components: object) -> dict[str, object]:
    return {"gradingResult": {"componentResults": list(components)}}


def test_a_test_is_a_sample_with_the_programs_scores_as_tags(read: Read) -> None:
    scores = [component("context-recall", 0.5), component("contains", 1), component("contains", 0)]
    (found,) = read(result(**graded(*scores)))
    assert (found.id, found.query, found.response) == ("1.1", "q?", "message.")
    assert [context.text for context in found.contexts or ()] == ["c."]
    assert found.reference == "{{truth}}"
    assert dict(found.tags) == {
        "topic": "towers",
        "promptfoo_provider": "echo",
        "promptfoo_prompt": "Answer {{query}}",
        "promptfoo_passed": True,
        "promptfoo_score": 1,
        "promptfoo_context-recall": 0.5,
        "promptfoo_contains": 1,
        "promptfoo_contains_2": 0,
    }


META = {"output": "message.", "metadata": {"contexts": ["given"], "model": "m"}}
SEEN = component("context-faithfulness", 1, context=["transformed"])
OWN = component("python", 1, context={"of": "its own"})


@each_case(
    ("given", "contexts"),
    [
        # promptfoo's own score is of what an assertion looked at; a transform may have made it
        ({"vars": {"query": "q?"}, "response": META} | graded(SEEN), "transformed"),
        ({"vars": {"query": "q?", "context": "one {{query}}"}} | graded(SEEN), "transformed"),
        ({"vars": {}} | graded(SEEN), "transformed"),
        # those of the provider are taken where nothing else has any
        ({"vars": {"query": "q?"}, "response": META}, "given"),
        # contexts in the metadata of other assertions are the user's own
        ({"vars": {"query": "q?"}} | graded(OWN), ""),
    ],
)
def test_what_an_assertion_looked_at_is_the_contexts(
    read: Read, given: dict[str, object], contexts: str
) -> None:
    (found,) = read(result(**given))
    assert "".join(context.text for context in found.contexts or ()) == contexts


@each_case("name", ["reference", "expected_answer"])
def test_what_a_recall_expected_goes_before_a_variable(read: Read, name: str) -> None:
    given = {"query": "q?", "context": "c.", name: "another"}
    recalled = component("context-recall", 1, renderedAssertionValue="the truth")
    for more, reference in ((graded(recalled), "the truth"), ({}, "another")):
        (found,) = read(result(vars=given, **more))
        assert found.reference == reference


def test_samples_stand_in_the_order_of_tests_and_prompts(read: Read) -> None:
    places = [(1, 0), (0, 1), (0, 0), (10, 0)]
    tests = [
        result(testIdx=test, promptIdx=prompt, vars={"query": "q", "frage": f"{test}"})
        for test, prompt in places
    ]
    found = read(*tests, columns={"query": "frage"})
    assert [f"{each.id} {each.query}" for each in found] == ["1.1 0", "1.2 0", "2.1 1", "11.1 10"]
    assert read(*tests, columns={"query": "frage"}, limit=3) == found[:3]


def test_responses_are_texts_objects_or_failures(read: Read) -> None:
    failed = result(response=None, success=False, error="API error: 500\nat line 1", score=0)
    found, lost = read(result(response={"output": {"a": "ä"}}), failed | {"testIdx": 1})
    assert (found.response, lost.response) == ('{"a": "ä"}', None)
    assert lost.tags["promptfoo_error"] == "API error: 500"


def test_a_result_that_cannot_be_read_is_reported(read: Read) -> None:
    with pytest.raises(InputError, match="item 1: expected a mapping of field names to values, go"):
        read("x", result())
    with pytest.raises(InputError, match=r"item 1, column context, sample 1\.1: this is an object"):
        read(result(vars={"query": "q", "context": {"a": 1}}))
