from typing import Any

import pytest
from tests.asking import asker
from tests.cases import each_case

from ragstone.errors import Cause, UnknownNameError
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.metrics.claim_checks import NO_REFERENCE_CLAIMS
from ragstone.metrics.claims import (
    ClaimPrecision,
    ClaimRecall,
    ContextRecall,
    Faithfulness,
    HallucinatedClaims,
    Hallucination,
    NoiseSensitivity,
)
from ragstone.metrics.registry import registered
from ragstone.types.claim import Claim, Label
from ragstone.types.policy import POLICIES
from ragstone.types.questions import ExtractClaims, VerifyClaims
from ragstone.types.reply import Failure, PartialVerdict
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
    return await Faithfulness().score(sample, asker(judge))


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
        VerifyClaims(
            query="Tell me about it.", claims=TEXTS, contexts=("20 hours. 9 EUR.", "60 minutes.")
        ),
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
    assert Faithfulness().summarize([await score(judge_of(LABELS))]) == {}


SHORT = Failure(Cause.COUNT_MISMATCH, "not one a claim", (PartialVerdict(1, "S", None),))


SITUATIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "mixed": ({"in_contexts": "S P C N"}, {}),
    "all supported": ({"in_contexts": "S S"}, {}),
    "empty response": ({}, {"response": ""}),
    "no claims": ({}, {"response": "Sure!"}),
    "no contexts": ({"in_contexts": "S S"}, {"contexts": ()}),
    **{
        str(cause): ({"in_contexts": "S", "others": {"verify_claims": Failure(cause, "no")}}, {})
        for cause in Cause
    },
    "one verdict short": ({"in_contexts": "S S", "others": {"verify_claims": SHORT}}, {}),
}


@each_case("policy", POLICIES)
@each_case("situation", SITUATIONS)
async def test_a_value_is_in_the_range_of_its_policy(
    checks: Any, situation: str, policy: str
) -> None:
    rows, changed = SITUATIONS[situation]
    metric = Faithfulness(policy=policy)
    value = (await checks(**rows).score(metric, **changed)).value
    assert value is None or metric.range[0] <= value <= metric.range[1]


async def test_the_worked_example_of_context_recall(checks: Any) -> None:
    """Two of the reference's five claims stand in the contexts: 2/5."""
    made = checks(reference_in_contexts="S1 N C2 S3 P1")
    score = await made.score(ContextRecall())
    assert score.value == 0.4
    assert made.kinds == ["extract_claims", "verify_claims"]
    assert made.judge.asked[0].response == "What is right."
    assert made.judge.asked[1].contexts == ("one", "two", "three")


async def test_facts_that_the_row_lists_are_the_claims(checks: Any) -> None:
    made = checks(reference_in_contexts="S N")
    facts = ("right a", "right b")
    score = await made.score(ContextRecall(), reference_claims=facts, response=None)
    assert score.value == 0.5
    assert made.judge.asked == [
        VerifyClaims(query="q", claims=facts, contexts=("one", "two", "three"))
    ]


async def test_nothing_retrieved_recalls_nothing(checks: Any) -> None:
    made = checks(reference_in_contexts="S S")
    assert (await made.score(ContextRecall(), contexts=())).value == 0.0


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"reference": ""}, "the reference is empty"),
        ({"reference": "Well."}, NO_REFERENCE_CLAIMS),
        ({"reference_claims": ()}, NO_REFERENCE_CLAIMS),
        ({"contexts": ({"id": "1"},)}, "the contexts have no text"),
    ],
)
async def test_where_the_question_does_not_arise_it_is_undefined(
    checks: Any, changed: dict[str, Any], reason: str
) -> None:
    score = await checks().score(ContextRecall(), **changed)
    assert (score.state, score.reason) == ("undefined", reason)


async def test_equal_facts_are_one_and_blank_ones_none(checks: Any) -> None:
    made = checks(reference_in_contexts="S N")
    facts = ("right 1", "", "right 1", "right 2", " ")
    score = await made.score(ContextRecall(), reference_claims=facts)
    assert (score.value, made.judge.asked[0].claims) == (0.5, ("right 1", "right 2"))


