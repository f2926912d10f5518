"""The Python of the seed documents 3 and 4 runs as they print it, but for imports and places."""

import inspect
from pathlib import Path
from textwrap import dedent
from unittest.mock import AsyncMock, MagicMock

import pytest

from ragstone.compat import (
    ClaimsResult,
    ClaimVerdict,
    EvaluationResult,
    Evaluator,
    FaithfulnessEvaluator,
    LLMJudge,
    MetricSummary,
    RAGTestCase,
)
from ragstone.errors import JudgeError, UsageError

RETRIEVAL = """
from ragstone.compat import Evaluator

# Create evaluator
evaluator = Evaluator(
    test_data_path="path/to/test_data.xlsx",
    api_base_url="http://localhost:8000",
    limit=None,  # Optional: limit queries
)

# Run evaluation
results = evaluator.run(
    metrics=["hit", "recall"],  # or "all" or single metric
    k=5,
    score_threshold=0.0,
    verbose=True,
    export=True,
)

# Access results
for name, result in results.items():
    print(f"{result.metric_name}: {result.score:.4f}")
    print(f"  Total queries: {result.total_queries}")
"""

GENERATION = """
from ragstone.compat import GenerationEvaluator

# Create evaluator
evaluator = GenerationEvaluator(
    test_data_path="path/to/test_data.xlsx",
    api_base_url="http://localhost:8000",
    limit=None,
)

# Run Faithfulness evaluation
result = evaluator.run(
    metric="faithfulness",
    top_k=5,
    score_threshold=0.0,
    verbose=True,
    model_name="offline",
    export=True,  # Export results to Excel
)

# Access results
print(f"Faithfulness Score: {result['summary']['score']:.4f}")
print(f"Total queries: {result['summary']['total_queries']}")
"""

PLUGIN = '''
from typing import List, Tuple

from ragstone.compat import RetrievalMetric
from ragstone.compat import QueryResult, MetricSummary
from ragstone.compat import register_metric


@register_metric("mrr")
class MRRAtK(RetrievalMetric):
    """Mean Reciprocal Rank metric."""

    name: str = "MRR@K"
    short_name: str = "mrr"

    def calculate_query_score(
        self,
        ground_truth_ids: List[int],
        retrieved_ids: List[int],
    ) -> Tuple[float, dict]:
        """Calculate MRR for a single query."""
        for rank, doc_id in enumerate(retrieved_ids, 1):
            if doc_id in ground_truth_ids:
                return 1.0 / rank, {"first_hit_rank": rank}
        return 0.0, {"first_hit_rank": None}

    def aggregate_scores(
        self,
        query_results: List[QueryResult],
        k: int,
        score_threshold: float,
    ) -> MetricSummary:
        """Aggregate MRR scores."""
        if not query_results:
            return MetricSummary(
                metric_name=self.name,
                k=k,
                score=0.0,
                total_queries=0,
                score_threshold=score_threshold,
            )

        total = len(query_results)
        avg_mrr = sum(qr.score for qr in query_results) / total

        return MetricSummary(
            metric_name=self.name,
            k=k,
            score=avg_mrr,
            total_queries=total,
            score_threshold=score_threshold,
        )
'''

USAGE = """
from ragstone.compat import FaithfulnessEvaluator

evaluator = FaithfulnessEvaluator(threshold=0.8)
result = await evaluator.evaluate(test_case, judge)

print(f"Score: {result.score}")  # 0.75
print(f"Passed: {result.passed}")  # False (0.75 < 0.8)

# Inspect individual claims
for claim in result.raw_response["claims"]:
    print(f"{claim['verdict']}: {claim['claim']}")
"""

DATA = Path(inspect.getfile(Evaluator)).with_name("demo") / "qr_smartphone_dataset.xlsx"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran(code: str, demo_url: str) -> None:
    """Run it, of only a few queries."""
    placed = code.replace("http://localhost:8000", demo_url).replace("limit=None", "limit=12")
    exec(placed.replace("path/to/test_data.xlsx", str(DATA)), {"__name__": "seed"})


def test_s3_16_the_retrieval_example_runs(folder: Path, demo_url: str, capsys) -> None:
    ran(RETRIEVAL, demo_url)
    out = capsys.readouterr().out
    assert "\nHit@K: 0." in out
    assert "\nRecall@K: 0." in out
    assert out.count("\n  Total queries: ") == 2
    assert [path.suffix for path in (folder / "results").iterdir()] == [".xlsx"]


def test_s3_17_the_generation_example_runs(folder: Path, demo_url: str, capsys) -> None:
    ran(GENERATION, demo_url)
    out = capsys.readouterr().out
    assert "\nFaithfulness Score: 0." in out
    assert "\nTotal queries: " in out
    assert next((folder / "results").iterdir()).name.startswith("Faithfulness_k5_")


def test_s3_18_the_plug_in_file_runs_as_it_stands(folder: Path, demo_url: str) -> None:
    exec(PLUGIN, {"__name__": "mrr_at_k"})
    results = Evaluator(DATA, demo_url, limit=12).run(["mrr", "hit"], export=False)
    assert isinstance(results["mrr"], MetricSummary)
    assert (results["mrr"].metric_name, results["hit"].metric_name) == ("MRR@K", "Hit@K")
    assert 0 < results["mrr"].score <= results["hit"].score
    assert results["mrr"].total_queries == 12


