from typing import Any

import pytest
from tests.asking import asker
from tests.cases import each_case

from ragstone.errors import Cause, JudgeError
from ragstone.evaluation.scoring import score_rows
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.metrics.claim_checks import NO_REFERENCE_CLAIMS, quoted
from ragstone.types.claim import Claim, Label
from ragstone.types.policy import POLICIES
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure
from ragstone.types.row import Row
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score, State

# "It lasts 20 hours, charges in 75 minutes, is blue and costs 9 EUR." makes four claims:
#   1  supported            weight 1
#   2  contradicted         weight 0
#   3  not in the contexts  weight 0
#   4  supported            weight 1       2 of 4 = 0.5
TEXTS = ("It lasts 20 hours.", "It charges in 75 minutes.", "It is blue.", "It costs 9 EUR.")
LABELS = ("SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO", "SUPPORTED")
SAMPLE = Sample(
    id="q1",
    query="Tell me about it.",
    response="It lasts 20 hours, charges in 75 minutes, is blue and costs 9 EUR.",
    contexts=(Context(id="1", text="20 hours. 9 EUR."), Context(id="2", text="60 minutes.")),
)


def judge_of(labels: tuple[str, ...], texts: tuple[str, ...] = TEXTS) -> ScriptedJudge:
    return ScriptedJudge(
        {
            "extract_claims": [{"text": text} for text in texts],
            "verify_claims": [{"label": label, "reason": "so"} for label in labels],
        }
    )


async def score(judge: ScriptedJudge, **changed: Any) -> Score:
    sample = SAMPLE.model_copy(update=changed)
    return await get("faithfulness").score(sample, asker(judge))


async def test_the_worked_example() -> None:
    judge = judge_of(LABELS)
    judged = await score(judge, ranking=(Context(id="9", text="Something else."),))
    assert judged.value == 0.5
    assert judged.detail == {"claims": 4, "supported": 2, "contradicted": 1, "not_enough_info": 1}
    assert [(claim.text, claim.label) for claim in judged.claims] == [
        *zip(TEXTS, LABELS, strict=True)
    ]
    assert judge.asked == [
        ExtractClaims(query=SAMPLE.query, response=SAMPLE.response or ""),
        VerifyClaims(
            query="Tell me about it.", claims=TEXTS, contexts=("20 hours. 9 EUR.", "60 minutes.")
        ),
    ]


EMPTY, NO_CLAIMS = "the response is empty", "the response makes no claims"
EMPTY_REFERENCE = "the reference is empty"


@each_case(
    ("name", "changed", "reason"),
    [
        ("faithfulness", {"response": ""}, EMPTY),
        ("faithfulness", {"response": "Sure!"}, NO_CLAIMS),
        ("claim_precision", {"response": ""}, EMPTY),
        ("claim_precision", {"response": "Sure!"}, NO_CLAIMS),
        ("claim_precision", {"reference": " "}, EMPTY_REFERENCE),
        ("claim_precision", {"reference_claims": (), "reference": ""}, EMPTY_REFERENCE),
        ("context_recall", {"reference": "Well."}, NO_REFERENCE_CLAIMS),
        ("context_recall", {"reference_claims": ()}, NO_REFERENCE_CLAIMS),
        ("context_recall", {"contexts": ({"id": "1"},)}, "the contexts have no text"),
        *((f"context_recall:{policy}", {"reference": ""}, EMPTY_REFERENCE) for policy in POLICIES),
        ("claim_recall", {"reference": ""}, EMPTY_REFERENCE),
        ("claim_recall", {"reference": "Well."}, NO_REFERENCE_CLAIMS),
        ("claim_recall", {"reference_claims": ()}, NO_REFERENCE_CLAIMS),
        ("hallucinated_claims", {"response": "Sure!"}, NO_CLAIMS),
        ("hallucinated_claims", {"contexts": ({"id": "1"},)}, "the contexts have no text"),
        ("hallucination", {"response": "Sure!"}, NO_CLAIMS),
        ("answer_correctness", {"reference": "", "response": ""}, EMPTY_REFERENCE),
        ("answer_correctness", {"reference_claims": ()}, NO_REFERENCE_CLAIMS),
        ("noise_sensitivity", {"response": "Sure!"}, NO_CLAIMS),
    ],
)
async def test_where_the_question_does_not_arise_it_is_undefined(
    checks: Any, name: str, changed: dict[str, Any], reason: str
) -> None:
    made = checks()
    judged = await made.score(get(name), **changed)
    assert (judged.state, judged.reason) == ("undefined", reason)
    assert set(made.kinds) <= {"extract_claims"}


async def test_against_no_contexts_nothing_is_supported_and_nothing_is_verified(
    checks: Any,
) -> None:
    judge = judge_of(LABELS)
    judged = await score(judge, contexts=())
    assert judged.value == 0
    assert {claim.label for claim in judged.claims} == {Label.NOT_ENOUGH_INFO}
    assert {claim.reason for claim in judged.claims} == {"there are no contexts"}
    assert len(judge.asked) == 1
    made = checks(reference_in_contexts="S S")
    assert (await made.score(get("context_recall"), contexts=())).value == 0.0