@each_case("policy", POLICIES)
async def test_no_policy_makes_a_number_of_an_empty_reference(checks: Any, policy: str) -> None:
    for nothing in ({"reference": ""}, {"reference_claims": ()}):
        score = await checks().score(ContextRecall(policy=policy), **nothing)
        assert score.state == "undefined"


async def test_the_worked_example_of_claim_recall(checks: Any) -> None:
    """The reference makes four claims, the response says the first and the last: 2/4."""
    made = checks(in_response="S1 C1 N S")
    score = await made.score(ClaimRecall())
    assert score.value == 0.5
    assert made.judge.asked == [
        ExtractClaims(query="q", response="What is right."),
        VerifyClaims(
            query="q",
            claims=("right 1", "right 2", "right 3", "right 4"),
            contexts=("What it says.",),
        ),
    ]


async def test_facts_that_the_row_lists_are_not_extracted(checks: Any) -> None:
    made = checks(in_response="S N N")
    score = await made.score(ClaimRecall(), reference_claims=("right a", "right b", "right c"))
    assert score.value == pytest.approx(1 / 3)
    assert made.kinds == ["verify_claims"]
    assert made.judge.asked[0].claims == ("right a", "right b", "right c")


@pytest.mark.parametrize("response", ["", " \n"])
async def test_a_blank_response_says_nothing_of_it_and_no_verdict_is_asked(
    checks: Any, response: str
) -> None:
    made = checks(in_response="S S")
    score = await made.score(ClaimRecall(), response=response)
    assert (score.value, made.kinds) == (0.0, ["extract_claims"])


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"reference": ""}, "the reference is empty"),
        ({"reference": "Well."}, NO_REFERENCE_CLAIMS),
        ({"reference_claims": ()}, NO_REFERENCE_CLAIMS),
    ],
)
async def test_without_claims_to_say_it_is_undefined(
    checks: Any, changed: dict[str, Any], reason: str
) -> None:
    score = await checks().score(ClaimRecall(), **changed)
    assert (score.state, score.reason) == ("undefined", reason)


async def test_the_worked_example_of_claim_precision(checks: Any) -> None:
    """The response makes five claims, the reference has three of them: 3/5."""
    made = checks(in_reference="S S1 N C1 S")
    score = await made.score(ClaimPrecision())
    assert score.value == 0.6
    assert isinstance(asked := made.judge.asked[1], VerifyClaims)
    assert asked.contexts == ("What is right.",)


async def test_the_facts_of_the_row_are_part_of_the_reference(checks: Any) -> None:
    made = checks(in_reference="S")
    await made.score(ClaimPrecision(), reference_claims=("A fact.", "Another."))
    assert made.judge.asked[1].contexts == ("What is right.", "A fact.\nAnother.")


async def test_facts_may_be_all_there_is_of_a_reference(checks: Any) -> None:
    made = checks(in_reference="S")
    score = await made.score(ClaimPrecision(), reference=None, reference_claims=("A fact.",))
    assert (score.value, made.judge.asked[1].contexts) == (1.0, ("A fact.",))


@pytest.mark.parametrize("changed", [{"reference": " "}, {"reference_claims": (), "reference": ""}])
async def test_a_blank_reference_says_nothing_of_a_response(
    checks: Any, changed: dict[str, Any]
) -> None:
    made = checks(in_reference="S S")
    score = await made.score(ClaimPrecision(), **changed)
    assert (score.state, score.reason) == ("undefined", "the reference is empty")
    assert made.kinds == []


@pytest.mark.parametrize(
    ("response", "reason"),
    [("", "the response is empty"), ("Sure!", "the response makes no claims")],
)
async def test_without_claims_it_is_undefined(checks: Any, response: str, reason: str) -> None:
    score = await checks().score(ClaimPrecision(), response=response)
    assert (score.state, score.reason) == ("undefined", reason)


async def test_the_worked_example_of_hallucinated_claims(checks: Any) -> None:
    """Of four claims the third stands nowhere and the last is contradicted by both: 2/4."""
    made = checks(in_contexts="S N N C1", in_reference="S S P C1")
    score = await made.score(HallucinatedClaims())
    assert (score.value, score.detail) == (0.5, {"claims": 4, "hallucinated": 2})
    assert [claim.label[0] for claim in score.claims] == list("SNNCSSPC")
    assert made.kinds == ["extract_claims", "verify_claims", "verify_claims"]


