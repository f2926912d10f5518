"""Differences that people's labels show, whatever the judge does."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from tests.cases import each_case
from tests.results.conftest import Runs, draw_in_order

from ragstone.results.comparison import Comparison, compare, correct_changes, find_regressions
from ragstone.results.paired import CorrectedDifference
from ragstone.results.run import Run
from ragstone.types.claim import Label as Verdict
from ragstone.types.label import HumanLabel

NAME = "faithfulness"
N = 80


def run(name: str, verdicts: Sequence[bool | None], metric: str = NAME, **options: Any) -> Run:
    """Return a run of one claim per row with these verdicts of the judge."""
    labels = {True: Verdict.SUPPORTED, False: Verdict.CONTRADICTED}
    scores = [
        Runs.failed() if each is None else Runs.claimed(each, Runs.claim("A.", labels[each]))
        for each in verdicts
    ]
    fields = {"judge_setups": {metric: "setup"}, "plan": {"cluster": "id"}}
    return Runs.of({metric: scores}, run_id=name, **fields, **options)


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.results.calibration.draw_key", draw_in_order)


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


def compared(
    given_a: Sequence[HumanLabel], given_b: Sequence[HumanLabel], *runs: Run
) -> Comparison:
    runs = runs or (run("a", JUDGE_A), run("b", JUDGE_B))
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


WHOLE = [replace(each, claim=None) for each in labels(PEOPLE_A)]


@each_case(
    ("given_b", "partial", "problem"),
    [
        (labels(PEOPLE_B[:10]), False, "run b: it has 10 labelled rows, and gates need 20; label"),
        (labels(PEOPLE_B), True, "run b is partial"),
        (WHOLE, False, "one run has labels of claims, the other of whole responses"),
    ],
)
def test_labels_must_fit(given_b: list[HumanLabel], partial: bool, problem: str) -> None:
    runs = run("a", JUDGE_A), run("b", JUDGE_B, partial=partial)
    comparison = compared(labels(PEOPLE_A), given_b, *runs)
    found = found_in(comparison)
    assert found.mean is None
    assert (found.problem or "").startswith(problem)
    assert (found.problem or "") in " ".join(find_regressions(comparison, corrected=True).doubts)
    none = compared([], [])
    assert none.metric_changes[0].corrected is None
    assert "no labels" in find_regressions(none, corrected=True).doubts[0]


def test_only_pairs_scored_in_both_runs_are_corrected() -> None:
    good, bad = [True] * 60, [False] * 20
    people, b = labels([True] * 50), run("b", good + bad)
    for a in (run("a", good), run("a", [*good, *[None] * 20])):  # no score of the bad rows
        assert found_in(compared(people, people, a, b)).mean == pytest.approx(0, abs=1e-9)


def test_a_pass_mark_changes_no_corrected_difference() -> None:
    marked = f"{NAME},threshold=0.8"
    people = [replace(each, metric=marked) for each in labels(PEOPLE_A)]
    runs = run("a", JUDGE_A, marked), run("b", JUDGE_B, marked)
    assert found_in(compared(people, people, *runs)).problem is None
