from typing import Any

import pytest

from ragstone.results.compare import Regressions, compare, find_regressions

RUNS = Any


def judged(runs: RUNS, b: RUNS, **least: float) -> Regressions:
    return find_regressions(compare(runs.of({"hit@5": [1.0] * 20}), b), **least)


@pytest.mark.parametrize(
    ("least", "beyond", "within"),
    [({}, 1, 0), ({"min_effect": 0.2}, 0, 1), ({"min_effect": 0.1}, 1, 0)],
)
def test_a_drop_is_a_regression_or_within_what_is_allowed(
    runs: RUNS, least: dict[str, float], beyond: int, within: int
) -> None:
    found = judged(runs, runs.of({"hit@5": [0.8] * 20}, run_id="b"), **least)
    assert (len(found.beyond), len(found.within)) == (beyond, within)
    assert found.doubts == ()


@pytest.mark.parametrize(
    ("n", "least", "doubts"),
    [
        (18, {}, ()),
        (
            17,
            {},
            ("only 17 of 20 samples of A (85%) have a partner in B; at least 90% are needed",),
        ),
        (17, {"min_paired": 0.85}, ()),
    ],
)
def test_too_few_partners_are_no_verdict(
    runs: RUNS, n: int, least: dict[str, float], doubts: tuple[str, ...]
) -> None:
    assert judged(runs, runs.of({"hit@5": [0.8] * n}, run_id="b"), **least).doubts == doubts


def test_a_run_that_was_stopped_is_no_verdict(runs: RUNS) -> None:
    found = judged(runs, runs.of({"hit@5": [1.0] * 20}, run_id="b", partial=True))
    assert found.doubts == ("run b was stopped before every row was finished",)


def test_nothing_scored_and_nothing_paired_are_no_verdict(runs: RUNS) -> None:
    nothing = runs.of({"hit@5": [None] * 20}, run_id="b")
    assert judged(runs, nothing).doubts == ("no metric was scored in both runs",)
    others = runs.of({"hit@5": [1.0]}, run_id="b", ids=["x"], queries=["y"])
    assert judged(runs, others).doubts == ("no sample could be paired",)
