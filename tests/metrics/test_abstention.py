from typing import Any

import pytest

from ragstone.metrics import Faithfulness
from ragstone.metrics.responses import Abstention
from ragstone.types.questions import DetectAbstention

UNSURE = "I don't know."
KNOWN, NOT_KNOWN = {"relevance": {"1": 1}}, {"relevance": {"1": 0}}


@pytest.fixture
def made(checks: Any) -> Any:
    return checks(others={"detect_abstention": lambda q: "know" in q.response})


@pytest.mark.parametrize(
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
    made: Any, response: str, known: dict[str, Any], value: float
) -> None:
    score = await made.score(Abstention(), response=response, **known)
    assert score.value == value
    assert score.detail == {
        "abstained": response != "It is blue.",
        "answerable": known == KNOWN,
    }
    asked = [DetectAbstention(query="q", response=response)] if response.strip() else []
    assert made.judge.asked == asked


@pytest.mark.parametrize(
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
    made: Any, changed: dict[str, Any], answerable: bool | None, calls: int
) -> None:
    score = await made.score(Abstention(), **changed)
    assert (score.detail["answerable"], len(made.judge.asked)) == (answerable, calls)
    assert score.value == answerable


async def test_where_nothing_tells_it_is_undefined_but_seen(made: Any) -> None:
    score = await made.score(Abstention(), response=UNSURE, reference=None)
    assert (score.state, score.value) == ("undefined", None)
    assert score.reason == (
        "it is not known whether the query can be answered: no relevance, no reference"
    )
    assert score.detail == {"abstained": True, "answerable": None}


async def test_the_summary_counts_who_abstained_and_who_should_have(made: Any) -> None:
    rows = [
        (UNSURE, NOT_KNOWN),
        (UNSURE, KNOWN),
        ("", KNOWN),
        ("It is blue.", NOT_KNOWN),
        ("It is blue.", KNOWN),
        (UNSURE, {"reference": None}),
    ]
    scores = [
        await made.score(Abstention(), response=response, **known) for response, known in rows
    ]
    assert Abstention().summarise(scores) == {
        "Abstained": 4,
        "Abstained Share": pytest.approx(4 / 6),
        "Rightly Abstained": 1,
        "Wrongly Abstained": 2,
        "Wrongly Answered": 1,
    }
    assert Abstention().summarise([])["Abstained Share"] is None


@pytest.mark.parametrize(
    ("response", "known", "value"),
    [(UNSURE, NOT_KNOWN, 1.0), (UNSURE, KNOWN, 0.0), ("Sure!", NOT_KNOWN, 0.0)],
)
async def test_neither_an_honest_word_nor_a_hollow_one_is_faithful_or_unfaithful(
    made: Any, response: str, known: dict[str, Any], value: float
) -> None:
    assert (await made.score(Faithfulness(), response=response, **known)).state == "undefined"
    assert (await made.score(Abstention(), response=response, **known)).value == value
