import pytest

from ragstone.metrics import Hit
from ragstone.types.rankings import Rankings
from ragstone.types.score import Score

# Five queries, best first; relevant are a and b wherever they are known.
#   q1  x a y   a at rank 2
#   q2  a b x   a at rank 1
#   q3  x y z   none
#   q4  (none)  nothing came back
#   q5  a b     nothing is relevant
# hit@1 = 0 1 0 0 0, hit@2 = 1 1 0 0 0, hit@5 = 1 1 0 0 0
RANKINGS = Rankings.of(
    ["x a y".split(), "a b x".split(), "x y z".split(), [], "a b".split()],
    [{"a": 1, "b": 1}] * 4 + [{"a": 0.0, "b": -1}],
)


@pytest.mark.parametrize(
    ("k", "values"), [(1, [0, 1, 0, 0, 0]), (2, [1, 1, 0, 0, 0]), (5, [1, 1, 0, 0, 0])]
)
def test_the_worked_example(k: int, values: list[float]) -> None:
    assert Hit(k=k).values(RANKINGS).tolist() == values


def test_a_grade_counts_whatever_its_size() -> None:
    assert Hit(k=1).values(Rankings.of([["a"]] * 2, [{"a": 0.01}, {"a": 3}])).tolist() == [1, 1]


def test_details_say_where_the_first_hit_was() -> None:
    scores = Hit(k=2).scores(RANKINGS)
    kept = ("first_hit_rank", "hits", "retrieved", "relevant")
    assert [{name: score.detail[name] for name in kept} for score in scores] == [
        {"first_hit_rank": 2, "hits": 1, "retrieved": 2, "relevant": 2},
        {"first_hit_rank": 1, "hits": 2, "retrieved": 2, "relevant": 2},
        {"first_hit_rank": None, "hits": 0, "retrieved": 2, "relevant": 2},
        {"first_hit_rank": None, "hits": 0, "retrieved": 0, "relevant": 2},
        {"first_hit_rank": None, "hits": 0, "retrieved": 2, "relevant": 0},
    ]


def test_the_summary_counts_hits_and_misses() -> None:
    scores = [*Hit(k=5).scores(RANKINGS), Score.undefined("the row has no relevance")]
    assert Hit(k=5).summarise(scores) == {
        "Hits": 2,
        "Misses": 3,
        "Perfect Queries": 2,
        "Zero Queries": 3,
        "Nothing Relevant": 1,
    }
