import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.results.stats.intervals import (
    BLOCK,
    FEW,
    LARGE,
    RESAMPLES,
    SMALL,
    Clusters,
    bca,
    mean_interval,
    proportion_interval,
)

scores = st.lists(
    st.one_of(st.sampled_from([0.0, 0.2, 1.0]), st.floats(0, 1)), min_size=2, max_size=40
)


def beta(n: int, seed: int = 1) -> list[float]:
    return np.random.default_rng(seed).beta(5, 0.7, n).tolist()


@pytest.mark.parametrize("values", [[], [0.5], [0.25] * 10])
def test_too_few_values_and_equal_ones_inside_the_range_have_none(values: list[float]) -> None:
    assert mean_interval(values) is None


def test_values_at_one_end_are_no_certainty() -> None:
    assert mean_interval([1.0] * 3) == pytest.approx((0.2924, 1), abs=1e-4)
    assert mean_interval([0, 0, 0]) == pytest.approx((0, 0.7076), abs=1e-4)
    assert mean_interval([2.0] * 3, high=2) == pytest.approx((0.5848, 2), abs=1e-4)
    assert mean_interval([1.0] * 3, high=2) is None


@pytest.mark.parametrize(("low", "high"), [(0, 1), (-1, 1), (1, 5)])
def test_0_and_1_have_the_interval_of_a_proportion(low: float, high: float) -> None:
    exact = [low + end * (high - low) for end in proportion_interval(45, 50)]
    found = mean_interval([high] * 45 + [low] * 5, low=low, high=high)
    assert found == pytest.approx(exact, abs=1e-12)


def test_bca_is_scipys_within_the_error_of_drawing(golden: dict[str, Any]) -> None:
    for case in golden["bca"]:
        found = bca(Clusters.of(case["values"]), 0.95)
        error = 0.2 * case["standard_error"]
        assert found == pytest.approx(case["interval"], abs=error), case["scores"]


def test_the_analytic_form_takes_over_without_a_step() -> None:
    values = sorted(beta(LARGE + 1))
    drawn, expanded = mean_interval(values[:-1]), mean_interval(values)
    assert drawn == pytest.approx(expanded, abs=0.0005)


@given(scores, st.randoms(use_true_random=False))
def test_an_interval_holds_the_mean_in_the_range_in_any_order(
    values: list[float], random: Any
) -> None:
    found = mean_interval(values)
    if found is None:
        assert len(set(values)) == 1
        assert 0 < values[0] < 1
        return
    low, high = found
    assert 0 <= low <= math.fsum(values) / len(values) <= high <= 1
    assert low < high
    assert mean_interval(random.sample(values, len(values))) == found


@given(scores, st.sampled_from([0.5, 3, 100]), st.sampled_from([-2, 0, 7]))
def test_another_unit_gives_the_interval_in_that_unit(
    values: list[float], scale: float, shift: float
) -> None:
    values = [round(value, 3) for value in values]
    found = mean_interval(values)
    moved = mean_interval(
        [value * scale + shift for value in values], low=shift, high=scale + shift
    )
    if found and moved:
        assert moved == pytest.approx([end * scale + shift for end in found], abs=1e-6 * scale)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=30))
def test_no_finite_values_make_an_interval_that_is_no_number(values: list[float]) -> None:
    unbounded = {"low": -math.inf, "high": math.inf}
    low, high = mean_interval([value / len(values) for value in values], **unbounded) or (0, 0)
    assert low <= high


def test_values_outside_the_range_widen_it() -> None:
    low, high = mean_interval([float(i % 7) for i in range(50)]) or (0, 0)
    assert 2 < low < 3 < high < 4


def test_a_lower_level_is_a_narrower_interval() -> None:
    for n in (5, 50, LARGE + 1):
        wide, narrow = mean_interval(beta(n)), mean_interval(beta(n), level=0.5)
        assert wide is not None
        assert narrow is not None
        assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_worse_scores_do_not_raise_the_interval() -> None:
    """Ten of ten right; then one at 0.8; then that one wrong: each reaches further down."""
    ends = [mean_interval([1.0] * 9 + [last]) or (0, 0) for last in (1.0, 0.8, 0.0)]
    assert ends[0][0] > ends[1][0] > ends[2][0]
    ends = [mean_interval([1.0] * 199 + [last]) or (0, 0) for last in (1.0, 0.8, 0.0)]
    assert ends[0][0] > ends[1][0] > ends[2][0]


