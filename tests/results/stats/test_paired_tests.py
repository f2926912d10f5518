import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from ragstone.results.stats.paired_tests import (
    ALPHA,
    DRIFTED,
    LARGE,
    drift_evidence,
    effect_size,
    holm,
    labels_needed,
    questions_needed,
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


def test_a_plan_equals_the_textbook() -> None:
    # Cohen (1988), table 2.4.1 for paired differences: d = 0.5 needs 34 pairs, d = 0.2 needs 199
    assert questions_needed(1.0, 0.5) == 34
    assert questions_needed(1.0, 0.2) == 199
    assert questions_needed(1.0, 0.5, power=0.9) == 44
    assert questions_needed(1.0, 0.5, alpha=0.01) == 51
    # enough pairs for the test to reject anything
    assert (questions_needed(0.0, 0.1), questions_needed(0.0, 0.1, alpha=0.01)) == (6, 8)
    assert [sign_flip([0.1] * n).can_reject() for n in (5, 6)] == [False, True]


def test_a_good_judge_and_more_questions_save_labels() -> None:
    # without a judge: 1 / 500 = 1 / n + 1 / (0.5 n)² + 4 / n²
    assert labels_needed(500, 1000, 0.0, spread=0.5) == 508
    # scores that vary by 30 % of what 0 and 1 would: 1 / 500 = 1 / n + (0.09 / 0.25 + 1.2) / n²
    assert labels_needed(500, 1000, 0.0, spread=0.5, trial=0.3) == 502
    useless, fair, good = (labels_needed(500, 1000, r, spread=0.5) for r in (0.1, 0.6, 0.95))
    assert useless > 490 > fair > 420 > 200 > good
    assert labels_needed(500, 4000, 0.6, spread=0.5) < fair
    assert labels_needed(500, 1000, 0.6, spread=0.1) > fair + 30, "scores that hardly vary"


def looks(rng: np.random.Generator, p: NDArray[np.float64], days: int) -> NDArray[np.int64]:
    return (rng.random((days, p.size)) < p).astype(np.int64)


def test_the_second_look_is_judged_by_the_sign_test() -> None:
    # ten verdicts changed for the worse, none for the better: each had a chance of one half
    fell = np.array([[1] * 30, [0] * 10 + [1] * 20])
    fewer = np.array([[1] * 30, [0] * 4 + [1] * 26])
    evidence = drift_evidence(fell)[1], drift_evidence(fewer)[1]
    assert evidence[0] > 10 > 4 > evidence[1]  # p = 0.001 and 0.06
    assert evidence[0] == drift_evidence(1 - fell)[1], "a rise counts as a fall does"


def test_a_judge_that_does_not_change_raises_few_alarms() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(25):
        p = rng.choice([0.02, 0.1, 0.9, 0.98], 20, p=[0.1, 0.1, 0.2, 0.6])
        alarms += bool(drift_evidence(looks(rng, p, 200)).max() >= DRIFTED)
    assert alarms <= 3  # 5% are 1
    assert drift_evidence(np.ones((200, 60), dtype=np.int64)).max() < 5
    assert drift_evidence(np.ones((1, 5), dtype=np.int64)).tolist() == [1.0]
    assert drift_evidence(np.ones((0, 5), dtype=np.int64)).size == 0


def test_a_fall_by_ten_points_is_noticed_within_days() -> None:
    rng = np.random.default_rng(4)
    delays: list[int] = []
    for _ in range(20):
        p = np.where(rng.random(100) < 0.88, 0.98, 0.02)
        lost = np.where((rng.random(100) < 0.12) & (p > 0.5), 0.02, p)
        days = np.vstack([looks(rng, p, 30), looks(rng, lost, 30)])
        found = np.flatnonzero(drift_evidence(days)[30:] >= DRIFTED)
        delays.append(int(found[0]) + 1 if found.size else 31)
    assert np.median(delays) <= 5
    assert max(delays) <= 30


def test_missing_answers_count_neither_way_and_rows_may_have_several_claims() -> None:
    rng = np.random.default_rng(5)
    days = looks(rng, np.full(80, 0.95), 100)
    days[rng.random(days.shape) < 0.2] = -1
    assert drift_evidence(days).max() < DRIFTED
    assert drift_evidence(np.full((3, 4), -1)).max() < 2
    before, after = rng.binomial(5, 0.95, (20, 30)), rng.binomial(5, 0.7, (5, 30))
    assert drift_evidence(before.astype(np.int64)).max() < DRIFTED
    assert drift_evidence(np.vstack([before, after]).astype(np.int64))[-1] >= DRIFTED
