"""Means corrected with labels: worked examples, and what must not depend on details."""

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.cases import each_case

from ragstone.results.stats.labels import (
    Agreement,
    LabelledScores,
    best_threshold,
    corrected_difference,
    corrected_mean,
)

Numbers = NDArray[np.float64]


def run(
    scores: Numbers,
    judged: Numbers,
    human: Numbers,
    *,
    chances: Numbers | None = None,
    units: int = 1,
) -> LabelledScores:
    """Return a run whose first rows are labelled; `units` rows in a row are alike."""
    return LabelledScores(
        scores=scores,
        units=[place // units for place in range(len(scores))],
        judged=judged,
        human=human,
        chances=np.ones(len(judged)) if chances is None else chances,
        labelled=[place // units for place in range(len(judged))],
    )


def table(yes_yes: int, yes_no: int, no_yes: int, no_no: int) -> tuple[Numbers, Numbers]:
    """Return the judge's verdicts and the labels, given the number of rows of each kind."""
    counts = [yes_yes, yes_no, no_yes, no_no]
    judged, human = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    return np.repeat(judged, counts), np.repeat(human, counts)


def judged_yes(yes: int, n: int) -> Numbers:
    return np.repeat([1.0, 0.0], [yes, n - yes])


def test_verdicts_are_post_stratified() -> None:
    # 90 % of 20 and 50 % of 20 are yes; the judge calls 800 of 1,000 supported
    judged, human = table(18, 2, 10, 10)
    found = corrected_mean(run(judged_yes(800, 1000), judged, human))
    assert found.mean == pytest.approx(0.8 * 0.9 + 0.2 * 0.5)
    # the interval is the same from Jeffreys' posteriors of both shares
    rng = np.random.default_rng(3)
    share = rng.beta(800.5, 200.5, 10**6)
    draws = share * rng.beta(18.5, 2.5, 10**6) + (1 - share) * rng.beta(10.5, 10.5, 10**6)
    assert found.interval == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.004)


def test_labels_of_all_rows_leave_nothing_to_the_judge_and_alike_rows_count_as_one() -> None:
    judged, human = table(18, 2, 10, 10)
    draws = np.random.default_rng(3).beta(29, 13, 10**6)  # two labels each for yes and no
    found = corrected_mean(run(judged, judged, human))
    assert found.mean == pytest.approx(28 / 40)
    assert found.interval == pytest.approx(np.quantile(draws, [0.025, 0.975]), abs=0.01)
    given = judged_yes(800, 1000), *table(60, 20, 10, 30)
    alone, alike = (corrected_mean(run(*given, units=units)).interval for units in (1, 5))
    assert np.ptp(alike) > 1.5 * np.ptp(alone)


def test_an_interval_never_collapses_nor_leaves_the_range() -> None:
    low, high = corrected_mean(run(np.ones(500), np.ones(30), np.ones(30))).interval
    assert 0.85 < low < 0.95
    assert 0.99 < high <= 1
    judged = np.random.default_rng(6).beta(2, 6, 20)
    found = corrected_mean(run(np.full(500, 0.95), judged, np.clip(1.6 * judged, 0, 1)))
    assert (found.mean, found.interval[1]) == (1.0, 1.0)


def test_graded_scores_are_a_regression() -> None:
    rng = np.random.default_rng(4)
    scores = rng.beta(3, 1, 5000)
    human = np.clip(0.7 * scores + rng.normal(0, 0.1, 5000), 0, 1)
    found = corrected_mean(run(scores, scores[:200], human[:200]))
    slope = np.polyfit(scores[:200], human[:200], 1)[0]
    line = human[:200].mean() + slope * (scores.mean() - scores[:200].mean())
    assert found.mean == pytest.approx(line, abs=0.005)
    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.96 * 0.1 / 200**0.5, rel=0.3)


