import math
import tracemalloc

import numpy as np
import pytest

from ragstone.stats import BLOCK, RESAMPLES, mean_interval, quantile


@pytest.mark.parametrize("values", [[], [0.5]])
def test_fewer_than_two_values_have_no_interval(values: list[float]) -> None:
    assert mean_interval(values) is None


def test_the_same_values_give_the_same_interval() -> None:
    values = [0.2, 0.9, 0.4, 0.7, 0.1]
    assert mean_interval(values) == mean_interval(list(values))


def test_equal_values_have_no_interval_that_would_look_certain() -> None:
    assert mean_interval([0.25] * 10) is None
    assert mean_interval([1.0] * 3) is None


def test_the_interval_holds_the_mean_to_the_last_digit() -> None:
    values = [0.1] * 9 + [0.1 + 1e-17 * 2]
    mean = math.fsum(values) / len(values)
    low, high = mean_interval([*values, 0.3]) or (mean, mean)
    assert low <= math.fsum([*values, 0.3]) / 11 <= high


@pytest.mark.parametrize(("n", "share"), [(100, 0.5), (400, 0.5), (1000, 0.1), (1000, 0.9)])
def test_for_0_and_1_it_is_near_the_normal_interval(n: int, share: float) -> None:
    """For large n the mean of 0/1 data is normal: share ± 1.96 sqrt(share (1 - share) / n)."""
    ones = round(n * share)
    interval = mean_interval([1.0] * ones + [0.0] * (n - ones))
    assert interval is not None
    half = 1.959964 * math.sqrt(share * (1 - share) / n)
    assert interval == pytest.approx((share - half, share + half), abs=0.15 * half)


def test_two_values_0_and_1() -> None:
    """Of four equally likely draws one is (0, 0) and one (1, 1): both tails are over 2.5 %."""
    assert mean_interval([0, 1]) == (0, 1)


def test_a_lower_level_is_a_narrower_interval() -> None:
    values = [float(i % 7) for i in range(50)]
    wide, narrow = mean_interval(values), mean_interval(values, 0.5)
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < sum(values) / 50 < narrow[1] < wide[1]


def test_it_covers_the_true_mean_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(200):
        low, high = mean_interval(rng.beta(2, 3, size=60).tolist()) or (1, 0)
        covered += low <= 0.4 <= high
    assert 0.90 <= covered / 200 <= 0.99


def test_many_values_are_drawn_in_blocks_of_bounded_memory() -> None:
    values = np.linspace(0, 1, 30_000)  # so that the last block is a smaller one
    assert values.size * RESAMPLES > 2 * BLOCK
    tracemalloc.start()
    interval = mean_interval(values.tolist())
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * 8 * BLOCK
    assert interval == pytest.approx((0.4967, 0.5033), abs=1e-3)


def test_quantiles_lie_between_the_values() -> None:
    values = [10.0, 20.0, 30.0, 40.0]
    assert quantile(values, 0) == 10
    assert quantile(values, 0.5) == 25
    assert quantile(values, 1) == 40
    assert quantile([7.0], 0.95) == 7


def test_a_quantile_of_nothing_is_none() -> None:
    assert quantile([], 0.5) is None
