"""Data sets, samples and test cases of ragas and deepeval, by their attributes.

The stand-ins have the fields of ragas 0.4.3 and deepeval 4.3.1.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pytest
from pydantic import BaseModel

from ragstone import UsageError, evaluate
from ragstone.types.sample import Sample

DOCS = Path(__file__).parents[2] / "docs"
LIBRARIES = {"ragas": "from-ragas.md", "deepeval": "from-deepeval.md"}


class SingleTurnSample(BaseModel):
    """A sample of ragas."""

    user_input: str | list[dict[str, str]] | None = None
    retrieved_contexts: list[str] | None = None
    reference_contexts: list[str] | None = None
    retrieved_context_ids: list[str | int] | None = None
    reference_context_ids: list[str | int] | None = None
    response: str | None = None
    reference: str | None = None


class EvaluationDataset:
    """A data set of ragas."""

    def __init__(self, samples: list[SingleTurnSample]) -> None:
        self.samples = samples

    def __iter__(self) -> Iterator[SingleTurnSample]:
        return iter(self.samples)


class RetrievedContextData(BaseModel):
    """A context of deepeval with its source."""

    context: str
    source: str


class LLMTestCase(BaseModel):
    """A test case of deepeval."""

    input: str
    actual_output: str | None = None
    expected_output: str | None = None
    context: list[str] | None = None
    retrieval_context: list[str | RetrievedContextData] | None = None
    metadata: dict[str, object] | None = None
    tags: list[str] | None = None
    name: str | None = None
    flaky: bool = False


class Golden(BaseModel):
    """A golden of deepeval."""

    input: str
    expected_output: str | None = None
    context: list[str] | None = None


class Cases:
    """A data set of deepeval."""

    def __init__(self, *goldens: Golden) -> None:
        self.test_cases: list[LLMTestCase] = []
        self.goldens = goldens


ANSWER = "It charges to 50 percent in 22 minutes."
CONTEXT = "The phone charges to 50 percent in 22 minutes."
RAGAS = SingleTurnSample(
    user_input="How fast does it charge?",
    response=ANSWER,
    retrieved_contexts=[CONTEXT, "It is blue."],
    retrieved_context_ids=["a", 2],
    reference_context_ids=["a"],
    reference="22 minutes",
)


def test_samples_of_ragas_and_their_data_set() -> None:
    for data in ([RAGAS, RAGAS], EvaluationDataset([RAGAS, RAGAS]), [RAGAS.model_dump()] * 2):
        run = evaluate(data, metrics=["faithfulness", "recall"], k=1)
        assert run.manifest.source.notes == ("read as ragas samples",)
        assert [metric.mean for metric in run.summary().values()] == [1, 1]
        sample = run.rows[1].sample
        assert (sample.query, sample.response) == (RAGAS.user_input, ANSWER)
        found = [(context.id, context.text) for context in sample.contexts or ()]
        assert found == [("a", CONTEXT), ("2", "It is blue.")]
        assert (sample.reference, sample.relevance) == ("22 minutes", {"a": 1})


def test_test_cases_of_deepeval_and_their_data_set() -> None:
    case = LLMTestCase(
        input="How fast does it charge?",
        actual_output=ANSWER,
        expected_output="22 minutes",
        context=["the ideal context"],
        retrieval_context=[CONTEXT, RetrievedContextData(context="It is blue.", source="a.pdf")],
        metadata={"language": "en"},
        tags=["fast"],
        name="charging",
    )
    cases = Cases()
    cases.test_cases += [case, case]
    told = {"context": '["the ideal context"]', "tags": '["fast"]'}
    for data in ([case, case], cases):
        run = evaluate(data, metrics="faithfulness")
        assert run.summary()["faithfulness"].mean == 1
        sample = run.rows[0].sample
        assert [context.text for context in sample.contexts or ()] == [CONTEXT, "It is blue."]
        assert sample.reference == "22 minutes"
        assert sample.tags == {**told, "language": "en", "name": "charging"}


def test_goldens_of_deepeval_are_questions() -> None:
    def answer(query: str) -> dict[str, object]:
        assert query == "How fast?"
        return {"response": ANSWER, "contexts": [CONTEXT]}

    golden = Golden(input="How fast?", expected_output="so", context=["ideal"])
    run = evaluate(Cases(golden), metrics="faithfulness", target=answer)
    assert run.summary()["faithfulness"].mean == 1


def test_what_has_no_rows_is_reported() -> None:
    for single in (RAGAS, Sample(id="1", query="q", response=ANSWER)):
        with pytest.raises(UsageError, match=r"data is a single row; pass a list of rows"):
            evaluate(cast("Any", single), metrics="faithfulness")
    with pytest.raises(UsageError, match="there are no rows"):
        evaluate(Cases(), metrics="faithfulness")


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_page_is_right_for_the_real_library(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "1")
    page = (DOCS / LIBRARIES[library]).read_text(encoding="utf-8")
    found = re.findall(r"^```py\n(.*?)^```\n\n```text\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    assert found
    for code, output in found:
        command = [sys.executable, "-W", "ignore", "-c", code]
        done = subprocess.run(command, capture_output=True, cwd=tmp_path, text=True, check=False)
        assert done.stdout == output, done.stderr
