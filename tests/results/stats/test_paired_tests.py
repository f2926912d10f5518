import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.results.stats.paired_tests import (
    ALPHA,
    LARGE,
    effect_size,
    holm,
    sign_flip,
    smallest_difference,
    wins_losses_ties,
)

differences = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), max_size=20)


def test_sign_flips_are_scipys(golden: dict[str, Any]) -> None:
    """Exactly where all flips are counted; else within the error of 9,999 of them."""
    for pair in golden["pairs"]:
        error = 1e-12 if pair["exact"] else 0.012
        assert sign_flip(pair["differences"]).p == pytest.approx(pair["flip"], abs=error)


def test_holm_is_that_of_statsmodels(golden: dict[str, Any]) -> None:
    assert holm(golden["holm"]["p"]) == pytest.approx(golden["holm"]["adjusted"], abs=1e-12)
    assert holm([]) == []
    assert holm([0.7, 0.6]) == [1, 1]


def test_the_worked_example_of_a_sign_flip() -> None:
    """Of the 8 flips of 1, 2 and 3 only +++ and --- reach a sum of 6; +1 +2 -3 is nearest 0."""
    assert sign_flip([1, 2, 3]).p == 2 / 8
    assert sign_flip([1, 2, -3]).p == 1


@given(differences)
def test_a_sign_flip_counts_every_flip(given_: list[float]) -> None:
    given_ = given_[:8]
    seen = abs(sum(given_)) - 1e-9
    sums = [
        abs(sum(sign * d for sign, d in zip(signs, given_, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(given_))
    ]
    assert sign_flip(given_).p == pytest.approx(np.mean([total >= seen for total in sums]))


@given(differences, st.randoms(use_true_random=False))
def test_the_tests_know_neither_order_nor_direction(given_: list[float], random: Any) -> None:
    mixed = random.sample(given_, len(given_))
    turned = [-d for d in given_]
    assert sign_flip(given_).p == sign_flip(mixed).p == sign_flip(turned).p
    clusters = list(range(1, len(given_) // 2 + 1)) * 2 + [0] * (len(given_) % 2)
    ends = sign_flip(given_, clusters=clusters).interval()
    other = sign_flip(turned, clusters=clusters).interval()
    assert (ends is None) == (other is None)
    assert not (ends and other) or (-other[1], -other[0]) == pytest.approx(ends, abs=1e-9)


def test_nothing_that_differs_is_no_evidence() -> None:
    rounded = 0.1 + 0.2 - 0.3
    for nothing in ([], [0.0], [0.0] * 5, [rounded] * 30):
        assert sign_flip(nothing).p == 1
    assert wins_losses_ties([rounded]) == (0, 0, 1)
    assert effect_size([0.0] * 5) is effect_size([1]) is effect_size([0.25] * 6) is None
    assert effect_size([1, 2, 3]) == 2, "the mean in standard deviations"
    assert sign_flip([0.25] * 6).p == 2 / 64
    assert sign_flip([0.5] * 100).p == 1 / 10_000  # one of all that were drawn, never 0


def test_a_cluster_is_flipped_as_one() -> None:
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert sign_flip(values).p == 2 / 64
    assert sign_flip(values, clusters=["a", "a", "b", "b", "c", "c"]).p == 2 / 8
    assert sign_flip(values, clusters=["a", "a", "b", "b", None, None]).p == 2 / 16
    assert sign_flip(values, clusters=["a"] * 6).p == 1
    assert sign_flip([0.3, -0.1, -0.2, 0.5], clusters=["a", "a", "a", "b"]).p == 1, "a ties"


def test_the_interval_of_a_sign_flip_by_hand() -> None:
    """Of six differences 63 subsets have a mean; a significant result allows one to be 0."""
    found = sign_flip([1, 2, 3, 4, 5, 6])
    assert found.p == 2 / 64
    assert found.interval() == (1, 6)
    assert found.interval(tests=2) is None  # two tests need 7 pairs
    assert not found.can_reject(tests=2)
    assert sign_flip([1, 2, 3, 4, 5]).interval() is None


def test_an_interval_excludes_0_exactly_if_the_test_rejects_0() -> None:
    """Over samples of all sizes and kinds, in clusters and not, corrected for several tests."""
    rng = np.random.default_rng(4)
    excluded = 0
    for round_ in range(1000):
        n = int(rng.integers(2, 40))
        shift = rng.choice([0, 0.1, 0.3])
        values = rng.choice(
            [
                rng.normal(shift, 0.3, n),
                rng.binomial(1, 0.5 + shift / 2, n) - rng.binomial(1, 0.5 - shift / 2, n),
                np.where(rng.random(n) < 0.3, -shift, 0.0),
                rng.exponential(1, n) - 1 + shift,
            ]
        )
        clusters = rng.integers(0, n // 2 + 1, n) if round_ % 3 == 0 else None
        found = sign_flip(values, clusters=clusters, resamples=199)
        for tests in (1, 2, 5):
            ends = found.interval(tests)
            if ends is not None:
                assert (ends[0] > 0 or ends[1] < 0) is (found.p * tests < ALPHA)
                excluded += found.p * tests < ALPHA
    assert excluded > 150


def test_the_normal_limit_agrees_with_its_interval_and_the_flips_it_replaces() -> None:
    rng = np.random.default_rng(6)
    for shift in np.linspace(-0.03, 0.03, 7):
        values = rng.normal(shift, 1, LARGE + 1)
        found = sign_flip(values)
        low, high = found.interval() or (0, 0)
        assert low < high
        assert (low > 0 or high < 0) is (found.p < ALPHA)
    flips = sign_flip(values[:-1])
    assert found.p == pytest.approx(flips.p, abs=0.006)
    assert found.interval() == pytest.approx(flips.interval(), abs=0.001)


def test_wins_follow_the_metrics_direction() -> None:
    assert wins_losses_ties([0.5, 0.1, -0.2, 0]) == (2, 1, 1)
    assert wins_losses_ties([0.5, 0.1, -0.2, 0], higher_is_better=False) == (1, 2, 1)


def test_the_smallest_difference_is_that_of_scipys_noncentral_t(golden: dict[str, Any]) -> None:
    for n, alpha, power, effect in golden["power"]:
        found = smallest_difference(1, n, alpha=alpha, power=power)
        assert found == pytest.approx(effect, rel=1e-9), (n, alpha, power)
        assert smallest_difference(0.25, n, alpha=alpha, power=power) == pytest.approx(effect / 4)
    for spread, n in ((0.3, 1), (0.3, 0), (0, 50)):
        assert smallest_difference(spread, n) is None