async def test_what_was_retrieved_and_is_wrong_is_no_hallucination(checks: Any) -> None:
    score = await checks(in_contexts="S S", in_reference="C N").score(HallucinatedClaims())
    assert score.value == 0.0


async def test_without_contexts_only_the_reference_can_know(checks: Any) -> None:
    made = checks(in_contexts="S S", in_reference="S N")
    score = await made.score(HallucinatedClaims(), contexts=())
    assert (score.value, len(made.judge.asked)) == (0.5, 2)


async def test_no_claims_are_undefined(checks: Any) -> None:
    score = await checks().score(HallucinatedClaims(), response="Sure!")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")


async def test_contexts_without_texts_are_undefined(checks: Any) -> None:
    made = checks(in_contexts="S", in_reference="S")
    score = await made.score(HallucinatedClaims(), contexts=({"id": "1"}, {"id": "2"}))
    assert (score.state, made.kinds) == ("undefined", [])


def test_lower_is_better() -> None:
    assert not HallucinatedClaims.info().higher_is_better


async def test_the_worked_example_of_hallucination(checks: Any) -> None:
    """Three of four claims are not supported, contradicted or not: 3/4."""
    made = checks(in_contexts="C1 S2 C13 N")
    score = await made.score(Hallucination())
    assert score.value == pytest.approx(3 / 4)
    assert score.detail == {"claims": 4, "unsupported": 3}
    assert made.kinds == ["extract_claims", "verify_claims"]


async def test_a_response_without_claims_hallucinates_nothing(checks: Any) -> None:
    score = await checks(in_contexts="").score(Hallucination(), response="Sure!")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")


def test_lower_is_better_of_hallucination() -> None:
    assert not Hallucination.info().higher_is_better


# claim          1   2   3   4   5    The reference stands in context 1 alone, so 2 and 3 are noise.
IN_CONTEXTS = "S1  S1  S23 S   N"
IN_REFERENCE = "S   N   C   N   N"
ROWS = {
    "in_contexts": IN_CONTEXTS,
    "in_reference": IN_REFERENCE,
    "reference_in_contexts": "S1 N2 S0",
}


@pytest.mark.parametrize(
    ("contexts", "value", "noise", "calls"),
    [("any", 3 / 5, 3, 3), ("relevant", 1 / 5, 1, 5), ("irrelevant", 1 / 5, 1, 5)],
)
async def test_the_worked_example_of_noise_sensitivity(
    checks: Any, contexts: str, value: float, noise: int, calls: int
) -> None:
    """Claims 2, 3 and 4 are wrong: from context 1, from 2 and 3, and from nobody knows where."""
    made = checks(**ROWS)
    score = await made.score(get(f"noise_sensitivity,contexts={contexts}"))
    assert score.value == value
    assert score.detail == {"claims": 5, "noise": noise, "unplaced": 1}
    assert len(made.judge.asked) == calls


async def test_a_claim_from_both_kinds_is_of_the_relevant_one(checks: Any) -> None:
    rows = {"in_contexts": "S12", "in_reference": "N", "reference_in_contexts": "S1"}
    for contexts, value in (("any", 1), ("relevant", 1), ("irrelevant", 0)):
        assert (
            await checks(**rows).score(get(f"noise_sensitivity,contexts={contexts}"))
        ).value == value


async def test_without_claims_it_is_undefined_of_noise_sensitivity(checks: Any) -> None:
    score = await checks().score(NoiseSensitivity(), response="Sure!")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")
    bare = {"reference": "Well.", "reference_claims": ()}
    rows = checks(in_contexts="S1", in_reference="N")
    assert (await rows.score(NoiseSensitivity(), **bare)).value == 1
    score = await rows.score(NoiseSensitivity(contexts="relevant"), **bare)
    assert (score.state, score.reason) == ("undefined", NO_REFERENCE_CLAIMS)


def test_a_name_with_its_parameter_reads_back() -> None:
    metric = NoiseSensitivity(contexts="irrelevant")
    assert str(metric) == "noise_sensitivity,contexts=irrelevant"
    assert get(str(metric)) == metric
    assert not registered()["noise_sensitivity"].higher_is_better
