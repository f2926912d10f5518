from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from ragstone.evaluation.judge_test import Probe, count_agreements, noise_of, sample_rows
from ragstone.results.calibration import majority, verdict_of
from ragstone.results.stats.paired_tests import variance_components
from ragstone.types.claim import JudgedClaim
from ragstone.types.claim import Label as Verdict
from ragstone.types.label import HumanLabel
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score


def label(
    claim: int | None, value: bool | None, *, by: str = "ann", position: int = 0
) -> HumanLabel:
    at = datetime.now(UTC)
    return HumanLabel("run", position, str(position), "m", claim, value, by, at, 1.0, True)


def score(value: float, *verdicts: Verdict) -> Score:
    claims = [
        JudgedClaim(text=f"c{n}", span=None, label=each, reason="", confidence=None, evidence=())
        for n, each in enumerate(verdicts)
    ]
    return Score.scored(value, claims=claims)


def row(index: int, value: float | None) -> Row:
    scores = {"m": Score.undefined("none") if value is None else Score.scored(value)}
    return Row(index, Sample(id=str(index), query="?"), scores=scores)


def test_most_annotators_decide_and_ties_are_left_out() -> None:
    labels = [
        label(0, True),
        label(0, True, by="bob"),
        label(0, False, by="cleo"),
        label(1, True),
        label(1, False, by="bob"),
        label(2, None),
        label(None, False),
    ]
    assert majority(labels) == {("m", 0, 0): True, ("m", 0, None): False}


def test_a_verdict_is_of_one_claim_or_of_the_whole_response() -> None:
    half = score(0.5, Verdict.SUPPORTED, Verdict.CONTRADICTED)
    assert [verdict_of(half, claim) for claim in (0, 1, None, 2)] == [True, False, False, None]
    assert verdict_of(score(1.0, Verdict.SUPPORTED), None) is True
    assert verdict_of(Score.scored(0.7), None) is False
    assert verdict_of(Score.undefined("no claims"), 0) is None
    assert verdict_of(None, 0) is None


def test_a_row_counts_only_if_all_its_labelled_claims_have_a_verdict() -> None:
    def probe(**verdicts: bool | None) -> Probe:
        names = {f"{name[1]} {name[2]} m": each for name, each in verdicts.items()}
        return Probe(at="", version="", setup="", verdicts=names)

    units = {("m", 3, 0): True, ("m", 3, 1): False, ("m", 1, 0): True}
    probes = [
        probe(r30=True, r31=True, r10=True),
        probe(r30=True, r31=None, r10=False),
        probe(),
    ]
    counts, sizes = count_agreements(probes, units)
    assert counts.tolist() == [[1, 1], [0, -1], [-1, -1]]
    assert sizes.tolist() == [1, 2]


def test_rows_are_drawn_at_random_but_always_the_same() -> None:
    rows = [row(n, None if n % 2 else 0.5) for n in range(40)]
    drawn = [each.index for each in sample_rows(rows, ["m"], 8)]
    assert len(drawn) == 8
    assert not any(index % 2 for index in drawn)
    assert drawn == [each.index for each in sample_rows(rows[::-1], ["m"], 8)]
    assert drawn != sorted(drawn)
    assert len(sample_rows(rows, ["m"], 100)) == 20


def judgments(*values: Sequence[float | None]) -> list[dict[int, Row]]:
    return [{index: row(index, value) for index, value in enumerate(of)} for of in values]


def test_noise_needs_two_rows_that_were_scored_each_time() -> None:
    assert noise_of(judgments([1.0, None], [0.5, 1.0]), "m") is None
    found = noise_of(judgments([1.0, 0.0, None], [0.5, 0.0, 1.0]), "m")
    assert found is not None
    assert found["rows"] == 2
    assert found["unchanged"] == 0.5
    assert found["judge"] == pytest.approx(0.0625)  # the mean of 0.125 and 0


def test_variances_are_split_as_in_the_analysis_of_variance() -> None:
    # between: variance of the row means 0.5, 0.25, 0.75, less 1/2 of the judge's
    scores = np.array([[0.4, 0.6], [0.2, 0.3], [0.7, 0.8]])
    between, judge = variance_components(scores)
    assert judge == pytest.approx((0.02 + 0.005 + 0.005) / 3)
    assert between == pytest.approx(0.0625 - judge / 2)
    assert variance_components(np.array([[0.0, 1.0], [1.0, 0.0]])) == (0.0, 0.5)


def test_variances_are_found_on_average() -> None:
    rng = np.random.default_rng(8)
    found = []
    for _ in range(300):
        rows = rng.normal(0.5, 0.3, 40)
        found.append(variance_components(rows[:, None] + rng.normal(0, 0.1, (40, 3))))
    assert np.mean(found, axis=0) == pytest.approx([0.09, 0.01], rel=0.06)
