"""What `promptfoo eval -o FILE.json` wrote, as samples."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ragstone.datasets import load
from ragstone.datasets.responses import NOTE
from ragstone.errors import InputError
from ragstone.types.sample import Sample

Read = Callable[..., tuple[Sample, ...]]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    def reading(*results: object, **how: object) -> tuple[Sample, ...]:
        path = tmp_path / "out.json"
        path.write_text(json.dumps(document(*results)), encoding="utf-8")
        return load(path, **how).samples

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


def document(*results: object) -> dict[str, object]:
    return {"evalId": "eval-1", "results": {"version": 3, "results": list(results)}}


def component(kind: str, score: float, **metadata: object) -> dict[str, object]:
    assertion = {"type": kind, "value": "{{truth}}"}
    return {"score": score, "assertion": assertion, "metadata": metadata}


def graded(*components: object) -> dict[str, object]:
    return {"gradingResult": {"componentResults": list(components)}}


def test_a_test_is_a_sample_with_the_programs_scores_as_tags(read: Read) -> None:
    (found,) = read(result(**graded(component("context-recall", 0.5))))
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
    }


def test_samples_stand_in_the_order_of_tests_and_prompts(read: Read) -> None:
    places = [(1, 0), (0, 1), (0, 0), (10, 0)]
    tests = [result(testIdx=test, promptIdx=prompt) for test, prompt in places]
    assert [s.id for s in read(*tests)] == ["1.1", "1.2", "2.1", "11.1"]


def test_what_the_variables_lack_is_taken_from_what_was_graded(read: Read) -> None:
    message = component("context-faithfulness", 1, context=["made", "of it"])
    recalled = component("context-recall", 1, renderedAssertionValue="the truth")
    (found,) = read(result(vars={}, **graded(message, recalled)))
    assert (found.query, found.reference) == ("Answer q?", "the truth")
    assert [context.text for context in found.contexts or ()] == ["made", "of it"]


RAW = {"output": "message.", "metadata": {"contexts": ["raw html"]}}
TRANSFORMED = component("context-faithfulness", 1, context=["transformed"])


@pytest.mark.parametrize(
    "given",
    [
        {"vars": {"query": "q?"}, "response": RAW},
        {"vars": {"query": "q?", "context": "a variable {{query}}"}},
        {"vars": {"query": "q?", "passages": "a variable"}, "response": RAW},
    ],
)
def test_what_an_assertion_looked_at_is_the_contexts(read: Read, given: dict[str, object]) -> None:
    """promptfoo's own score is of these, and a transform may have made them."""
    (found,) = read(result(**given, **graded(TRANSFORMED)))
    assert [context.text for context in found.contexts or ()] == ["transformed"]


def test_contexts_in_the_metadata_of_other_assertions_are_the_users_own(read: Read) -> None:
    own = component("python", 1, context={"of": "its own"})
    (found,) = read(result(vars={"query": "q?"}, **graded(own)))
    assert found.contexts is None


@pytest.mark.parametrize("name", ["reference", "expected_answer"])
def test_what_a_recall_expected_goes_before_a_variable(read: Read, name: str) -> None:
    given = {"query": "q?", "context": "c.", name: "another"}
    recalled = component("context-recall", 1, renderedAssertionValue="the truth")
    (found,) = read(result(vars=given, **graded(recalled)))
    assert found.reference == "the truth"
    (found,) = read(result(vars=given))
    assert found.reference == "another"


def test_each_score_of_a_repeated_assertion_is_a_tag(read: Read) -> None:
    scores = [component("contains", 1), component("contains", 0), component("python", 0.5)]
    (found,) = read(result(**graded(*scores, component("contains", 0.25))))
    message = {name: found.tags[f"promptfoo_{name}"] for name in ("contains", "python")}
    assert message == {"contains": 1, "python": 0.5}
    assert [found.tags[f"promptfoo_contains_{n}"] for n in (2, 3)] == [0, 0.25]


def test_contexts_of_the_provider_are_taken_where_nothing_else_has_any(read: Read) -> None:
    response = {"output": "message.", "metadata": {"contexts": ["given"], "model": "m"}}
    (found,) = read(result(vars={"query": "q?"}, response=response))
    assert [context.text for context in found.contexts or ()] == ["given"]


def test_a_provider_that_failed_gave_no_response(read: Read) -> None:
    failed = result(response=None, success=False, error="API error: 500\nat line 1", score=0)
    (found,) = read(failed)
    assert found.response is None
    assert found.tags["promptfoo_error"] == "API error: 500"


def test_an_answer_that_is_not_text_is_json(read: Read) -> None:
    (found,) = read(result(response={"output": {"a": "ä"}}))
    assert found.response == '{"a": "ä"}'


def test_a_limit_is_of_the_first_tests_and_a_column_may_be_chosen(read: Read) -> None:
    tests = [result(testIdx=2 - n, vars={"query": "q", "frage": f"f{n}"}) for n in range(3)]
    found = read(*tests, limit=2, columns={"query": "frage"})
    assert [(sample.id, sample.query) for sample in found] == [("1.1", "f2"), ("2.1", "f1")]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["x", result()], "item 1: expected a mapping of field names to values, got text"),
        (
            [result(vars={"query": "q", "context": {"a": 1}})],
            "item 1, column context, sample 1.1: this is an object",
        ),
    ],
)
def test_a_result_that_cannot_be_read_is_reported(read: Read, given: list, message: str) -> None:
    with pytest.raises(InputError) as refused:
        read(*given)
    assert message in str(refused.value)


def test_what_is_read_is_noted(read: Read, tmp_path: Path) -> None:
    read(result())
    notes = load(tmp_path / "out.json").source.notes
    assert "read as promptfoo results" in notes
    assert NOTE in notes
