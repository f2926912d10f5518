"""Which rows are drawn to be labelled, and with what probability."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.results.stats.labels import SamplingPlan, Stratum

STRATA = (
    Stratum("sure", rows=60, claims=120, rate=0.95),
    Stratum("unsure", rows=20, claims=50, rate=0.7),
    Stratum("not supported", rows=17, claims=40, rate=0.3),
    Stratum("rare", rows=3, claims=6, rate=0.5),
)
CODES = np.repeat(np.arange(4), [each.rows for each in STRATA])


def test_neymans_allocation_by_hand() -> None:
    # 40 rows of one claim in proportion to 100 x 0.3, 100 x 0.4 and 50 x 0.5
    strata = [Stratum("", 100, 100, 0.1), Stratum("", 100, 100, 0.2), Stratum("", 50, 50, 0.5)]
    share = [40 * part / 95 for part in (30, 40, 25)]
    plan = SamplingPlan.allocate(strata, 40)
    assert [plan.order.count(code) for code in range(3)] == pytest.approx(share, abs=1)
    assert len(plan.order) == 40
    assert plan.minimum == 15


@given(st.integers(0, 230))
def test_every_stratum_gets_its_least_and_larger_plans_begin_as_smaller_ones(labels: int) -> None:
    plan, larger = (SamplingPlan.allocate(STRATA, n) for n in (labels, labels + 1))
    sizes = [plan.order.count(code) for code in range(4)]
    least = [3, 2, 3, 3]  # rows with 5 claims on average, if there are so many
    assert all(m <= n <= s.rows for m, n, s in zip(least, sizes, STRATA, strict=True))
    assert plan.minimum == sum(least)
    assert larger.order[: len(plan.order)] == plan.order


def test_a_draw_has_the_wished_number_of_claims_on_average() -> None:
    plan = SamplingPlan.allocate(STRATA, 90)
    claims = np.array([s.claims / s.rows for s in STRATA])
    assert 90 <= sum(claims[code] for code in plan.order) < 93


def test_probabilities_are_the_frequencies_of_rows() -> None:
    plan = SamplingPlan.allocate(STRATA, 90)
    for drawn in (None, 20):
        times = np.zeros(100)
        for seed in range(4000):
            times[plan.draw(CODES.tolist(), seed=seed)[:drawn]] += 1
        for code, probability in enumerate(plan.inclusion_probabilities(drawn)):
            error = 4 * math.sqrt(probability * (1 - probability) / 4000)
            assert np.abs(times[code == CODES] / 4000 - probability).max() <= error + 1e-12


def test_within_the_minimum_every_row_is_equally_likely_to_be_labelled() -> None:
    plan = SamplingPlan.allocate(STRATA, 90)
    times = np.zeros(100)
    for seed in range(4000):
        times[plan.draw(CODES.tolist(), seed=seed)[:4]] += 1
    chances = np.array(plan.inclusion_probabilities(4))[CODES] * 4 / plan.minimum
    assert np.abs(times / 4000 - chances).max() < 0.04


def test_a_larger_draw_begins_with_the_rows_of_a_smaller_one() -> None:
    draws = [SamplingPlan.allocate(STRATA, n).draw(CODES.tolist(), seed=7) for n in (30, 60, 500)]
    assert all(large[: len(small)] == small for small, large in pairwise(draws))
    assert sorted(draws[-1]) == list(range(100))
    assert SamplingPlan.allocate(STRATA, 500).inclusion_probabilities() == [1.0] * 4