async def test_spans_and_reasons_are_kept() -> None:
    judge = ScriptedJudge(
        {
            "extract_claims": [Claim(text="20 hours", span=(9, 17))],
            "verify_claims": [{"label": "SUPPORTED", "reason": "said so", "confidence": 0.9}],
        }
    )
    (claim,) = (await score(judge)).claims
    assert (claim.span, claim.reason, claim.confidence) == ((9, 17), "said so", 0.9)


async def test_the_worked_example_of_context_recall(checks: Any) -> None:
    """Two of the reference's five claims stand in the contexts: 2/5."""
    made = checks(reference_in_contexts="S1 N C2 S3 P1")
    score = await made.score(get("context_recall"))
    assert score.value == 0.4
    assert made.kinds == ["extract_claims", "verify_claims"]
    assert made.judge.asked[0].response == "What is right."
    assert made.judge.asked[1].contexts == ("one", "two", "three")


async def test_facts_that_the_row_lists_are_the_claims_each_once(checks: Any) -> None:
    made = checks(reference_in_contexts="S N")
    facts = ("right a", "", "right a", "right b", " ")
    score = await made.score(get("context_recall"), reference_claims=facts, response=None)
    assert score.value == 0.5
    asked = VerifyClaims(query="q", claims=("right a", "right b"), contexts=("one", "two", "three"))
    assert made.judge.asked == [asked]
    made = checks(in_response="S N N")
    facts = ("right a", "right b", "right c")
    score = await made.score(get("claim_recall"), reference_claims=facts)
    assert (score.value, made.kinds) == (pytest.approx(1 / 3), ["verify_claims"])


async def test_the_worked_example_of_claim_recall(checks: Any) -> None:
    """The reference makes four claims, the response says the first and the last: 2/4."""
    made = checks(in_response="S1 C1 N S")
    score = await made.score(get("claim_recall"))
    assert score.value == 0.5
    claims = ("right 1", "right 2", "right 3", "right 4")
    assert made.judge.asked == [
        ExtractClaims(query="q", response="What is right."),
        VerifyClaims(query="q", claims=claims, contexts=("What it says.",)),
    ]


async def test_a_blank_response_says_nothing_of_it_and_no_verdict_is_asked(checks: Any) -> None:
    made = checks(in_response="S S")
    score = await made.score(get("claim_recall"), response=" \n")
    assert (score.value, made.kinds) == (0.0, ["extract_claims"])


async def test_the_worked_example_of_claim_precision(checks: Any) -> None:
    """The response makes five claims, the reference has three of them: 3/5."""
    made = checks(in_reference="S S1 N C1 S")
    score = await made.score(get("claim_precision"))
    assert score.value == 0.6
    assert isinstance(asked := made.judge.asked[1], VerifyClaims)
    assert asked.contexts == ("What is right.",)


async def test_the_facts_of_the_row_are_part_of_the_reference_or_all_of_it(checks: Any) -> None:
    made = checks(in_reference="S")
    await made.score(get("claim_precision"), reference_claims=("A fact.", "Another."))
    assert made.judge.asked[1].contexts == ("What is right.", "A fact.\nAnother.")
    made = checks(in_reference="S")
    score = await made.score(get("claim_precision"), reference=None, reference_claims=("A fact.",))
    assert (score.value, made.judge.asked[1].contexts) == (1.0, ("A fact.",))


async def test_the_worked_example_of_hallucinated_claims(checks: Any) -> None:
    """Of four claims the third stands nowhere and the last is contradicted by both: 2/4."""
    made = checks(in_contexts="S N N C1", in_reference="S S P C1")
    score = await made.score(get("hallucinated_claims"))
    assert (score.value, score.detail) == (0.5, {"claims": 4, "hallucinated": 2})
    assert [claim.label[0] for claim in score.claims] == list("SNNCSSPC")
    assert made.kinds == ["extract_claims", "verify_claims", "verify_claims"]


async def test_what_was_retrieved_and_is_wrong_is_no_hallucination(checks: Any) -> None:
    score = await checks(in_contexts="S S", in_reference="C N").score(get("hallucinated_claims"))
    assert score.value == 0.0


async def test_a_check_that_fails_fails_all_and_the_others_are_asked(checks: Any) -> None:
    def verdicts(question: VerifyClaims) -> object:
        refused = Failure(Cause.REFUSAL, "I cannot")
        return refused if len(question.contexts) == 3 else [{"label": "SUPPORTED"}]

    made = checks(in_contexts="S", others={"verify_claims": verdicts})
    with pytest.raises(JudgeError) as raised:
        await made.score(get("hallucinated_claims"))
    assert raised.value.cause is Cause.REFUSAL
    assert made.kinds == ["extract_claims", "verify_claims", "verify_claims"]


async def test_a_quote_stands_in_every_copy_of_a_context_and_a_made_up_one_in_none(
    checks: Any,
) -> None:
    made = checks(in_contexts="S1 S0 S02", in_reference="S S S")
    sample = made.sample(contexts=[{"text": text} for text in ("one", "two", "one")])
    claims = (await made.score(get("hallucinated_claims"))).claims[:3]
    assert [sorted(quoted(claim, sample)) for claim in claims] == [[0, 2], [], [1]]


