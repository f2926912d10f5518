from typing import Any

from ragstone.results.comparison import compare
from ragstone.results.paired import Pairing

RUNS = Any


def pair_samples(runs: RUNS, a: dict[str, str], b: dict[str, str]) -> Pairing:
    one, two = (
        runs.of({"hit@5": [1] * len(side)}, ids=list(side), queries=list(side.values()))
        for side in (a, b)
    )
    return compare(one, two).pairing


def test_samples_pair_by_id_in_any_order(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?", "2": "why?"}, {"2": "why?", "1": " who? "})
    assert found.pairs.tolist() == [[0, 1], [1, 0]]
    assert (found.by_id, found.by_query, found.only_a, found.only_b) == (2, 0, 0, 0)


def test_those_left_pair_by_query(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?", "x": "why?"}, {"1": "who?", "y": "why?", "z": "when?"})
    assert found.pairs.tolist() == [[0, 0], [1, 1]]
    assert (found.by_id, found.by_query, found.only_a, found.only_b) == (1, 1, 0, 1)


def test_numbered_rows_that_moved_down_by_one_find_their_partners(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?", "2": "why?"}, {"1": "new?", "2": "who?", "3": "why?"})
    assert found.pairs.tolist() == [[0, 1], [1, 2]]
    assert (found.renamed, found.first_renamed) == (2, ("1", "2"))


def test_the_same_id_for_another_query_is_no_pair(runs: RUNS) -> None:
    found = pair_samples(runs, {"1": "who?"}, {"1": "why?"})
    assert found.pairs.tolist() == []
    assert (found.first_renamed, found.only_a, found.only_b) == (("1",), 1, 1)


def test_a_query_that_stands_twice_pairs_only_by_id(runs: RUNS) -> None:
    copies, one = {"x": "who?", "y": "who?"}, {"1": "who?"}
    for sides in ((copies, one), (one, copies)):
        found = pair_samples(runs, *sides)
        assert found.pairs.tolist() == []
        assert found.ambiguous == 2
    assert pair_samples(runs, copies, copies).by_id == 2
