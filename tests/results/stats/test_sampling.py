"""Which rows are drawn to be labelled, and with what probability."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.results.stats.sampling import Draw, Stratum, allocate

STRATA = (
    Stratum("sure", rows=60, claims=120, rate=0.95),
    Stratum("unsure", rows=20, claims=50, rate=0.7),
    Stratum("not supported", rows=17, claims=40, rate=0.3),
    Stratum("rare", rows=3, claims=6, rate=0.5),
)
CODES = np.repeat(np.arange(4), [each.rows for each in STRATA])


def test_neymans_allocation_by_hand() -> None:
    # 40 draws in proportion to 100 x 0.3, 100 x 0.4 and 50 x 0.5
    strata = [Stratum("", 100, 100, 0.1), Stratum("", 100, 100, 0.2), Stratum("", 50, 50, 0.5)]
    share = [40 * part / 95 for part in (30, 40, 25)]
    found, others = allocate(strata, 40)
    assert found == pytest.approx(share, abs=1)
    assert sum(found) == 40
    assert [others.count(code) + 5 for code in range(3)] == found


@given(st.integers(0, 130))
def test_every_stratum_gets_its_least_and_more_draws_take_from_none(draws: int) -> None:
    given, others = allocate(STRATA, draws)
    least = [3, 2, 3, 3]  # rows with 5 claims on average, if there are so many
    assert all(m <= n <= s.rows for m, n, s in zip(least, given, STRATA, strict=True))
    assert sum(given) == min(100, max(draws, 11))
    assert all(a <= b for a, b in zip(given, allocate(STRATA, draws + 1)[0], strict=True))
    assert others == allocate(STRATA, draws + 1)[1][: len(others)]


def test_a_draw_has_the_wished_number_of_claims_on_average() -> None:
    draw = Draw.of(STRATA, 90)
    claims = np.repeat([s.claims / s.rows for s in STRATA], [s.rows for s in STRATA])
    drawn = [claims[[*draw.rows(CODES, seed=seed)]].sum() for seed in range(400)]
    assert np.mean(drawn) == pytest.approx(draw.labels, rel=0.02)
    assert 90 <= draw.labels < 93
    assert draw.random == sum(draw.allocation) // 4


def test_probabilities_are_the_frequencies_of_rows() -> None:
    draw = Draw.of(STRATA, 90)
    times = np.zeros(100)
    for seed in range(4000):
        times[[*draw.rows(CODES, seed=seed)]] += 1
    for code, probability in enumerate(draw.probabilities):
        error = 4 * math.sqrt(probability * (1 - probability) / 4000)
        assert np.abs(times[code == CODES] / 4000 - probability).max() <= error + 1e-12


def test_a_larger_draw_has_the_rows_of_a_smaller_one() -> None:
    sizes = [set(Draw.of(STRATA, n).rows(CODES, seed=7)) for n in (30, 60, 120, 500)]
    assert all(small <= large for small, large in pairwise(sizes))
    assert sizes[-1] == set(range(100))
    assert Draw.of(STRATA, 500).probabilities == [1.0] * 4


def test_each_part_of_a_draw_is_the_smaller_draw() -> None:
    large = Draw.of(STRATA, 150)
    rows = large.rows(CODES, seed=3)
    entered = list(rows.values())
    assert entered == sorted(entered)
    for draws in range(1, sum(large.allocation) + 1):
        small = large.smaller(draws)
        part = [row for row, first in rows.items() if first <= sum(small.allocation)]
        assert part == list(small.rows(CODES, seed=3)), draws
