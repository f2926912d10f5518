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
DEFAULTS = [metric for metric in OF_CLAIMS if "contexts=" not in str(metric)]
CITING = {"response": "said 1 [1], said 2, said 3."}


async def run(made: Any, *metrics: Metric, **changed: object) -> Row:
    rows = [Row(0, made.sample(**changed))]
    async with score_rows(rows, metrics, made.judge, concurrency=1) as scored:
        return await anext(scored)


@each_case("metric", [*DEFAULTS, ContextRelevance(), Abstention()], ids=str)
async def test_a_metric_says_how_many_calls_a_sample_takes(checks: Any, metric: Metric) -> None:
    made = checks(**ROWS, others=OTHERS)
    row = await run(made, metric, **CITING)
    assert row.scores[str(metric)].state is State.SCORED
    assert len(made.judge.asked) == metric.calls == metric.info().calls
    assert set(made.kinds) <= set(metric.question_kinds)


async def test_all_metrics_of_claims_ask_two_questions_for_claims_and_four_for_verdicts(
    checks: Any,
) -> None:
    made = checks(**ROWS)
    row = await run(made, *OF_CLAIMS, **CITING)
    assert [score.state for score in row.scores.values()] == [State.SCORED] * len(OF_CLAIMS)
    assert sorted(made.kinds) == ["extract_claims"] * 2 + ["verify_claims"] * 4
    assert len({question.key for question in made.judge.asked}) == 6


async def test_what_is_asked_in_the_four_checks(checks: Any) -> None:
    made = checks(**ROWS)
    await run(made, *OF_CLAIMS)
    said, right = ("said 1", "said 2", "said 3"), ("right 1", "right 2")
    texts = ("one", "two", "three")
    expected = [
        ExtractClaims(query="q", response="What it says."),
        ExtractClaims(query="q", response="What is right."),
        VerifyClaims(query="q", claims=said, contexts=texts),
        VerifyClaims(query="q", claims=said, contexts=("What is right.",)),
        VerifyClaims(query="q", claims=right, contexts=("What it says.",)),
        VerifyClaims(query="q", claims=right, contexts=texts),
    ]
    assert sorted(made.judge.asked, key=str) == sorted(expected, key=str)


async def test_listed_facts_save_a_call(checks: Any) -> None:
    made = checks(**ROWS)
    await run(made, *OF_CLAIMS, reference_claims=("right a", "right b"))
    assert sorted(made.kinds) == ["extract_claims"] + ["verify_claims"] * 4
