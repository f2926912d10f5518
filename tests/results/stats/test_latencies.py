import pickle
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.results.stats import sums
from ragstone.results.stats.sums import Latencies


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
