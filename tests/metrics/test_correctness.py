from typing import Any

import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause, UsageError
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics import get
from ragstone.metrics.claim_checks import NO_REFERENCE_CLAIMS
from ragstone.metrics.responses import AnswerCorrectness, AnswerSimilarity
from ragstone.types.questions import TextSimilarity
from ragstone.types.reply import Failure
from ragstone.types.score import Score

# Five claims of the response, three of them right: TP 3, FP 2. Four of the reference, two of them
# said: FN 2. F1 = 3 / (3 + (2 + 2) / 2) = 3/5.
ROWS = {"in_reference": "S S S C N", "in_response": "S S N C"}


async def test_the_worked_example(checks: Any) -> None:
    made = checks(**ROWS)
    score = await made.score(AnswerCorrectness())
    assert score.value == 0.6
    assert score.detail == {"precision": 0.6, "recall": 0.5, "tp": 3, "fp": 2, "fn": 2}
    assert [claim.against for claim in score.claims] == ["reference"] * 5 + ["response"] * 4
    assert sorted(made.kinds) == ["extract_claims"] * 2 + ["verify_claims"] * 2


@each_case(
    ("in_reference", "in_response", "value"),
    [("S S", "S", 1.0), ("N C", "N", 0.0), ("S", "S N N", 0.5), ("S N N", "S", 0.5)],
)
async def test_both_ways_count(
    checks: Any, in_reference: str, in_response: str, value: float
) -> None:
    made = checks(in_reference=in_reference, in_response=in_response)
    assert (await made.score(AnswerCorrectness())).value == value


async def test_the_cosine_may_have_its_share(checks: Any) -> None:
    """0.75 * 0.6 + 0.25 * 0.8 = 0.65."""
    made = checks(**ROWS, others={"text_similarity": (0.8,)})
    score = await made.score(AnswerCorrectness(semantic=0.25))
    assert score.value == pytest.approx(0.65)
    assert (score.detail["claims_f1"], score.detail["cosine"], score.detail["tp"]) == (0.6, 0.8, 3)
    assert made.judge.asked[-1] == TextSimilarity(text="What it says.", others=("What is right.",))
    below = checks(**ROWS, others={"text_similarity": (-0.5,)})
    assert (await below.score(AnswerCorrectness(semantic=0.5))).value == pytest.approx(0.3)
    late = checks(**ROWS, others={"text_similarity": Failure(Cause.TIMEOUT, "late")})
    with pytest.raises(Exception, match="late"):
        await late.score(AnswerCorrectness(semantic=0.25))


async def test_the_judge_is_asked_for_cosines_only_where_they_count(checks: Any) -> None:
    assert "text_similarity" not in AnswerCorrectness().question_kinds
    assert "text_similarity" in AnswerCorrectness(semantic=0.25).question_kinds
    assert get("answer_correctness,semantic=0.25") == AnswerCorrectness(semantic=0.25)
    assert str(AnswerCorrectness(semantic=0.25)) == "answer_correctness,semantic=0.25"
    for share in ("1", "-0.1", "nan"):
        with pytest.raises(UsageError):
            get(f"answer_correctness,semantic={share}")


async def test_a_response_without_claims_is_0_where_there_are_some_to_make(checks: Any) -> None:
    for metric in (AnswerCorrectness(), AnswerCorrectness(semantic=0.25)):
        made = checks(in_response="S S")
        assert (await made.score(metric, response=" ")).value == 0.0
        assert made.kinds == ["extract_claims"]


ROW = {"query": "How long?", "response": "20 hours.", "reference": "Twenty hours."}


def scored(cosine: object, **changed: str) -> tuple[Score, ScriptedJudge]:
    judge = ScriptedJudge({"text_similarity": cosine})
    run = ragstone.evaluate([ROW | changed], metrics=AnswerSimilarity(), judge=judge)
    return run.rows[0].scores["answer_similarity"], judge


@each_case(("cosine", "value"), [(1.0, 1.0), (0.83, 0.83), (0.0, 0.0), (-0.2, 0.0), (-1.0, 0.0)])
def test_it_is_the_cosine_not_less_than_0(cosine: float, value: float) -> None:
    judged, judge = scored((cosine,))
    assert judged.value == value
    assert judge.asked == [TextSimilarity(text="20 hours.", others=("Twenty hours.",))]


def test_a_blank_text_is_undefined_and_nobody_is_asked() -> None:
    for field in ("response", "reference"):
        judged, judge = scored((1.0,), **{field: " \n"})
        assert (judged.state, judged.reason) == ("undefined", f"the {field} is empty")
        assert judge.asked == []


@each_case(
    ("response", "reference", "value"),
    [
        ("The capital of France is Paris.", {"reference_claims": ["Paris"]}, 1.0),
        ("The capital of France is Lyon.", {"reference_claims": ["Paris"]}, 0.0),
        ("The warranty is 24 months. Ask the shop.", {"reference": "24 months"}, 2 / 3),
        ("The warranty is 12 months.", {"reference": "24 months"}, 0.0),
        ("The warranty is 24 months.", {"reference": "The warranty of phones is long."}, 0.0),
    ],
)
def test_a_correct_response_to_a_short_reference_is_not_0(
    response: str, reference: dict[str, Any], value: float
) -> None:
    row = {"query": "What?", "response": response, **reference}
    (made,) = ragstone.evaluate([row], metrics=["answer_correctness"], store=None).rows
    assert made.scores["answer_correctness"].value == pytest.approx(value)


@each_case(
    ("reference", "reason"),
    [
        ({}, "the row has no reference (or reference_claims)"),
        ({"reference": ""}, "the reference is empty"),
        ({"reference": "Paris"}, f"{NO_REFERENCE_CLAIMS}"),
    ],
)
def test_what_is_undefined_names_the_column_to_fill(reference: dict[str, Any], reason: str) -> None:
    row = {"query": "What?", "response": "The capital is Paris."}
    rows = [row | reference, row | {"reference": "It is Paris."}]
    first, _ = ragstone.evaluate(rows, metrics=["answer_correctness"], store=None).rows
    assert first.scores["answer_correctness"].reason == reason
