from collections.abc import Sequence

import numpy as np
import pytest

from ragstone.evaluation.judge_test import Drift, Probe, count_rows, measure_drift, weighted_share
from ragstone.results.stats.intervals import Ends
from ragstone.results.stats.paired_tests import DRIFTED, drift_evidence


def probe(**verdicts: bool | None) -> Probe:
    names = {f"{name[1]} {name[2]} m": each for name, each in verdicts.items()}
    return Probe(at="", version="", setup="", verdicts=names)


def shares(found: Sequence[tuple[float, Ends] | None]) -> list[float | None]:
    return [each and each[0] for each in found]


UNITS = {("m", 3, 0): True, ("m", 3, 1): False, ("m", 1, 0): True}


def test_a_row_counts_only_if_all_its_labelled_claims_have_a_verdict() -> None:
    probes = [probe(r30=True, r31=True, r10=True), probe(r30=True, r31=None, r10=False), probe()]
    drift = measure_drift(probes, UNITS)
    assert drift.rows == 2
    assert shares(drift.agreement) == [2 / 3, 0.0, None]
    assert shares(drift.supported) == [1.0, 0.0, None]


def test_the_interval_of_the_agreement_is_of_whole_rows() -> None:
    right = np.arange(40.0) % 6
    few, many = (weighted_share(right * n, np.full(40, 5.0 * n)) for n in (1, 20))
    assert few == many, "claims of one row are not independent"
    share, (low, high) = weighted_share(np.full(20, 3.0), np.full(20, 3.0)) or (0, (0, 0))
    assert (share, high) == (1.0, 1.0)
    assert 0.85 < low < 0.95
    assert weighted_share(np.zeros(3), np.zeros(3)) is None


ROWS, CLAIMS = 60, 3
STARTS = range(0, ROWS * CLAIMS, CLAIMS)


def evidence_of(kind: str, noise: float, seed: int) -> dict[str, bool]:
    """Return which evidence finds a change after 5 of 15 probes, of 17% of the verdicts."""
    rng = np.random.default_rng([seed, int(100 * noise), len(kind)])
    n = ROWS * CLAIMS
    labels = (rng.random(n) < 0.7).astype(np.int64)
    before = np.where(rng.random(n) < 0.8, labels, 1 - labels)
    after = before.copy()
    cells = {"shift": [(1, 0), (1, 1)], "cancel": [(0, 0), (0, 1), (1, 0), (1, 1)]}.get(kind, [])
    for verdict, label_ in cells:
        some = np.flatnonzero((before == verdict) & (labels == label_))
        after[some[: int(0.17 * n / len(cells))]] ^= 1
    usual = np.vstack([np.tile(before, (5, 1)), np.tile(after, (10, 1))])
    unsure = np.where(rng.random(n) < 0.3, noise / 0.3, 0.0)
    verdicts = np.where(rng.random(usual.shape) < unsure, 1 - usual, usual)
    counts = count_rows(verdicts, labels, STARTS)
    parts = {name: drift_evidence(each).tolist() for name, each in counts.items()}
    drift = Drift(0, [], [], parts, [])
    agreement = max(drift.parts["its agreement with people"]) >= DRIFTED
    return {"agreement": agreement, "all": drift.drifted}


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.02, 0.05])
def test_errors_that_cancel_are_found_and_false_alarms_stay_below_one_percent(noise: float) -> None:
    for kind in ("shift", "cancel"):
        found = [evidence_of(kind, noise, seed) for seed in range(40)]
        assert sum(each["all"] for each in found) >= 38, kind
        assert sum(each["agreement"] for each in found) <= 10, "which agreement does not see"
    alarms = sum(evidence_of("none", noise, seed)["all"] for seed in range(300))
    assert alarms <= 3


def test_one_threshold_fits_three_kinds_of_evidence() -> None:
    drift = Drift(1, [], [], {"a": [1.0, 4.0], "b": [2.0, 300.0], "c": [1.0, 1.0]}, [])
    assert drift.evidence == [2 / 3, 100.0]
    assert drift.drifted
