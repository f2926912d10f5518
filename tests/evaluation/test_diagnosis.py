from ragstone import evaluate
from ragstone.errors import Cause
from ragstone.evaluation.scoring import rescore_row
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.reports.markdown import run_as_markdown
from ragstone.results.run import Run
from ragstone.types.claim import ClaimIssue, DiagnosedClaim
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure
from ragstone.types.row import Row

SAMPLE = {
    "query": "How tall is the tower, and how old?",
    "response": "r1. r2. r3.",
    "contexts": ["c"],
    "reference": "e1. e2. e3.",
}
SAID = {  # claim -> what (contexts, reference or response) say of it
    "r1": ("SUPPORTED", "SUPPORTED"),
    "r2": ("CONTRADICTED", "NOT_ENOUGH_INFO"),
    "r3": ("NOT_ENOUGH_INFO", "SUPPORTED"),
    "e1": ("SUPPORTED", "SUPPORTED"),
    "e2": ("SUPPORTED", "NOT_ENOUGH_INFO"),
    "e3": ("NOT_ENOUGH_INFO", "CONTRADICTED"),
}


def claims(question: ExtractClaims) -> list[dict[str, str]]:
    return [{"text": text} for text in question.response.replace(".", "").split()]


def verdicts(question: VerifyClaims) -> list[dict[str, str]]:
    side = 0 if question.contexts == ("c",) else 1
    return [{"label": SAID[claim][side]} for claim in question.claims]


def ran(*metrics: str, answers: object = verdicts, **fields: object) -> tuple[Run, ScriptedJudge]:
    judge = ScriptedJudge({"extract_claims": claims, "verify_claims": answers})
    return evaluate([{**SAMPLE, **fields}], metrics=list(metrics), judge=judge), judge


def blamed(run: Run) -> dict[str, ClaimIssue]:
    return {each.claim: each.blame for each in run.rows[0].blamed}


async def test_each_claim_that_is_not_backed_or_missing_is_blamed() -> None:
    run, judge = ran("faithfulness", "context_recall", "claim_recall")
    told = run.rows[0].to_dict()["blame"]
    assert told == [
        {"claim": "r2", "of": "response", "blame": "contradicted"},
        {"claim": "r3", "of": "response", "blame": "not found in any context"},
        {"claim": "e2", "of": "reference", "blame": "retrieved and ignored"},
        {"claim": "e3", "of": "reference", "blame": "not retrieved"},
    ]
    assert len(judge.asked) == 5, "blame asks nothing: two extractions, three verifications"
    assert run.to_dict()["blame"] == dict.fromkeys(
        ["contradicted", "not found in any context", "retrieved and ignored", "not retrieved"], 1
    )
    assert DiagnosedClaim.model_validate(told[0]) == run.rows[0].blamed[0]
    row: Row = await rescore_row(run.rows[0], [get("claim_recall")])
    assert row.blamed == run.rows[0].blamed
    run, _ = ran("faithfulness", "context_recall", "claim_recall", contexts=[])
    assert blamed(run)["e2"] is ClaimIssue.NOT_RETRIEVED
    assert blamed(run)["r1"] is ClaimIssue.NOT_FOUND


def test_verdicts_that_nobody_asked_for_blame_nothing() -> None:
    def partly(question: VerifyClaims) -> list[dict[str, str]]:
        return [{"label": "PARTIALLY_SUPPORTED"} for _ in question.claims]

    run, _ = ran("faithfulness")
    assert set(blamed(run)) == {"r2", "r3"}
    assert "memory" not in run_as_markdown(run), "no cause is told that nobody can know"
    assert blamed(ran("context_recall")[0]) == {}, "whether the response has them is not known"
    assert set(blamed(ran("answer_correctness", "context_recall")[0])) == {"e2", "e3"}
    assert blamed(ran("faithfulness,allow_partial=true", answers=partly)[0]) == {}
    refused = Failure(Cause.REFUSAL, "no")
    assert blamed(ran("faithfulness", "claim_recall", answers=refused)[0]) == {}


def test_claims_found_in_two_ways_are_not_paired() -> None:
    def found(question: ExtractClaims) -> list[dict[str, str]]:
        return claims(question)[: 2 if question.by == "sentences" else 3]

    judge = ScriptedJudge({"extract_claims": found, "verify_claims": verdicts})
    metrics = ["claim_recall,claim_source=sentences", "context_recall"]
    assert blamed(evaluate([SAMPLE], metrics=metrics, judge=judge)) == {}
