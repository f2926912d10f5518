from collections.abc import Callable

import pytest
from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.reports.insights import checked_metrics, shortfall
from ragstone.results.run import Run
from ragstone.types.gate import Gate, Of, Op
from ragstone.types.score import Score

MakeRun = Callable[..., Run]
FAITHFULNESS = get("faithfulness").described


def test_without_gates_and_pass_marks_every_metric_is_held(make_run: MakeRun) -> None:
    assert checked_metrics(make_run()) == ("hit@5", "f1@5", "faithfulness")


def test_with_a_gate_or_a_pass_mark_only_those_are(make_run: MakeRun) -> None:
    gate = Gate(metric="f1@5", op=">=", threshold=0.5)
    assert checked_metrics(make_run(gates=[gate])) == ("f1@5",)
    rows = make_run().rows
    marked = rows[0].scores["hit@5"].model_copy(update={"threshold": 0.5, "passed": True})
    scores = {**rows[0].scores, "hit@5": marked}
    run = make_run([type(rows[0])(0, rows[0].sample, scores=scores)], gates=[gate])
    assert checked_metrics(run) == ("hit@5", "f1@5")


@each_case(
    ("value", "op", "of", "expected"),
    [
        (0.5, ">=", "mean", "0.5000 is not >= 0.8, the threshold of the gate on the mean"),
        (0.5, ">=", "interval", "0.5000 is not >= 0.8, the threshold of the gate on the interval"),
        (0.5, ">=", "scored", None),
        (0.8, ">=", "mean", None),
        (0.9, "<=", "mean", "0.9000 is not <= 0.8, the threshold of the gate on the mean"),
        (0.1 + 0.7, "<=", "mean", None),
    ],
)
def test_a_score_is_held_against_the_gates(
    value: float, op: Op, of: Of, expected: str | None
) -> None:
    gate = Gate(metric="faithfulness", op=op, threshold=0.8, of=of)
    assert shortfall(Score.scored(value), FAITHFULNESS, [gate]) == expected


def test_its_own_pass_mark_goes_before_the_gates() -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8)
    passing = Score.scored(0.6).model_copy(update={"threshold": 0.5, "passed": True})
    assert shortfall(passing, FAITHFULNESS, [gate]) is None
    failing = passing.model_copy(update={"passed": False})
    assert shortfall(failing, FAITHFULNESS, []) == "pass mark missed: 0.6000 is not >= 0.5"


@pytest.mark.parametrize("score", [Score.undefined("x"), Score.failed(Cause.TIMEOUT, "x")])
def test_what_has_no_number_falls_short_of_nothing(score: Score) -> None:
    gate = Gate(metric="faithfulness", op=">=", threshold=0.8)
    assert shortfall(score, FAITHFULNESS, [gate]) is None
