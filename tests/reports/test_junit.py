import tracemalloc
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from junitparser import JUnitXml, TestCase, TestSuite
from lxml import etree
from tests.cases import each_case
from tests.reports.conftest import MakeRun
from tests.results.conftest import Runs

from ragstone.reports.junit import write_junit
from ragstone.reports.view import title
from ragstone.results.run import Run
from ragstone.types.gate import Gate
from ragstone.types.score import Score

XSD = etree.XMLSchema(file=str(Path(__file__).with_name("junit.xsd")))
Told = dict[str, tuple[str, str, str] | None]
"""Test -> what was found: its kind, type and message; None where it passed."""
GATE = "gate: mean >= 0.1"


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
    why = "0.0000 is not >= 0.3, the threshold of the gate on the mean"
    assert told(found["faithfulness"]) == {
        "q1": None,
        "q2": ("failure", "threshold", why),
        "q3": ("skipped", None, "the response makes no claims"),
        "q4": ("error", "timeout", "timed out: no answer within 30 s"),
        "gate: mean >= 0.3": ("failure", "gate", "faithfulness 0.2500 is not >= 0.3"),
        "gate: scored >= 0.5": None,
    }
    [failure] = results([*found["faithfulness"]][1])
    assert failure.text == (  # type: ignore[attr-defined]
        "query: How long does battery 2 last?\n"
        "response: It lasts 20 hours. It charges in 60 minutes.\n"
        "CONTRADICTED: It charges in 60 minutes. (The context says 75 minutes.)"
    )
    assert {case.classname for case in found["faithfulness"]} == {"faithfulness"}
    properties = {each.name: each.value for each in found["faithfulness"].properties()}
    assert properties.pop("verdict") == title(make_run(gates=gates))
    assert properties == {
        "run": "20260301-123005-abc123",
        "dataset": "qr.xlsx",
        "target": "http://localhost:8000",
        "judge": "offline",
        "policy": "strict",
        "mean": "0.2500",
        "interval": "0.0059 – 0.8873",
    }


@each_case(
    ("options", "suite", "test", "kind", "words"),
    [
        ({"partial": True}, "run", "verdict", "error", "✗ the run stopped early; 4 of 4 rows "),
        ({"max_failure_rate": 0.1}, "faithfulness", GATE, "skipped", "inconclusive: faithfulness"),
        ({"rows": 2}, "faithfulness", GATE, "error", "faithfulness: nothing was scored"),
    ],
)
def test_what_is_not_known_does_not_pass(
    make_run: MakeRun, options: Any, suite: str, test: str, kind: str, words: str
) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.1)
    rows = make_run().rows[options.pop("rows", 0) :]
    with TemporaryDirectory() as folder:
        finding = told(suites(make_run(rows, gates=[gate], **options), Path(folder))[suite])[test]
    assert finding is not None
    assert finding[0] == kind
    assert finding[2].startswith(words)


def test_without_gates_numbers_pass_unless_imputed(make_run: MakeRun, tmp_path: Path) -> None:
    found = suites(make_run(), tmp_path)
    assert list(found) == ["run", "hit@5", "f1@5", "faithfulness"]
    assert [suite.failures for suite in found.values()] == [0, 0, 0, 0]
    made_up = Score.scored(0.5).model_copy(update={"fallback": True, "reason": "odd"})
    [_, suite] = suites(Runs.of({"faithfulness": [made_up]}), tmp_path).values()
    assert told(suite) == {"q0": ("error", "imputed", "0.5000 imputed by the policy: odd")}


def test_rows_are_not_gathered(make_run: MakeRun, tmp_path: Path) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.3)
    run = make_run(gates=[gate])
    long = run.rows[1].sample.model_copy(update={"response": "x" * 10_000})
    many = replace(run, rows=[replace(run.rows[1], sample=long)] * 2500)
    assert many.summary()  # the counts is another's memory
    tracemalloc.start()
    write_junit(many, tmp_path / "many.xml")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    size = (tmp_path / "many.xml").stat().st_size
    assert size > 2_500_000
    assert peak < size / 3
