from typing import Any

import pytest
from tests.cases import each_case

from ragstone.metrics.contexts import ContextUtilization, precision_by_rank

RANKING = ({"text": "first"}, {"text": "second"})
BARE = ({"id": "1"}, {"id": "2"})


async def graded(checks: Any, **changed: object) -> tuple[Any, Any]:
    made = checks(others={"grade_contexts": lambda q: [{"relevant": True} for _ in q.contexts]})
    score = await made.score(ContextUtilization(), **changed)
    return score, made.judge.asked


@pytest.mark.parametrize(
    ("changed", "texts"),
    [
        ({"ranking": RANKING}, ("first", "second")),
        ({"ranking": BARE}, ("one", "two", "three")),
        ({"ranking": None}, ("one", "two", "three")),
        ({"ranking": RANKING, "contexts": None}, ("first", "second")),
    ],
)
async def test_the_ranking_is_graded_where_it_has_texts(
    checks: Any, changed: dict[str, Any], texts: tuple[str, ...]
) -> None:
    _, (asked,) = await graded(checks, **changed)
    assert asked.contexts == texts


@pytest.mark.parametrize("changed", [{"ranking": ()}, {"ranking": None, "contexts": ()}])
async def test_nothing_retrieved_is_0_and_nobody_is_asked(
    checks: Any, changed: dict[str, Any]
) -> None:
    score, asked = await graded(checks, **changed)
    assert (score.value, score.detail["contexts"], asked) == (0.0, 0, [])


async def test_ids_alone_are_not_nothing(checks: Any) -> None:
    score, asked = await graded(checks, ranking=BARE, contexts=())
    assert (score.state, asked) == ("undefined", [])


async def test_a_place_without_a_text_is_not_relevant_and_not_asked_about(checks: Any) -> None:
    contexts = [{"text": text} for text in ("one", " ", "three")]
    score, (asked,) = await graded(checks, ranking=None, contexts=contexts)
    assert asked.contexts == ("one", "three")
    assert score.detail["relevant_ranks"] in ("1", "1, 3", "3")


async def test_what_has_no_texts_cannot_be_graded(checks: Any) -> None:
    score, asked = await graded(checks, ranking=BARE, contexts=None)
    assert (score.state, score.reason) == ("undefined", "what was retrieved has no texts")
    assert asked == []


@each_case(
    ("relevant", "by_rank", "over_all"),
    [
        ([True], 1, 1),
        ([False], 0, 0),
        ([True, False], 1, (1 + 1 / 2) / 2),
        ([False, True], 1 / 2, (0 + 1 / 2) / 2),
        ([True, False, True], (1 + 2 / 3) / 2, (1 + 1 / 2 + 2 / 3) / 3),
    ],
)
def test_precision_by_rank(relevant: list[bool], by_rank: float, over_all: float) -> None:
    assert precision_by_rank(relevant) == pytest.approx(by_rank)
    assert precision_by_rank(relevant, every_rank=True) == pytest.approx(over_all)
