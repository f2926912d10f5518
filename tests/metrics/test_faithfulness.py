from typing import Any

import pytest

from ragstone.errors import Cause, UnknownNameError
from ragstone.evaluation.transcript import Transcript
from ragstone.judges.scripted import ScriptedJudge
from ragstone.metrics import Faithfulness
from ragstone.types.claim import Claim, Label
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure
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
    return await Faithfulness().score(sample, Transcript(judge).ask)


async def test_the_worked_example() -> None:
    judged = await score(judge_of(LABELS))
    assert judged.value == 0.5
    assert judged.detail == {
        "claims": 4,
        "supported": 2,
        "contradicted": 1,
        "not_enough_info": 1,
    }
    assert [(claim.text, claim.label) for claim in judged.claims] == list(
        zip(TEXTS, LABELS, strict=True)
    )


@pytest.mark.parametrize(
    ("labels", "value"),
    [
        (("SUPPORTED",) * 3, 1.0),
        (("NOT_ENOUGH_INFO",) * 3, 0.0),
        (("SUPPORTED", "PARTIALLY_SUPPORTED", "SUPPORTED"), 2 / 3),
    ],
)
async def test_under_strict_only_what_is_supported_counts(
    labels: tuple[str, ...], value: float
) -> None:
    assert (await score(judge_of(labels, TEXTS[:3]))).value == value


async def test_two_questions_a_sample() -> None:
    judge = judge_of(LABELS)
    await score(judge)
    assert judge.asked == [
        ExtractClaims(query=SAMPLE.query, response=SAMPLE.response or ""),
        VerifyClaims(claims=TEXTS, contexts=("20 hours. 9 EUR.", "60 minutes.")),
    ]


async def test_an_empty_response_is_undefined_and_nobody_is_asked() -> None:
    judge = judge_of(LABELS)
    judged = await score(judge, response="")
    assert (judged.state, judged.reason) == ("undefined", "the response is empty")
    assert judge.asked == []


async def test_a_response_without_claims_is_undefined() -> None:
    judge = judge_of((), ())
    judged = await score(judge, response="Sure!")
    assert (judged.state, judged.reason) == ("undefined", "the response makes no claims")
    assert len(judge.asked) == 1


async def test_against_no_contexts_nothing_is_supported_and_nothing_is_verified() -> None:
    judge = judge_of(LABELS)
    judged = await score(judge, contexts=())
    assert judged.value == 0
    assert {claim.label for claim in judged.claims} == {Label.NOT_ENOUGH_INFO}
    assert {claim.reason for claim in judged.claims} == {"there are no contexts"}
    assert len(judge.asked) == 1


async def test_claims_are_held_against_the_contexts_not_the_ranking() -> None:
    judge = judge_of(LABELS)
    await score(judge, ranking=(Context(id="9", text="Something else."),))
    assert isinstance(asked := judge.asked[1], VerifyClaims)
    assert asked.contexts == ("20 hours. 9 EUR.", "60 minutes.")


@pytest.mark.parametrize("kind", ["extract_claims", "verify_claims"])
async def test_a_judge_that_does_not_answer_is_no_number(kind: str) -> None:
    judge = judge_of(LABELS)
    answers = {**judge.answers, kind: Failure(Cause.REFUSAL, "no")}
    said = await score(ScriptedJudge(answers))
    assert (said.state, said.value, said.cause) == (State.FAILED, None, Cause.REFUSAL)
    assert said.reason == "no"


async def test_spans_and_reasons_are_kept() -> None:
    judge = ScriptedJudge(
        {
            "extract_claims": [Claim(text="20 hours", span=(9, 17))],
            "verify_claims": [{"label": "SUPPORTED", "reason": "said so", "confidence": 0.9}],
        }
    )
    (claim,) = (await score(judge)).claims
    assert (claim.span, claim.reason, claim.confidence) == ((9, 17), "said so", 0.9)


def test_a_policy_that_does_not_exist_is_refused_before_anybody_is_asked() -> None:
    with pytest.raises(UnknownNameError, match="no policy named 'strickt'"):
        Faithfulness(policy="strickt")


async def test_it_has_no_figures_of_its_own() -> None:
    assert Faithfulness().summarise([await score(judge_of(LABELS))]) == {}