async def test_without_contexts_only_the_reference_can_know(checks: Any) -> None:
    made = checks(in_contexts="S S", in_reference="S N")
    score = await made.score(get("hallucinated_claims"), contexts=())
    assert (score.value, len(made.judge.asked)) == (0.5, 2)


async def test_the_worked_example_of_hallucination(checks: Any) -> None:
    """Three of four claims are not supported, contradicted or not: 3/4."""
    made = checks(in_contexts="C1 S2 C13 N")
    score = await made.score(get("hallucination"))
    assert score.value == pytest.approx(3 / 4)
    assert score.detail == {"claims": 4, "unsupported": 3}
    assert made.kinds == ["extract_claims", "verify_claims"]


def test_lower_is_better_of_hallucination() -> None:
    for name in ("hallucination", "hallucinated_claims", "noise_sensitivity"):
        assert not get(name).described.higher_is_better


# The reference stands in context 1 alone, so 2 and 3 are noise.
ROWS = {
    "in_contexts": "S1 S1 S23 S N",
    "in_reference": "S  N  C   N N",
    "reference_in_contexts": "S1 N2 S0",
}


@each_case(
    ("contexts", "noise", "calls"), [("any", 3, 3), ("relevant", 1, 5), ("irrelevant", 1, 5)]
)
async def test_the_worked_example_of_noise_sensitivity(
    checks: Any, contexts: str, noise: int, calls: int
) -> None:
    """Claims 2, 3 and 4 are wrong: from context 1, from 2 and 3, and from nobody knows where."""
    made = checks(**ROWS)
    score = await made.score(get(f"noise_sensitivity,contexts={contexts}"))
    assert score.value == noise / 5
    assert score.detail == {"claims": 5, "noise": noise, "unplaced": 1}
    assert len(made.judge.asked) == calls


async def test_a_claim_from_both_kinds_is_of_the_relevant_one(checks: Any) -> None:
    made = checks(in_contexts="S12", in_reference="N", reference_in_contexts="S1")
    for contexts, value in (("any", 1), ("relevant", 1), ("irrelevant", 0)):
        score = await made.score(get(f"noise_sensitivity,contexts={contexts}"))
        assert score.value == value


async def test_only_noise_of_relevant_contexts_needs_claims_of_the_reference(checks: Any) -> None:
    bare = {"reference": "Well.", "reference_claims": ()}
    rows = checks(in_contexts="S1", in_reference="N")
    assert (await rows.score(get("noise_sensitivity"), **bare)).value == 1
    score = await rows.score(get("noise_sensitivity,contexts=relevant"), **bare)
    assert (score.state, score.reason) == ("undefined", NO_REFERENCE_CLAIMS)


CHECKED = {
    "in_contexts": "S1 C2 N",
    "in_reference": "S N S",
    "in_response": "S S",
    "reference_in_contexts": "S1 N",
}
OTHERS = {
    "grade_sentences": lambda question: [{"relevant": True} for _ in question.sentences],
    "detect_abstention": False,
}
OF_CLAIMS = (
    *("faithfulness", "claim_precision", "claim_recall", "context_recall", "answer_correctness"),
    *("hallucination", "hallucinated_claims", "citation_recall", "citation_precision"),
)
NOISE = ("noise_sensitivity,contexts=relevant", "noise_sensitivity,contexts=irrelevant")
CITING = "said 1 [1], said 2, said 3."


async def run(made: Any, *names: str) -> Row:
    rows = [Row(0, made.sample(response=CITING))]
    metrics = [get(name) for name in names]
    async with score_rows(rows, metrics, made.judge, concurrency=1) as scored:
        return await anext(scored)


@each_case("name", [*OF_CLAIMS, "context_relevance", "abstention"])
async def test_a_metric_says_how_many_calls_a_sample_takes(checks: Any, name: str) -> None:
    made = checks(**CHECKED, others=OTHERS)
    row = await run(made, name)
    assert row.scores[name].state is State.SCORED
    assert len(made.judge.asked) == get(name).described.calls
    assert set(made.kinds) <= set(get(name).question_kinds)


async def test_all_metrics_of_claims_share_the_questions_of_four_checks(checks: Any) -> None:
    made = checks(**CHECKED)
    row = await run(made, *OF_CLAIMS, *NOISE)
    assert {score.state for score in row.scores.values()} == {State.SCORED}
    said, right = ("said 1", "said 2", "said 3"), ("right 1", "right 2")
    texts, reference = ("one", "two", "three"), "What is right."
    expected = [
        ExtractClaims(query="q", response=CITING),
        ExtractClaims(query="q", response=reference),
        VerifyClaims(query="q", claims=said, contexts=texts),
        VerifyClaims(query="q", claims=said, contexts=(reference,)),
        VerifyClaims(query="q", claims=right, contexts=(CITING,)),
        VerifyClaims(query="q", claims=right, contexts=texts),
    ]
    assert sorted(made.judge.asked, key=str) == sorted(expected, key=str)
