import math
import pickle
import random
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.results.stats import sums
from ragstone.results.stats.intervals import LARGE, Clusters, Distinct, bca, mean_interval
from ragstone.results.stats.sums import UNIT, ExactSums, Latencies

finite = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
score = st.one_of(st.sampled_from([0.0, 0.2, 1 / 3, 1.0]), st.floats(0, 1))


def powers(values: list[float]) -> list[Fraction]:
    return [sum((Fraction(value) ** power for value in values), Fraction()) for power in (1, 2, 3)]


@given(st.lists(finite | score, max_size=40))
def test_the_sums_are_those_of_fractions(values: list[float]) -> None:
    sums = ExactSums.of(values)
    found = sums.first, sums.second, sums.third
    scaled = [Fraction(total, 1 << power * UNIT) for power, total in enumerate(found, 1)]
    assert scaled == powers(values)
    assert sums.total == math.fsum(values)
    assert not values or math.copysign(1, ExactSums.of([-0.0]).least) == 1


@given(st.lists(st.lists(score, max_size=9), max_size=9), st.randoms(use_true_random=False))
def test_any_split_and_order_are_the_same(
    parts: list[list[float]], shuffled: random.Random
) -> None:
    whole = ExactSums.of([value for part in parts for value in part])
    shuffled.shuffle(parts)
    assert sum(map(ExactSums.of, parts), start=ExactSums()) == whole
    assert pickle.loads(pickle.dumps(whole)) == whole


@each_case("scale", [1.0, 1e-200, 1e120])
def test_figures_are_those_of_numpy(scale: float) -> None:
    values = np.random.default_rng(1).beta(5, 0.7, 700)
    sums = ExactSums.of(values * scale)
    gains = values - values.mean()
    assert sums.mean == pytest.approx(values.mean() * scale, rel=1e-12)
    assert sums.spread == pytest.approx(values.std(ddof=1) * scale, rel=1e-12)
    assert sums.error == pytest.approx(values.std() / math.sqrt(700) * scale, rel=1e-12)
    skewed = np.sum(gains**3) / (6 * np.sum(gains**2) ** 1.5)
    assert sums.acceleration == pytest.approx(skewed, rel=1e-9)


def test_the_interval_of_many_values_needs_only_their_sums() -> None:
    for values in (np.random.default_rng(1).beta(5, 0.7, 900), np.arange(900) % 7 / 6.0):
        found = mean_interval(values)
        assert found == pytest.approx(bca(Clusters.of(values), 0.95), abs=1e-12)
        parts = [ExactSums.of(part) for part in np.array_split(values, 7)]
        for order in (parts, parts[::-1], parts[3:] + parts[:3]):
            assert mean_interval(sum(order, start=ExactSums())) == found
    with pytest.raises(ValueError, match="needs more than their sums"):
        mean_interval(ExactSums.of(values[:LARGE]))


def test_clusters_are_counted_by_their_means() -> None:
    groups = Clusters.of([1.0, 1.0, 0.0, 0.5], ["a", "a", "b", "c"])
    means, counts, sizes = (each.tolist() for each in Distinct.of(groups))
    assert (means, counts, sizes) == ([0, 0.5, 1], [1, 1, 1], [1, 1, 2])


def of(values: list[float]) -> Latencies:
    found = Latencies()
    for value in values:
        found.append(value)
    return found


def test_few_values_have_exact_percentiles() -> None:
    assert of([10.0, 20.0, 30.0, 40.0]).percentiles() == {"p50_ms": 25.0, "p95_ms": 38.5}
    assert of([7.0]).percentiles() == {"p50_ms": 7.0, "p95_ms": 7.0}
    assert Latencies().percentiles() == {"p50_ms": None, "p95_ms": None}


def test_percentiles_of_many_values_are_less_than_half_a_percent_off() -> None:
    draw = np.random.default_rng(1)
    for scale in (0.01, 3.0, 60_000.0):
        values = draw.lognormal(np.log(scale), 1.0, 30_000)
        found = of(values.tolist())
        assert len(found) == 30_000
        assert len(pickle.dumps(found)) < 100_000
        exact = np.quantile(values, [0.5, 0.95])
        assert list(found.percentiles().values()) == pytest.approx(exact, rel=0.005)


@given(
    st.lists(st.floats(0, 1e9) | st.sampled_from([0.0, 0.1, 1.0, 2.0]), max_size=40),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
def test_any_split_and_any_order_give_the_same_percentiles(
    values: list[float], parts: int, shuffled: Random
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sums, "FEW", 6)
        expected = of(values).percentiles()
        shuffled.shuffle(values)
        split = [Latencies() for _ in range(parts)]
        for value in values:
            shuffled.choice(split).append(value)
        while len(split) > 1:
            one, other = (split.pop(shuffled.randrange(len(split))) for _ in range(2))
            one += pickle.loads(pickle.dumps(other))
            split.append(one)
        assert len(split[0]) == len(values)
        assert split[0].percentiles() == expected