def test_few_values_lean_on_the_range_and_without_one_on_students_t() -> None:
    low, high = mean_interval([0.5, 0.6, 0.7]) or (0, 0)
    assert low < 0.4
    assert high > 0.8
    half = 4.302653 * 0.1 / math.sqrt(3)
    expected = (0.6 - half, 0.6 + half)
    found = mean_interval([0.5, 0.6, 0.7], low=-math.inf, high=math.inf)
    assert found == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("n", [FEW, 100, LARGE + 1])
def test_a_cluster_of_one_is_no_cluster(n: int) -> None:
    assert mean_interval(beta(n), clusters=[None] * n) == mean_interval(beta(n))
    assert mean_interval(beta(n), clusters=range(n)) == mean_interval(beta(n))


@pytest.mark.parametrize("n", [SMALL, LARGE + 1])
def test_copies_in_a_cluster_say_nothing_new(n: int) -> None:
    copied, labels = beta(n) * 4, [*range(n)] * 4
    assert mean_interval(copied, clusters=labels) == pytest.approx(mean_interval(beta(n)))
    low, high = mean_interval(copied) or (0, 0)
    apart = mean_interval(beta(n)) or (0, 0)
    assert high - low == pytest.approx((apart[1] - apart[0]) / 2, rel=0.1)


def test_clusters_of_other_sizes_are_weighed_by_them() -> None:
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 9, 50)
    labels = np.repeat([f"s{i}" for i in range(50)], sizes).tolist()
    values = np.repeat(rng.random(50), sizes).tolist()
    low, high = mean_interval(values, clusters=labels) or (0, 0)
    assert low < np.mean(values) < high
    turned = mean_interval(values[::-1], clusters=labels[::-1])
    assert turned == (low, high)


@pytest.mark.parametrize("values", [[0.1, 0.9, 0.4], [1.0, 1.0, 1.0]])
def test_one_cluster_has_no_interval(values: list[float]) -> None:
    assert mean_interval(values, clusters=["a"] * 3) is None


@pytest.mark.parametrize("n", [4, 12, LARGE + 1])
def test_clusters_with_equal_means_have_no_interval(n: int) -> None:
    assert mean_interval([0.1, 0.8, 0.3] * n, clusters=[i // 3 for i in range(3 * n)]) is None


def test_few_clusters_at_one_end_count_as_so_many_values() -> None:
    found = mean_interval([1.0] * 30, clusters=["a", "b", "c"] * 10)
    assert found == pytest.approx((0.2924, 1), abs=1e-4)


def test_a_label_too_few_is_an_error() -> None:
    with pytest.raises(ValueError, match="3 values have 2 cluster labels"):
        mean_interval([0.1, 0.2, 0.3], clusters=["a", "b"])


RARE = ([0, 0.1, 0.2, 0.3, 1], [0.2, 0.35, 0.25, 0.15, 0.05])


@pytest.mark.parametrize("n", [12, 20, 30, 50])
@pytest.mark.parametrize("mirrored", [False, True])
def test_it_covers_the_true_mean_with_rare_values_far_away(n: int, mirrored: bool) -> None:
    rng = np.random.default_rng(7)
    values, chances = np.array(RARE)
    values = 1 - values if mirrored else values
    drawn = rng.choice(values, (200, n), p=chances)
    ends = [mean_interval(row) or (1, 0) for row in drawn]
    assert np.mean([low <= values @ chances <= high for low, high in ends]) >= 0.94


def test_many_values_are_drawn_in_blocks_of_bounded_memory() -> None:
    assert LARGE * RESAMPLES > 2 * BLOCK
    tracemalloc.start()
    assert mean_interval(np.linspace(0, 1, LARGE).tolist()) is not None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 8 * BLOCK
