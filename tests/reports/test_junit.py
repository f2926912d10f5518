import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import pytest
from junitparser import JUnitXml, TestCase, TestSuite
from lxml import etree

from ragstone.errors import UsageError
from ragstone.reports.junit import write_junit
from ragstone.reports.view import title
from ragstone.results.run import Run
from ragstone.types.gate import Gate
from ragstone.types.row import Row

MakeRun = Callable[..., Run]
XSD = etree.XMLSchema(file=str(Path(__file__).with_name("junit.xsd")))
Told = dict[str, tuple[str, str, str] | None]
"""Test -> what was found: its kind, type and message; None where it passed."""


def suites(run: Run, folder: Path) -> dict[str, TestSuite]:
    """Write a run, hold it against the schema, and read it back as a CI service would."""
    path = folder / "junit.xml"
    write_junit(run, path)
    XSD.assertValid(etree.parse(str(path)))
    read = JUnitXml.fromfile(str(path))
    found = {suite.name: suite for suite in read}
    for suite in found.values():
        cases = list(suite)
        kinds = [result.tag for case in cases for result in results(case)]
        counted = (suite.failures, suite.errors, suite.skipped)
        assert counted == tuple(map(kinds.count, ("failure", "error", "skipped")))
        assert suite.tests == len(cases)
    assert read.tests == sum(suite.tests for suite in found.values())
    return found


def results(case: TestCase) -> list[object]:
    return [child for child in case._elem if isinstance(child.tag, str)]  # type: ignore[misc]


def told(suite: TestSuite) -> Told:
    return {
        case.name: next(
            ((each.tag, each.get("type"), each.get("message")) for each in results(case)),
            None,  # type: ignore[attr-defined]
        )
        for case in suite
    }


def test_a_test_a_sample_and_one_a_gate(make_run: MakeRun, tmp_path: Path) -> None:
    gates = [
        Gate(metric="faithfulness", op=">=", threshold=0.3),
        Gate(metric="faithfulness", op=">=", threshold=0.5, of="scored"),
    ]
    found = suites(make_run(gates=gates), tmp_path)
    assert list(found) == ["run", "faithfulness"]
    verdict = told(found["run"])["verdict"]
    assert verdict is not None
    assert verdict[:2] == ("failure", "verdict")
    assert verdict[2].startswith("✗ 1 of 2 gates failed: faithfulness 0.2500 is not >= 0.3; 2 of 2")
    assert told(found["faithfulness"]) == {
        "q1": None,
        "q2": (
            "failure",
            "threshold",
            "0.0000 is not >= 0.3, the threshold of the gate on the mean",
        ),
        "q3": ("skipped", None, "the response makes no claims"),
        "q4": ("error", "timeout", "timed out: no answer within 30 s"),
        "gate: mean >= 0.3": ("failure", "gate", "faithfulness 0.2500 is not >= 0.3"),
        "gate: scored >= 0.5": None,
    }
    assert {case.classname for case in found["faithfulness"]} == {"faithfulness"}
    assert {each.name: each.value for each in found["faithfulness"].properties()} == {
        "run": "20260301-123005-abc123",
        "dataset": "qr.xlsx",
        "verdict": title(make_run(gates=gates)),
        "target": "http://localhost:8000",
        "judge": "offline",
        "policy": "strict",
        "mean": "0.2500",
        "interval": "0.0059 – 0.8873",
    }


def test_a_failure_shows_the_texts_and_the_failing_claims(
    make_run: MakeRun, tmp_path: Path
) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8)
    [_, suite] = suites(make_run(gates=[gate]), tmp_path).values()
    [failure] = results(next(iter(suite)))
    assert failure.text == (  # type: ignore[attr-defined]
        "query: How long does battery 1 last?\n"
        "response: It lasts 20 hours. It charges in 60 minutes.\n"
        "CONTRADICTED: It charges in 60 minutes. (The context says 75 minutes.)"
    )


def test_without_gates_and_marks_every_metric_is_a_suite_in_which_numbers_pass(
    make_run: MakeRun, tmp_path: Path
) -> None:
    found = suites(make_run(), tmp_path)
    assert list(found) == ["run", "hit@5", "f1@5", "faithfulness"]
    assert [suite.failures for suite in found.values()] == [0, 0, 0, 0]


def test_a_gate_that_cannot_be_told_is_an_error(make_run: MakeRun, tmp_path: Path) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.3)
    [_, suite] = suites(make_run(make_run().rows[2:], gates=[gate]), tmp_path).values()
    finding = told(suite)["gate: mean >= 0.3"]
    assert finding is not None
    assert finding[0] == "error"
    assert finding[2].startswith("faithfulness: nothing was scored")


def test_a_gate_of_an_inconclusive_run_is_skipped(make_run: MakeRun, tmp_path: Path) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.1)
    [_, suite, *_] = suites(make_run(gates=[gate], max_failure_rate=0.1), tmp_path).values()
    finding = told(suite)["gate: mean >= 0.1"]
    assert finding is not None
    assert (finding[0], finding[2][:26]) == ("skipped", "inconclusive: faithfulness")


def test_a_number_that_the_policy_made_up_is_an_error(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[0]
    made_up = row.scores["faithfulness"].model_copy(update={"fallback": True, "reason": "odd"})
    run = make_run([replace(row, scores={"faithfulness": made_up})], names=("faithfulness",))
    [_, suite] = suites(run, tmp_path).values()
    assert told(suite) == {"q1": ("error", "imputed", "0.5000 imputed by the policy: odd")}


def test_a_run_that_was_stopped_has_an_error(make_run: MakeRun, tmp_path: Path) -> None:
    found = suites(make_run(partial=True), tmp_path)
    finding = told(found["run"])["verdict"]
    assert finding is not None
    assert finding[0] == "error"
    assert finding[2].startswith("✗ the run stopped early; 4 of 4 rows evaluated; ")


def test_a_run_without_metrics_has_no_suites(make_run: MakeRun, tmp_path: Path) -> None:
    assert list(suites(make_run([], names=()), tmp_path)) == ["run"]


def test_what_cannot_be_written_is_said(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_junit(make_run(), tmp_path)


class Repeated(Sequence[Row]):
    """A row again and again, as if read from a store."""

    def __init__(self, row: Row, times: int) -> None:
        self.row, self.times = row, times

    def __len__(self) -> int:
        return self.times

    def __iter__(self) -> Iterator[Row]:
        return (replace(self.row, index=index) for index in range(self.times))

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        raise NotImplementedError


def test_rows_are_not_gathered(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run()
    row = run.rows[1]
    long = row.sample.model_copy(update={"response": "x" * 10_000})
    rows = Repeated(replace(row, sample=long), 5000)
    gate = Gate(metric="faithfulness", op=">=", threshold=0.3)
    many = replace(make_run(gates=[gate]), rows=rows)
    assert many.summary()  # the counts is another's memory
    tracemalloc.start()
    write_junit(many, tmp_path / "many.xml")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "many.xml").stat().st_size > 5_000_000
    assert peak < 2_000_000
