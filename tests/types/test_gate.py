import math

import pytest
from tests.cases import count_scores, each_case

from ragstone.errors import Cause, UsageError
from ragstone.types.gate import EPSILON, FLAGS, Gate, Op, gate, share
from ragstone.types.score import Correction, Score, Summary


def summary(*values: float) -> dict[str, Summary]:
    return {"hit@5": count_scores([Score.scored(value) for value in values]).summary()}


@each_case(
    ("op", "mark", "value", "passed"),
    [
        (">=", 0.8, math.nextafter(0.8, 0), True),  # what adding 0.1 eight times may give
        (">=", 0.8, 0.8 - EPSILON / 2, True),
        (">=", 0.8, 0.8 - EPSILON * 2, False),
        ("<=", 0.1, 0.1 + EPSILON / 2, True),
        ("<=", 0.1, 0.1 + EPSILON * 2, False),
    ],
)
def test_a_mean_is_held_against_the_mark(op: Op, mark: float, value: float, passed: bool) -> None:
    result = Gate(metric="hit@5", op=op, threshold=mark).check(summary(value))
    assert (result.passed, result.value) == (passed, value)
    shown = f"{value:.4f} is" if passed else f"{value} is not"
    assert str(result) == f"hit@5 {shown} {op} {mark}"


def test_a_mean_over_nothing_neither_passes_nor_fails() -> None:
    failed = {"hit@5": count_scores([Score.failed(Cause.TIMEOUT, "late")]).summary()}
    for op in (">=", "<="):
        for summaries in ({}, summary(), failed):
            result = Gate(metric="hit@5", op=op, threshold=0).check(summaries)
            assert (result.passed, result.value) == (None, None)
            assert str(result) == f"hit@5: nothing was scored, so {op} 0 cannot be checked"
    result = Gate(metric="hit@5", op=">=", of="interval", threshold=0.5).check(summary(1.0))
    assert result.passed is None
    assert str(result) == "hit@5: too few rows were scored, so >= 0.5 cannot be checked"


@each_case(
    ("text", "number"),
    [
        ("0.1", 0.1), ("10%", 0.1), (" 10 % ", 0.1), ("1", 1.0), ("100%", 1.0), (".5", 0.5),
        ("5.", 5.0), ("-1", -1.0), ("+0.5", 0.5), ("1e-2", 0.01), ("0", 0.0),
    ],
)  # fmt: skip
def test_a_share_is_a_number_or_per_cent(text: str, number: float) -> None:
    assert share(text) == pytest.approx(number, abs=1e-15)


@each_case("text", ["", "%", "nan", "inf", "1e999", "ten", "0,8", "1 2", "0x1", "1%%"])
def test_a_share_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a number; use 0\.8 or 80%"):
        share(text)


@each_case("text", ["", "hit", "0.8", "=0.8", " =0.8"])
def test_what_is_no_gate_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="; use METRIC=VALUE"):
        gate(text, ">=")
    with pytest.raises(UsageError, match="'high' is not a number"):
        gate("hit=high", "<=")


@each_case(
    ("op", "mark", "passed", "says"),
    [
        (">=", 0.44, True, " 0.8000 (0.4439 to 0.9748) is >= 0.44"),
        ("<=", 0.44, False, " 0.8000 (0.4439 to 0.9748) is not <= 0.44"),
        (">=", 0.5, None, ", so >= 0.5 is undecided: ask about 5 more questions"),
        ("<=", 0.5, None, ", so <= 0.5 is undecided: ask about 5 more questions"),
        (">=", 0.8, None, "the mean is on the threshold, so more questions cannot decide it"),
    ],
)
def test_an_interval_decides_as_a_whole(
    op: Op, mark: float, passed: bool | None, says: str
) -> None:
    found = summary(*[1.0] * 8, 0.0, 0.0)  # 8 of 10: exact, 0.44 to 0.97
    result = Gate(metric="hit@5", op=op, of="interval", threshold=mark).check(found)
    assert (result.value, result.passed) == (0.8, passed)
    assert str(result).startswith("hit@5")
    assert str(result).endswith(says)
    assert result.model_dump() == result.model_dump(include={*Gate.model_fields, "value", "passed"})


@each_case(
    ("rows", "mark", "passed", "says"),
    [
        (200, 0.76, True, "hit@5 0.8400 corrected (0.7600 to 0.9000) is >= 0.76"),
        (200, 0.91, False, "hit@5 0.8400 corrected (0.7600 to 0.9000) is not >= 0.91"),
        # below the mean, (0.84 - 0.76)² / (0.84 - 0.79)² = 2.56 times the labels are needed
        (200, 0.79, None, "so >= 0.79 is undecided: label about 32 more rows"),
        (200, 0.82, None, ": label the other 180 rows, which may be too few"),
        (200, 0.84, None, "the mean is on the threshold, so more labels cannot decide it"),
        (20, 0.8, None, "all rows are labelled, so it takes more questions"),
    ],
)
def test_a_corrected_interval_decides_as_a_whole(
    rows: int, mark: float, passed: bool | None, says: str
) -> None:
    found = Correction(calibration="mia", mean=0.84, interval=(0.76, 0.90), judge=0.9, labels=20)
    scores = summary(*[0.9] * rows)["hit@5"].model_copy(update={"corrected": found})
    result = Gate(metric="hit@5", op=">=", of="corrected", threshold=mark).check({"hit@5": scores})
    assert (result.value, result.passed) == (0.84, passed)
    assert str(result).endswith(says)


@each_case(("failed", "passed"), [(1, True), (2, False)])
def test_the_share_that_was_scored_is_held_against_a_mark(failed: int, passed: bool) -> None:
    scores = [Score.scored(1.0)] * (10 - failed) + [Score.failed(Cause.TIMEOUT, "late")] * failed
    found = {"hit@5": count_scores(scores).summary()}
    result = gate("hit@5=90%", *FLAGS["min_coverage"]).check(found)
    assert (result.value, result.passed) == (1 - failed / 10, passed)
    word = "is" if passed else "is not"
    said = f"the share of rows scored by hit@5, {1 - failed / 10:.4f}, {word} >= 0.9"
    assert str(result) == said


@each_case(
    ("mean", "corrected", "passed"),
    [(0.89, 0.80, None), (0.89, 0.88, True), (0.70, 0.90, None), (0.70, 0.75, False)],
)
def test_a_mean_that_labels_contradict_is_undecided(
    mean: float, corrected: float, passed: bool | None
) -> None:
    found = Correction(
        calibration="mia", mean=corrected, interval=(corrected - 0.08, corrected + 0.07), judge=mean
    )
    scores = summary(mean)["hit@5"].model_copy(update={"corrected": found})
    result = Gate(metric="faithfulness", op=">=", threshold=0.85).check({"faithfulness": scores})
    assert result.passed is passed
    if passed is None:
        assert f"the judge's mean is {mean:.2f}, but corrected with labels it is" in str(result)
        assert str(result).endswith("so >= 0.85 is undecided")


def test_scores_that_a_policy_imputed_decide_nothing() -> None:
    imputed = Score.scored(0.5).model_copy(update={"fallback": True})
    for scores, passed in (([imputed, imputed], None), ([imputed, Score.scored(0.9)], True)):
        made = {"hit@5": count_scores(scores).summary()}
        assert Gate(metric="hit@5", op=">=", threshold=0.4).check(made).passed is passed