def test_rows_drawn_more_often_count_less() -> None:
    rng = np.random.default_rng(5)
    scores = (rng.random(4000) < 0.8).astype(float)
    human = np.where(rng.random(4000) < 0.9, scores, 1 - scores)
    chances = np.where(human == 1, 0.1, 0.3)  # known only to the planner
    drawn = rng.random(4000) < chances
    labelled = scores[drawn], human[drawn]
    weighted = corrected_mean(run(scores, *labelled, chances=chances[drawn]))
    unweighted = corrected_mean(run(scores, *labelled))
    low, high = weighted.interval
    assert low < human.mean() < high
    assert not unweighted.interval[0] < human.mean() < unweighted.interval[1]


def test_pairs_count_as_pairs() -> None:
    judged, human = table(40, 10, 10, 40)
    scores = np.concatenate([judged, judged_yes(500, 900)])
    one = run(scores, judged, human)
    better = human.copy()
    better[60:63] = 1.0  # three answers were repaired
    found = corrected_difference(one, run(scores, judged, better))
    assert 0 < found.mean < 0.05
    assert np.ptp(found.interval) < 0.6 * np.ptp(corrected_mean(one).interval)
    swapped = corrected_difference(run(scores, judged, better), one)
    assert swapped.mean == pytest.approx(-found.mean)
    assert swapped.interval == pytest.approx((-found.interval[1], -found.interval[0]))
    low, high = corrected_difference(one, one).interval
    assert -0.05 < low < 0 < high < 0.05


@each_case(
    ("table", "kappa", "ac1"),
    [
        # 70 % agree, 50 % by chance
        ((20, 5, 10, 15), 0.4, (0.7 - 2 * 0.55 * 0.45) / (1 - 2 * 0.55 * 0.45)),
        # 96 % agree, 92.98 % by chance; for AC1, 241 of 250 labels are True
        ((118, 5, 0, 2), (0.96 - 14_528 / 125**2) / (1 - 14_528 / 125**2), 0.957017),
        ((10, 0, 0, 10), 1.0, 1.0),
        ((0, 10, 10, 0), -1.0, -1.0),
        ((9, 0, 0, 0), None, 1.0),
        ((0, 0, 0, 9), None, 1.0),
        ((0, 9, 0, 0), 0.0, -1.0),
        ((0, 0, 0, 0), None, None),
    ],
)
def test_a_table_has_its_kappa_and_ac1(
    table: tuple[int, int, int, int], kappa: float | None, ac1: float | None
) -> None:
    found = Agreement(*table)
    assert found.kappa == (None if kappa is None else pytest.approx(kappa, abs=1e-6))
    assert found.ac1 == (None if ac1 is None else pytest.approx(ac1, abs=1e-6))


def test_pairs_are_counted() -> None:
    pairs = [(True, True), (True, False), (True, False), (False, True), *[(False, False)] * 4]
    found = Agreement.of(pairs)
    assert found == Agreement(both=1, first_only=2, second_only=1, neither=4)
    assert (found.n, found.agreeing) == (8, 5)


def test_a_biased_judge_has_a_better_threshold_and_a_good_one_is_kept() -> None:
    for seed, noise, mark, accepted in ((1, 0.1, 0.8, True), (2, 0.2, 0.5, False)):
        rng = np.random.default_rng(seed)
        support = rng.random(200)
        human = (support + rng.normal(0, noise, 200) > mark).astype(float)
        found = best_threshold(support, (support >= 0.5).astype(float), human, range(200))
        assert found is not None
        assert not accepted or found.value == pytest.approx(mark, abs=0.06)
        assert found.accepted is accepted
        assert not accepted or found.gain > 0.05


@pytest.mark.parametrize(("yes", "units"), [(4, 40), (36, 40), (20, 4)])
def test_too_few_labels_have_no_threshold(yes: int, units: int) -> None:
    support = np.linspace(0, 1, 40)
    human = np.repeat([0.0, 1.0], [40 - yes, yes])
    keys = [place % units for place in range(40)]
    assert best_threshold(support, human, human, keys) is None
