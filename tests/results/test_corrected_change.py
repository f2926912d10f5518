"""Differences that people's labels show, whatever the judge does."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from tests.results.conftest import Runs

from ragstone.results.comparison import Comparison, compare, correct_changes, find_regressions
from ragstone.results.paired import CorrectedDifference
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim
from ragstone.types.claim import Label as Verdict
from ragstone.types.label import HumanLabel
from ragstone.types.score import Score

NAME = "faithfulness"
N = 80


def run(name: str, verdicts: Sequence[bool], **options: object) -> Run:
    """Return a run of one claim per row with these verdicts of the judge."""
    scores = scores_of(verdicts)
    options = {"judge_setups": {NAME: "setup"}} | options
    return Runs.of({NAME: scores}, run_id=name, plan={"cluster": "id"}, **options)  # type: ignore[arg-type]


def scores_of(verdicts: Sequence[bool]) -> list[Score]:
    """Return a score of one claim for each verdict."""
    return [
        Runs.claimed(float(each), claim("A.", Verdict.SUPPORTED if each else Verdict.CONTRADICTED))
        for each in verdicts
    ]


def claim(text: str, label: Verdict) -> JudgedClaim:
    return Runs.claim(text, label)


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are drawn in the order of the data."""

    def key(sample_id: str, _query: str) -> bytes:
        return int(sample_id.removeprefix("q")).to_bytes(4, "big")

    monkeypatch.setattr("ragstone.results.calibration.draw_key", key)


def labels(values: Sequence[bool]) -> list[HumanLabel]:
    return [
        HumanLabel(
            "", place, f"q{place}", NAME, 0, value, "ana", datetime(2026, 1, 1, tzinfo=UTC), True
        )
        for place, value in enumerate(values)
    ]


JUDGE_A = [place % 5 != 0 for place in range(N)]
JUDGE_B = [place % 7 != 0 for place in range(N)]
PEOPLE_A = [place % 5 != 0 for place in range(50)]
PEOPLE_B = [place % 5 != 0 and place % 3 != 0 for place in range(50)]
"""People see B as worse; the judge sees it as better."""


def compared(given_a: Sequence[HumanLabel], given_b: Sequence[HumanLabel]) -> Comparison:
    runs = run("a", JUDGE_A), run("b", JUDGE_B)
    return correct_changes(compare(*runs, cluster="id"), runs, (given_a, given_b))


def found_in(comparison: Comparison) -> CorrectedDifference:
    found = comparison.metric_changes[0].corrected
    assert found is not None
    return found


def test_labels_of_both_runs_correct_the_difference() -> None:
    comparison = compared(labels(PEOPLE_A), labels(PEOPLE_B))
    found, change = found_in(comparison), comparison.metric_changes[0]
    assert change.difference is not None
    assert change.difference > 0
    assert found.mean == pytest.approx(sum(PEOPLE_B) / 50 - sum(PEOPLE_A) / 50, abs=0.04)
    assert found.interval is not None
    assert found.interval[1] < 0
    assert found.labels == (50, 50)
    assert change.to_dict()["corrected"] == vars(found)


def test_the_corrected_difference_decides_if_it_is_asked() -> None:
    comparison = compared(labels(PEOPLE_A), labels(PEOPLE_B))
    assert find_regressions(comparison).beyond == ()
    corrected = find_regressions(comparison, corrected=True)
    assert [change.metric for change in corrected.beyond] == [NAME]
    assert corrected.doubts == ()
    lenient = find_regressions(comparison, corrected=True, min_effect=0.5)
    assert (lenient.beyond, len(lenient.within)) == ((), 1)


def test_too_few_labels_have_no_difference() -> None:
    comparison = compared(labels(PEOPLE_A), labels(PEOPLE_B[:10]))
    found = found_in(comparison)
    assert found.mean is None
    assert found.problem == "run b: it has 10 labelled rows, and gates need 20; label more"
    assert found.problem in find_regressions(comparison, corrected=True).doubts[0]


def test_without_labels_there_is_nothing_to_correct() -> None:
    comparison = compared([], [])
    assert comparison.metric_changes[0].corrected is None
    assert "no labels" in find_regressions(comparison, corrected=True).doubts[0]


def test_labels_of_a_partial_run_have_no_place() -> None:
    runs = run("a", JUDGE_A), run("b", JUDGE_B, partial=True)
    comparison = correct_changes(compare(*runs), runs, (labels(PEOPLE_A), labels(PEOPLE_B)))
    assert found_in(comparison).problem == "run b is partial"


def test_labels_of_claims_and_of_responses_are_not_compared() -> None:
    whole = [replace(each, claim=None) for each in labels(PEOPLE_A)]
    found = found_in(compared(labels(PEOPLE_A), whole))
    assert found.problem == "one run has labels of claims, the other of whole responses"


def test_only_pairs_scored_in_both_runs_are_corrected() -> None:
    # A has no score of the rows that are bad in B
    good, bad = [True] * 60, [False] * 20
    a, b = run("a", good), run("b", good + bad)
    people = labels([True] * 50)
    found = found_in(correct_changes(compare(a, b, cluster="id"), (a, b), (people, people)))
    assert found.mean == pytest.approx(0, abs=1e-9)
    unscored = Runs.of(
        {NAME: [*scores_of(good), *[Score.undefined("no claims")] * 20]},
        run_id="a",
        judge_setups={NAME: "setup"},
        plan={"cluster": "id"},
    )
    runs = unscored, b
    found = found_in(correct_changes(compare(*runs, cluster="id"), runs, (people, people)))
    assert found.mean == pytest.approx(0, abs=1e-9)


def test_a_pass_mark_changes_no_corrected_difference() -> None:
    marked = f"{NAME},threshold=0.8"
    made = [
        Runs.of(
            {marked: scores_of(verdicts)},
            run_id=name,
            judge_setups={marked: "setup"},
            plan={"cluster": "id"},
        )
        for name, verdicts in (("a", JUDGE_A), ("b", JUDGE_B))
    ]
    people = [[replace(each, metric=marked) for each in labels(PEOPLE_A)]] * 2
    found = found_in(correct_changes(compare(*made, cluster="id"), made, people))
    assert found.problem is None
