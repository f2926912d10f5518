import numpy as np

from ragstone.types.rankings import Rankings

# Four queries: found at 2 and 4 of 5; nothing returned; nothing relevant; first hit at 3.
RETRIEVED = [["d", "a", "x", "b", "y"], [], ["a", "b"], ["p", "q", "r"]]
GRADES = {"a": 2.0, "b": 1.0, "c": 1.0, "x": 0.0, "y": -1.0}
RANKINGS = Rankings.of(RETRIEVED, [GRADES, {"a": 1.0}, {"a": 0.0}, {"r": 1.0}])


def test_gains_are_the_grades_by_rank() -> None:
    assert RANKINGS.gains.tolist() == [[0, 2, 0, 1, -1], [0] * 5, [0] * 5, [0, 0, 1, 0, 0]]
    assert RANKINGS.gains.dtype == np.float64
    assert RANKINGS.n_relevant.tolist() == [3, 1, 0, 1]
    assert RANKINGS.n_retrieved.tolist() == [5, 0, 2, 3]
    assert RANKINGS.recall(2).tolist() == [1 / 3, 0, 0, 0]
    assert RANKINGS.recall(5).tolist() == [2 / 3, 0, 0, 1]


def test_precision_divides_by_k_or_by_what_came_back() -> None:
    assert RANKINGS.precision(5).tolist() == [2 / 5, 0, 0, 1 / 5]
    assert RANKINGS.precision(5, "retrieved").tolist() == [2 / 5, 0, 0, 1 / 3]
    assert RANKINGS.precision(10, "retrieved").tolist() == [2 / 5, 0, 0, 1 / 3]


def test_a_copy_counts_once_and_the_ranks_below_it_move_up() -> None:
    rankings = Rankings.of([["x", "x", "a", "x", "b", "a"]], [{"a": 1, "b": 1}])
    assert rankings.ids == [("x", "a", "b")]
    assert rankings.gains.tolist() == [[0, 1, 1]]
    assert rankings.first_hit_rank(2).tolist() == [2]
    assert rankings.recall(3).tolist() == [1]
