from typing import Any

import pytest
from tests.cases import each_case

import ragstone
from ragstone.errors import Cause
from ragstone.judges.base import ScriptedJudge
from ragstone.metrics.responses import Abstention, ResponseRelevancy
from ragstone.types.claim import GeneratedQueries
from ragstone.types.questions import DetectAbstention, GenerateQueries, TextSimilarity
from ragstone.types.reply import Failure
from ragstone.types.score import Score

UNSURE = "I don't know."
KNOWN, NOT_KNOWN = {"relevance": {"1": 1}}, {"relevance": {"1": 0}}


def abstaining(checks: Any) -> Any:
    return checks(others={"detect_abstention": lambda q: "know" in q.response})


@each_case(
    ("response", "known", "value"),
    [
        (UNSURE, NOT_KNOWN, 1.0),
        (UNSURE, KNOWN, 0.0),
        ("It is blue.", KNOWN, 1.0),
        ("It is blue.", NOT_KNOWN, 0.0),
        ("It is blue.", {"relevance": {}}, 0.0),
        ("", NOT_KNOWN, 1.0),
        (" \n", KNOWN, 0.0),
    ],
)
async def test_right_is_to_abstain_only_where_there_is_no_answer(
    checks: Any, response: str, known: dict[str, Any], value: float
) -> None:
    made = abstaining(checks)
    score = await made.score(Abstention(), response=response, **known)
    assert score.value == value
    assert score.detail == {"abstained": response != "It is blue.", "answerable": known == KNOWN}
    asked = [DetectAbstention(query="q", response=response)] if response.strip() else []
    assert made.judge.asked == asked


@each_case(
    ("changed", "answerable", "calls"),
    [
        ({}, True, 2),
        ({"reference": UNSURE}, False, 2),
        ({"reference": " "}, None, 1),
        ({"reference": None, "reference_claims": ("It is blue.",)}, True, 1),
        ({"reference": None, "reference_claims": ()}, None, 1),
        ({"reference": "", "reference_claims": ("It is blue.",)}, True, 1),
        ({"reference": UNSURE, "relevance": {"1": 2}}, True, 1),
    ],
)
async def test_where_relevance_does_not_tell_the_reference_does(
    checks: Any, changed: dict[str, Any], answerable: bool | None, calls: int
) -> None:
    made = abstaining(checks)
    score = await made.score(Abstention(), **changed)
    assert (score.detail["answerable"], len(made.judge.asked)) == (answerable, calls)
    assert score.value == answerable


async def test_where_nothing_tells_it_is_undefined_but_seen(checks: Any) -> None:
    score = await abstaining(checks).score(Abstention(), response=UNSURE, reference=None)
    assert "the row has neither relevance nor a reference" in score.reason
    assert score.detail == {"abstained": True, "answerable": None}


async def test_the_summary_counts_who_abstained_and_who_should_have(checks: Any) -> None:
    rows: list[tuple[str, dict[str, Any]]] = [
        *((UNSURE, NOT_KNOWN), (UNSURE, KNOWN), ("", KNOWN), ("It is blue.", NOT_KNOWN)),
        *(("It is blue.", KNOWN), (UNSURE, {"reference": None})),
    ]
    made = abstaining(checks)
    scores = [await made.score(Abstention(), response=text, **known) for text, known in rows]
    assert Abstention().summarize(scores) == {
        "Abstained": 4,
        "Abstained Share": pytest.approx(4 / 6),
        "Rightly Abstained": 1,
        "Wrongly Abstained": 2,
        "Wrongly Answered": 1,
    }
    assert Abstention().summarize([])["Abstained Share"] is None


# The response answers three guessed queries; their cosines with the real one:
#   "How long does it last?"   0.9
#   "What lasts 20 hours?"     0.6
#   "Is it blue?"              0.3       (0.9 + 0.6 + 0.3) / 3 = 0.6
QUERIES = ("How long does it last?", "What lasts 20 hours?", "Is it blue?")
GENERATED = GeneratedQueries(queries=QUERIES, noncommittal=False)
ROW = {"query": "How long is the battery life?", "response": "It is blue and lasts 20 hours."}


def scored(
    guesses: object, cosines: object = (0.9, 0.6, 0.3), **changed: Any
) -> tuple[Score, ScriptedJudge]:
    judge = ScriptedJudge({"generate_queries": guesses, "text_similarity": cosines})
    run = ragstone.evaluate([ROW | changed], metrics=ResponseRelevancy(), judge=judge)
    return run.rows[0].scores["response_relevancy"], judge


def test_the_worked_example() -> None:
    score, judge = scored(GENERATED)
    assert score.value == pytest.approx(0.6)
    assert score.detail == {"noncommittal": False, "queries": 3}
    assert judge.asked == [
        GenerateQueries(response=ROW["response"], count=3),
        TextSimilarity(text=ROW["query"], others=QUERIES),
    ]


@each_case(
    ("cosines", "value"), [((1.0, 1.0, 1.0), 1.0), ((0.5, -0.2, 0.3), 0.2), ((-0.9, 0.3, 0.3), 0)]
)
def test_the_mean_is_not_less_than_0(cosines: tuple[float, ...], value: float) -> None:
    assert scored(GENERATED, cosines)[0].value == pytest.approx(value)


@pytest.mark.parametrize("queries", [(), QUERIES])
def test_who_evades_scores_0_and_nothing_is_compared(queries: tuple[str, ...]) -> None:
    score, judge = scored(GeneratedQueries(queries=queries, noncommittal=True))
    assert (score.value, score.detail) == (0.0, {"noncommittal": True})
    assert [question.kind for question in judge.asked] == ["generate_queries"]


def test_a_blank_response_is_undefined_and_nobody_is_asked() -> None:
    score, judge = scored(GENERATED, response=" \n")
    assert (score.state, score.reason) == ("undefined", "the response is empty")
    assert judge.asked == []


def test_another_number_of_guesses_or_cosines_is_a_failure() -> None:
    for count in (0, 2, 4):
        score, judge = scored(GeneratedQueries(queries=("a",) * count, noncommittal=False))
        assert (score.state, score.cause) == ("failed", Cause.COUNT_MISMATCH)
        assert score.reason == f"got {count} queries instead of 3"
        assert len(judge.asked) == 1
    assert scored(GENERATED, (0.9, 0.6))[0].cause == Cause.COUNT_MISMATCH
    assert scored(GENERATED, (0.9, 0.6, 2))[0].cause == Cause.MALFORMED
    assert scored(GENERATED, Failure(Cause.TIMEOUT, "late"))[0].reason == "late"


def test_as_many_queries_are_guessed_as_are_said() -> None:
    one = GeneratedQueries(queries=("a",), noncommittal=False)
    judge = ScriptedJudge({"generate_queries": one, "text_similarity": (0.5,)})
    run = ragstone.evaluate([ROW], metrics=ResponseRelevancy(count=1), judge=judge)
    assert run.rows[0].scores["response_relevancy,count=1"].value == 0.5
