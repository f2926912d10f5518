from typing import Any

from tests.cases import each_case

from ragstone.evaluation.scoring import score_rows
from ragstone.metrics import Metric
from ragstone.metrics.citations import CitationPrecision, CitationRecall
from ragstone.metrics.claims import (
    ClaimPrecision,
    ClaimRecall,
    ContextRecall,
    Faithfulness,
    HallucinatedClaims,
    Hallucination,
    NoiseSensitivity,
)
from ragstone.metrics.contexts import ContextRelevance
from ragstone.metrics.responses import Abstention, AnswerCorrectness
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.row import Row
from ragstone.types.score import State

ROWS = {
    "in_contexts": "S1 C2 N",
    "in_reference": "S N S",
    "in_response": "S S",
    "reference_in_contexts": "S1 N",
}
OF_CLAIMS: tuple[Metric, ...] = (
    *(Faithfulness(), ClaimPrecision(), ClaimRecall(), ContextRecall()),
    *(AnswerCorrectness(), Hallucination(), HallucinatedClaims()),
    *(NoiseSensitivity(contexts=kind) for kind in ("any", "relevant", "irrelevant")),
    *(CitationRecall(), CitationPrecision()),
)
OTHERS = {
    "grade_sentences": lambda question: [{"relevant": True} for _ in question.sentences],
    "detect_abstention": False,
}
CITING = {"response": "said 1 [1], said 2, said 3."}


async def run(made: Any, *metrics: Metric, **changed: object) -> Row:
    rows = [Row(0, made.sample(**changed))]
    async with score_rows(rows, metrics, made.judge, concurrency=1) as scored:
        return await anext(scored)


@each_case("metric", [*OF_CLAIMS[:7], *OF_CLAIMS[-2:], ContextRelevance(), Abstention()])
async def test_a_metric_says_how_many_calls_a_sample_takes(checks: Any, metric: Metric) -> None:
    made = checks(**ROWS, others=OTHERS)
    row = await run(made, metric, **CITING)
    assert row.scores[str(metric)].state is State.SCORED
    assert len(made.judge.asked) == metric.calls == metric.info().calls
    assert set(made.kinds) <= set(metric.question_kinds)


async def test_all_metrics_of_claims_share_the_questions_of_four_checks(checks: Any) -> None:
    made = checks(**ROWS)
    row = await run(made, *OF_CLAIMS, **CITING)
    assert {score.state for score in row.scores.values()} == {State.SCORED}
    said, right = ("said 1", "said 2", "said 3"), ("right 1", "right 2")
    texts, response = ("one", "two", "three"), CITING["response"]
    expected = [
        ExtractClaims(query="q", response=response),
        ExtractClaims(query="q", response="What is right."),
        VerifyClaims(query="q", claims=said, contexts=texts),
        VerifyClaims(query="q", claims=said, contexts=("What is right.",)),
        VerifyClaims(query="q", claims=right, contexts=(response,)),
        VerifyClaims(query="q", claims=right, contexts=texts),
    ]
    assert sorted(made.judge.asked, key=str) == sorted(expected, key=str)
