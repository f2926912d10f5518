from collections.abc import Sequence

import numpy as np

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


def test_errors_that_cancel_are_found_and_no_change_is_none() -> None:
    """After 5 of 15 probes, as many right verdicts become wrong as wrong ones become right."""
    labels = (np.arange(180) % 10 < 7).astype(np.int64)
    before = np.where(np.arange(180) % 4 > 0, labels, 1 - labels)
    after = before.copy()
    for right in (before == labels, before != labels):
        after[np.flatnonzero(right)[:15]] ^= 1
    for later, changed in ((before, False), (after, True)):
        verdicts = np.vstack([np.tile(before, (5, 1)), np.tile(later, (10, 1))])
        counts = count_rows(verdicts, labels, range(0, 180, 3))
        parts = {name: drift_evidence(each).tolist() for name, each in counts.items()}
        assert Drift(0, [], [], parts, []).drifted is changed
        assert max(parts["its agreement with people"]) < DRIFTED


def test_one_threshold_fits_three_kinds_of_evidence() -> None:
    drift = Drift(1, [], [], {"a": [1.0, 4.0], "b": [2.0, 300.0], "c": [1.0, 1.0]}, [])
    assert drift.evidence == [2 / 3, 100.0]
    assert drift.drifted
