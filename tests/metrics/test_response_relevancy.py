from typing import Any

import pytest

import ragstone
from ragstone.errors import Cause
from ragstone.judges.scripted import ScriptedJudge
from ragstone.metrics.responses import ResponseRelevancy
from ragstone.types.claim import GeneratedQueries
from ragstone.types.questions import GenerateQueries, TextSimilarity
from ragstone.types.reply import Failure
from ragstone.types.score import Score

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


@pytest.mark.parametrize(
    ("cosines", "value"),
    [((1.0, 1.0, 1.0), 1.0), ((0.5, -0.2, 0.3), 0.2), ((-0.9, 0.3, 0.3), 0.0)],
)
def test_the_mean_is_not_less_than_0(cosines: tuple[float, ...], value: float) -> None:
    assert scored(GENERATED, cosines)[0].value == pytest.approx(value)


@pytest.mark.parametrize("queries", [(), QUERIES])
def test_who_evades_scores_0_and_nothing_is_compared(queries: tuple[str, ...]) -> None:
    score, judge = scored(GeneratedQueries(queries=queries, noncommittal=True))
    assert (score.value, score.detail) == (0.0, {"noncommittal": True})
    assert [question.kind for question in judge.asked] == ["generate_queries"]


@pytest.mark.parametrize("response", ["", " \n"])
def test_a_blank_response_is_undefined_and_nobody_is_asked(response: str) -> None:
    score, judge = scored(GENERATED, response=response)
    assert (score.state, score.reason) == ("undefined", "the response is empty")
    assert judge.asked == []


@pytest.mark.parametrize("count", [0, 2, 4])
def test_another_number_of_guesses_is_a_failure(count: int) -> None:
    score, judge = scored(GeneratedQueries(queries=("a",) * count, noncommittal=False))
    assert (score.state, score.cause) == ("failed", Cause.COUNT_MISMATCH)
    assert score.reason == f"{count} queries came back for the 3 asked for"
    assert len(judge.asked) == 1


def test_cosines_that_do_not_come_are_a_failure() -> None:
    assert scored(GENERATED, (0.9, 0.6))[0].cause == Cause.COUNT_MISMATCH
    assert scored(GENERATED, (0.9, 0.6, 2))[0].cause == Cause.MALFORMED
    assert scored(GENERATED, Failure(Cause.TIMEOUT, "late"))[0].reason == "late"


def test_as_many_queries_are_guessed_as_are_said() -> None:
    judge = ScriptedJudge(
        {
            "generate_queries": GeneratedQueries(queries=("a",), noncommittal=False),
            "text_similarity": (0.5,),
        }
    )
    run = ragstone.evaluate([ROW], metrics=ResponseRelevancy(count=1), judge=judge)
    assert run.rows[0].scores["response_relevancy,count=1"].value == 0.5
