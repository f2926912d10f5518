from tests.cases import each_case

from ragstone.metrics import Recall
from ragstone.types.rankings import Rankings
from ragstone.types.score import Score

# Relevant are a, b, c and d, unless said otherwise.
#   q1  a x b   k=1: 1/4   k=2: 1/4   k=3: 2/4
#   q2  a b c d k=1: 1/4   k=2: 2/4   k=3: 3/4   k=4: 4/4
#   q3  a       (a is all that is relevant) 1/1 at any k
#   q4  (none)  0
#   q5  a       (nothing is relevant) 0
RANKINGS = Rankings.of(
    ["a x b".split(), "a b c d".split(), ["a"], [], ["a"]],
    [dict.fromkeys("abcd", 1.0)] * 2 + [{"a": 2.0, "x": 0.0}, {"a": 1.0}, {}],
)


@each_case(
    ("k", "values"),
    [
        (1, [1 / 4, 1 / 4, 1, 0, 0]),
        (2, [1 / 4, 2 / 4, 1, 0, 0]),
        (3, [2 / 4, 3 / 4, 1, 0, 0]),
        (4, [2 / 4, 4 / 4, 1, 0, 0]),
        (99, [2 / 4, 4 / 4, 1, 0, 0]),
    ],
)
def test_the_worked_example(k: int, values: list[float]) -> None:
    assert Recall(k=k).values(RANKINGS).tolist() == values


def test_a_document_that_comes_twice_is_found_once() -> None:
    rankings = Rankings.of([["a", "a", "a"]], [{"a": 1, "b": 1}])
    assert Recall(k=3).values(rankings).tolist() == [0.5]


def test_the_summary_counts_both_ends() -> None:
    scores = [*Recall(k=4).scores(RANKINGS), Score.undefined("the row has no relevance")]
    assert Recall(k=4).summarise(scores) == {
        "Perfect Queries": 2,
        "Zero Queries": 2,
        "Nothing Relevant": 1,
    }
    counts = {"first_hit_rank": 1, "hits": 2, "retrieved": 3, "relevant": 4}
    assert scores[0].detail == {**counts, "precision": 0.5, "recall": 0.5}