def test_s3_18_ids_are_numbers_where_they_look_like_numbers(folder: Path) -> None:
    seen: list[object] = []
    names: dict[str, object] = {"__name__": "p"}
    exec(PLUGIN.replace('"mrr")', '"ids")'), names)

    def keep(ids: list[object], retrieved: list[object]) -> tuple[float, dict]:
        seen.append((ids, retrieved))
        return 0.0, {}

    names["MRRAtK"].calculate_query_score = staticmethod(keep)  # type: ignore[attr-defined]
    from ragstone import evaluate

    row = {"query": "q", "point_ids": "[5, 17]", "ranking": ["5", "05", "a"]}
    evaluate([row], metrics="ids")
    assert seen == [([5, 17], [5, "05", "a"])]


def test_s3_20_without_rows_there_is_a_message_and_no_zero(folder: Path, demo_url: str) -> None:
    Path("rows.jsonl").write_text('{"query": "Why?"}', encoding="utf-8")
    with pytest.raises(UsageError, match="no row has relevance"):
        Evaluator("rows.jsonl", demo_url).run("hit", export=False)


@pytest.fixture
def mock_judge():
    judge = MagicMock(spec=LLMJudge)
    judge.extract_claims = AsyncMock(return_value=ClaimsResult(claims=["a", "b", "c", "d"]))
    judge.verify_claim = AsyncMock(
        side_effect=[
            ClaimVerdict(verdict="SUPPORTED", evidence="Context states this"),
            ClaimVerdict(verdict="supported"),
            ClaimVerdict(verdict="CONTRADICTED"),
            ClaimVerdict(verdict="SUPPORTED"),
        ]
    )
    return judge


TEST_CASE = RAGTestCase(
    id="t1",
    name="capital",
    query="What is the capital of France?",
    context=["France is a country. Its capital is Paris."],
    response="Paris is the capital of France.",
    expected_answer="Paris",
    expected_facts=["Paris"],
    tags=["geography"],
)


async def test_s4_the_usage_and_the_mock_fixture_run_as_they_stand(mock_judge, capsys) -> None:
    code = "async def main(test_case, judge):\n" + "".join(
        f"    {line}\n" for line in dedent(USAGE).splitlines()
    )
    names: dict[str, object] = {}
    exec(code, names)
    await names["main"](TEST_CASE, mock_judge)  # type: ignore[operator]
    assert capsys.readouterr().out == (
        "Score: 0.75\nPassed: False\nSUPPORTED: a\nSUPPORTED: b\nCONTRADICTED: c\nSUPPORTED: d\n"
    )
    mock_judge.verify_claim.assert_awaited_with("d", TEST_CASE.context)


async def test_s4_10_the_result_has_the_documents_fields(mock_judge) -> None:
    result = await FaithfulnessEvaluator(threshold=0.75).evaluate(TEST_CASE, mock_judge)
    assert isinstance(result, EvaluationResult)
    assert (result.evaluator_name, result.score, result.passed) == ("faithfulness", 0.75, True)
    assert result.reasoning == "Faithfulness 0.75 is >= 0.75"
    first = {"claim": "a", "verdict": "SUPPORTED", "evidence": "Context states this"}
    assert result.raw_response["claims"][0] == first
    assert (result.raw_response["total_claims"], result.raw_response["supported"]) == (4, 3)


def test_s4_8_the_evaluator_has_the_documents_attributes() -> None:
    evaluator = FaithfulnessEvaluator()
    assert (evaluator.name, evaluator.threshold) == ("faithfulness", 0.7)
    assert "claims" in evaluator.description
    assert (evaluator.is_passing(0.7), evaluator.is_passing(0.69)) == (True, False)
    assert repr(FaithfulnessEvaluator(threshold=0.8)) == "FaithfulnessEvaluator(threshold=0.8)"


@pytest.mark.parametrize(
    ("response", "passed"), [("", True), ("  \n", True), (TEST_CASE.response, False)]
)
async def test_s4_9_a_response_without_claims_has_1_without_a_call_and_passes_if_empty(
    response: str, passed: bool, mock_judge
) -> None:
    case = TEST_CASE.model_copy(update={"response": response})
    mock_judge.extract_claims.return_value = ClaimsResult(claims=[])
    result = await FaithfulnessEvaluator().evaluate(case, mock_judge)
    assert (result.score, result.passed) == (1.0, passed)
    assert passed or "found no claims" in result.reasoning
    assert not mock_judge.verify_claim.await_count


async def test_s4_14_without_contexts_no_claim_is_backed_and_a_failed_judge_raises(
    mock_judge,
) -> None:
    case = TEST_CASE.model_copy(update={"context": []})
    result = await FaithfulnessEvaluator().evaluate(case, mock_judge)
    assert result.score == 0.0
    assert {claim["verdict"] for claim in result.raw_response["claims"]} == {"NOT_ENOUGH_INFO"}
    with pytest.raises(ValueError, match="MAYBE"):
        ClaimVerdict(verdict="MAYBE")  # type: ignore[arg-type]
    mock_judge.verify_claim = AsyncMock(side_effect=JudgeError("malformed", "no verdict"))
    with pytest.raises(JudgeError, match="no verdict"):
        await FaithfulnessEvaluator().evaluate(TEST_CASE, mock_judge)


async def test_a_judge_of_ragstone_takes_the_place_of_an_llm_judge() -> None:
    result = await FaithfulnessEvaluator().evaluate(TEST_CASE, "offline")
    assert (result.score, result.passed) == (1.0, True)
