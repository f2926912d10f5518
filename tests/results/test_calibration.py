"""Calibrations: labels of a run, the means that they correct, and when they decide no gate."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cases import each_case
from tests.results.conftest import Runs, draw_in_order

from ragstone.errors import UsageError
from ragstone.results.calibration import MIN_ROWS, Calibration, load_calibration
from ragstone.results.run import Run
from ragstone.results.stats.labels import LabelledScores, corrected_mean
from ragstone.types.claim import Label as Verdict
from ragstone.types.config import ORIGIN
from ragstone.types.gate import Gate
from ragstone.types.label import HumanLabel
from ragstone.types.sample import Sample
from ragstone.types.score import ALL_SUPPORTED, MEAN_SUPPORT, Correction, Score

AT = datetime(2026, 2, 20, tzinfo=UTC)
NAME = "faithfulness"
NOT_THE_SHARE = "does not score the share of supported claims"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def scores(supported: Sequence[float]) -> list[Score]:
    """Return a score of one claim for each probability of support."""
    found: list[Score] = []
    for support in supported:
        label = Verdict.SUPPORTED if support >= 0.5 else Verdict.NOT_ENOUGH_INFO
        claim = Runs.claim("A.", label).model_copy(update={"confidence": max(support, 1 - support)})
        detail = {ALL_SUPPORTED: support, MEAN_SUPPORT: support}
        found.append(Score.scored(float(support >= 0.5), detail=detail, claims=[claim]))
    return found


def of(made: Sequence[Score], name: str = NAME, **options: Any) -> Run:
    """Return a run of one metric's scores, whose rows are independent."""
    fields: dict[str, Any] = {"judge_setups": {name: "setup"}, "plan": {"cluster": "id"}}
    return Runs.of({name: made}, **fields | options)


def run(n: int = 100, **options: Any) -> Run:
    """Return a run of n rows, 80 % of which the judge calls supported."""
    made = [0.1 if place % 5 == 0 else 0.5 + place % 5 / 10 for place in range(n)]
    return of(scores(made), **options)


@pytest.fixture(autouse=True)
def in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.results.calibration.draw_key", draw_in_order)


def labels(n: int, *, wrong: int = 7, claim: int | None = 0) -> list[HumanLabel]:
    """Return labels of the first n rows; people disagree with the judge on every seventh."""
    values = [(place % 5 != 0) != (place % wrong == 0) for place in range(n)]
    return [
        HumanLabel("a", place, f"q{place}", NAME, claim, value, "ana", AT, blind=True)
        for place, value in enumerate(values)
    ]


def corrected(calibrated: Calibration, new: Run, name: str = NAME) -> Any:
    found = calibrated.correct(name, new.manifest, new.counts, new.rows)
    assert found is not None
    return found


def test_labels_correct_the_mean_of_their_run() -> None:
    labelled = run()
    found = corrected(labelled.calibrate(labels(70), "mine"), labelled)
    # 48 of 56 are right if the judge agrees, 2 of 14 if not
    assert found.mean == pytest.approx(0.8 * 48 / 56 + 0.2 * 2 / 14, abs=0.02)
    assert found.interval[0] < 0.71 < found.interval[1]
    assert (found.labels, found.problem) == (70, None)


def test_agreement_has_a_table_and_shares() -> None:
    found = run().calibrate(labels(70), "mine").metrics[NAME]
    table, figures = found.table, found.agreement
    assert (table.both, table.first_only, table.second_only, table.neither) == (48, 8, 2, 12)
    names = ("sensitivity", "specificity", "share", "kappa", "ac1")
    ranges = ("0.0 to 0.2", "0.6 to 0.8", "0.8 to 1.0")
    assert tuple(figures) == (*names, *ranges)
    means = [figure and round(figure.mean, 3) for figure in figures.values()]
    assert means == [0.96, 0.6, 0.857, 0.615, 0.774, 0.143, 0.857, 0.857]
    assert figures["sensitivity"] is not None
    # Jeffreys: the quantiles of a beta with 48.5 and 2.5
    assert figures["sensitivity"].interval == pytest.approx((0.876, 0.992), abs=0.004)


def test_claims_of_a_row_count_once() -> None:
    given = [4] * 20 + [2] * 20
    people = claim_labels(given)
    clustered = of(graded(given)).calibrate(people, "mine").metrics[NAME].agreement["share"]
    # of four claims 16 of 20 are right in rows of 4, and 9 of 10 in rows of 2
    assert clustered is not None
    assert clustered.mean == pytest.approx((64 + 72) / 160)
    one = [replace(each, claim=0, position=place) for place, each in enumerate(people)]
    single = of(scores([0.9 if n % 4 < given[n // 4] else 0.1 for n in range(160)]))
    independent = single.calibrate(one, "mine").metrics[NAME].agreement["share"]
    assert independent is not None
    assert clustered.mean == pytest.approx(independent.mean)
    assert np.ptp(clustered.interval) != pytest.approx(np.ptp(independent.interval), rel=0.02)
    given = [place % 5 for place in range(40)]
    people = claim_labels(given)
    labelled = of(graded(given))
    found = corrected(labelled.calibrate(people, "mine"), labelled)
    assert found.mean == pytest.approx(sum(bool(each.value) for each in people) / len(people))


def test_rows_with_some_labels_do_not_count() -> None:
    given = [4] * 30
    labelled, people = of(graded(given)), claim_labels(given)
    first = [each for each in people if each.claim == 0 or each.position >= 22]
    found = corrected(labelled.calibrate(first, "mine"), labelled)
    assert found.labels == 8
    assert found.problem == (
        "it has 8 labelled rows, and gates need 20; 22 of the first 30 rows drawn have no label "
        "that counts; label more"
    )
    unsure = [replace(people[0], value=None), *people[1:]]
    assert labelled.calibrate(unsure, "mine").metrics[NAME].gaps.startswith("1 of the first 30 ")
    with pytest.raises(UsageError, match="no row whose labels decide: they are ties, of some of"):
        labelled.calibrate([each for each in people if each.claim == 0], "mine")


def test_probabilities_make_the_interval_narrower() -> None:
    """People support a claim as often as the judge's probability has it."""
    rng = np.random.default_rng(5)
    support = [round(float(x), 3) for x in rng.random(400)]
    new = of(scores(support))
    people = [
        replace(each, value=bool(rng.random() < support[each.position])) for each in labels(100)
    ]
    calibrated = new.calibrate(people, "mine")
    found = corrected(calibrated, new)
    plain = of([each.model_copy(update={"detail": {}}) for each in scores(support)])
    assert np.ptp(found.interval) < 0.97 * np.ptp(corrected(calibrated, plain).interval)
    name = f"{NAME}:expected"
    pairs = zip(scores(support), support, strict=True)
    expected = of([each.model_copy(update={"value": x}) for each, x in pairs], name)
    of_it = expected.calibrate([replace(each, metric=name) for each in people], "mine")
    result = corrected(of_it, expected, name)
    assert (result.mean, result.interval) == (found.mean, found.interval)


OTHER = {"name": "new.xlsx", "fingerprint": "0" * 64, "rows": 100}
"""The source of other answers."""


@each_case(
    ("labelled", "other"),
    [
        ({}, {"source": OTHER}),
        ({"target": "rag"}, {"target": "rag"}),  # its answers differ between runs
        ({"plan": {"cluster": "id", "limit": 80}}, {}),
        ({"plan": {"columns": {"response": "a"}}}, {"plan": {"columns": {"response": "b"}}}),
    ],
)
def test_labels_of_others_correct_nothing(labelled: dict[str, Any], other: dict[str, Any]) -> None:
    mine = run(**labelled)
    calibrated = mine.calibrate(labels(70), "mine")
    assert corrected(calibrated, mine).problem is None
    new = run(run_id="b", **other)
    found = corrected(calibrated, new)
    assert (found.mean, found.interval) == (None, None)
    # people support 50 of the 70 labelled rows, and the judge 56
    assert (found.judge, found.shifted) == (0.8, pytest.approx(0.8 - 6 / 70))
    assert found.problem == (
        f"its labels are of run a (data.xlsx), not of this run of {new.manifest.source.name}; "
        "label 20 to 30 rows of this one with `ragstone labels start RUN --n 80`, and then use "
        "`ragstone labels calibrate RUN`"
    )


def test_another_run_of_the_same_answers_has_the_same_labels() -> None:
    calibrated, again = run().calibrate(labels(70), "mine"), run(run_id="c")
    assert calibrated.of_another_run(again.manifest) is None
    assert corrected(calibrated, again) == corrected(calibrated, run())
    other_head = run(run_id="c", plan={"cluster": "id", "header_row": 3})
    assert calibrated.of_another_run(other_head.manifest) is not None
    mine, rescored = run(target="rag"), run(run_id="c", target="rag").manifest
    identity = {**rescored.identity, ORIGIN: mine.manifest.run_id}
    rescored = rescored.model_copy(update={"identity": identity})
    assert mine.calibrate(labels(70), "mine").of_another_run(rescored) is None


def test_changed_rows_are_noticed() -> None:
    labelled = run()
    calibrated = labelled.calibrate(labels(70), "mine")
    rows = [*labelled.rows]
    other = Sample.model_validate({"id": "q3", "query": "?", "response": "Another answer."})
    rows[3] = replace(rows[3], sample=other)
    rows[5] = replace(rows[5], scores={NAME: scores([0.9])[0]})
    for changed in (rows, rows[:3] + rows[4:]):
        found = corrected(calibrated, Run(labelled.manifest, labelled.metrics, changed))
        assert found.mean is None
        assert found.problem == (
            "2 of its 70 labelled rows changed since; label them again, and then use `ragstone "
            "labels calibrate a`"
        )


def test_a_stored_run_with_labels_of_another_run_has_the_mean_of_the_judge() -> None:
    run().calibrate(labels(70), "mine").save()
    gate = Gate(metric=NAME, op=">=", threshold=0.6, of="corrected")
    plan = {"calibration": "mine", "cluster": "id", "gates": [gate]}
    stored = run(run_id="b", source=OTHER, plan=plan)
    summary = stored.summary()[NAME]
    assert summary.mean == 0.8
    assert summary.corrected is not None
    assert summary.corrected.mean is None
    assert stored.gates()[0].passed is None
    assert "calibration mine cannot decide (its labels are of run a" in stored.troubles[0]
    assert stored.to_dict()
    gates = [Gate(metric="hit@5", op=">=", threshold=0.6, of="corrected")]
    unjudged = Runs.of({"hit@5": [1.0, 0.0, 1.0]}, plan={"gates": gates}).gates()[0]
    assert (unjudged.of, unjudged.passed) == ("mean", True)


def test_another_judge_prompt_or_policy_has_no_corrected_mean_and_a_pass_mark_is_none() -> None:
    calibrated = run().calibrate(labels(70), "mine")
    deepeval = f"{NAME}:deepeval"
    for name, new, why in (
        (NAME, run(judge="openai:x"), "it is for the judge offline, and this run used openai"),
        (NAME, run(judge_setups={NAME: "new prompt"}), "other prompts or settings"),
        (deepeval, of(scores([0.9] * 30), deepeval), "it is for faithfulness, with another policy"),
    ):
        found = corrected(calibrated, new, name)
        assert found.mean is None
        assert why in found.problem
    marked = f"{NAME},threshold=0.8"
    new = of(scores([0.9] * 100), marked, run_id="b")
    assert corrected(calibrated, new, marked).problem is None
    unlike = Runs.of({"context_recall": [0.5, 0.7]})
    given = unlike.manifest, unlike.counts, unlike.rows
    assert calibrated.correct("context_recall", *given) is None


def test_few_labels_old_labels_and_new_confidences_decide_no_gate() -> None:
    few = run().calibrate(labels(MIN_ROWS - 1), "mine")
    assert "19 labelled rows, and gates need 20" in corrected(few, run()).problem
    calibrated = run().calibrate(labels(70), "mine")
    old = run(plan={"max_age": 5, "cluster": "id"})
    assert "over 5 days before the run (max_age)" in corrected(calibrated, old).problem
    assert corrected(calibrated, run(plan={"max_age": 30, "cluster": "id"})).problem is None
    found = corrected(calibrated, of(scores([0.02] * 50 + [0.8] * 50), run_id="b"))
    outside = "figure for 50% of the rows is outside the labelled range, 0.10 to 0.90"
    assert outside in found.problem
    assert found.mean is not None


def test_a_gate_on_the_corrected_mean() -> None:
    run().calibrate(labels(70), "mine").save()
    plan = {"calibration": "mine", "cluster": "id"}

    def gated(threshold: float, **options: Any) -> Run:
        gate = Gate(metric=NAME, op=">=", threshold=threshold, of="corrected")
        return run(plan=plan | {"gates": [gate]} | options)

    good, close, bad = gated(0.55), gated(0.8), gated(0.9)
    assert good.summary()[NAME].mean == 0.8
    found = [gate.passed for made in (good, close, bad) for gate in made.gates()]
    assert found == [True, None, False]
    assert not bad.troubles
    assert "so >= 0.8 is undecided: label about" in close.troubles[0]
    old = gated(0.6, max_age=1)
    assert old.gates()[0].passed is None
    assert "calibration mine cannot decide (its newest label" in old.troubles[0]
    plain = run(plan={"gates": [Gate(metric=NAME, op=">=", threshold=0.6, of="corrected")]})
    assert "no calibration has labels of it" in plain.troubles[0]


def test_responses_are_labelled_as_a_whole() -> None:
    whole = labels(70, claim=None)
    calibrated = run().calibrate(whole, "mine")
    assert calibrated.metrics[NAME].table.both == 48
    found = corrected(calibrated, run())
    assert (found.of, found.judge) == ("responses", 0.8)
    for more, fewer in ((whole, labels(20)), (labels(60), whole[:20])):  # the kind with more rows
        kept = run().calibrate([*more, *fewer], "mine").metrics[NAME]
        assert kept.of == ("responses" if more is whole else "claims")
    made = scores([0.9] * 60)
    made[::2] = [each.model_copy(update={"claims": ()}) for each in made[::2]]
    odd = [each for each in whole[:60] if each.position % 2]  # only rows with claims are drawn
    assert of(made).calibrate(odd, "mine").metrics[NAME].gaps == ""


def test_annotators_are_a_majority_and_unsure_labels_do_not_count() -> None:
    one = labels(30)
    two = [replace(each, annotator="ben") for each in one]
    two[3] = replace(two[3], value=not one[3].value)  # a tie
    two[4] = replace(two[4], value=None)
    unsure = [*one[:29], replace(one[29], value=None), *two[:29]]
    found = run().calibrate(unsure, "mine").metrics[NAME]
    assert {row.position for row in found.rows} == set(range(29)) - {3}
    assert found.annotators == ("ana", "ben")
    seen = [replace(each, blind=False) for each in one[:4]]
    assert run().calibrate([*seen, *one[4:]], "mine").metrics[NAME].not_blind == 4
    late = AT.replace(year=2027)
    unused = [replace(each, claim=None, annotator="ben", at=late) for each in labels(3)]
    found = run().calibrate([*labels(40), *unused], "mine").metrics[NAME]
    assert (found.labelled_at, found.annotators) == (AT, ("ana",))


@each_case(
    ("made", "given", "why"),
    [
        (scores([0.9]), [], "has no labels: label it with `ragstone labels start a`"),
        (scores([0.9]), [replace(labels(1)[0], metric="hit@5")], "hit@5 cannot be calibrated"),
        (scores([0.9]), [replace(labels(1)[0], metric="hallucinated_claims")], "where 1 is best"),
        ([*scores([0.9]), Score.scored(1.0)], labels(1), NOT_THE_SHARE),
        ([scores([0.1])[0].model_copy(update={"value": 1.0})], labels(1), NOT_THE_SHARE),
    ],
)
def test_what_has_no_calibration(made: list[Score], given: list[HumanLabel], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        of(made).calibrate(given, "mine")


def test_a_calibration_is_a_file(here: Path) -> None:
    made = run().calibrate(labels(30), "mine")
    path = made.save()
    assert path == Path(".ragstone/calibrations/mine.json")
    assert load_calibration("mine") == made
    with pytest.raises(UsageError, match=r"no calibration 'other' in .* \(mine\)"):
        load_calibration("other")
    with pytest.raises(UsageError, match="use letters"):
        load_calibration("../mine")
    missing = run(plan={"calibration": "gone"}).summary()[NAME].corrected
    assert missing is not None
    assert "there is no calibration 'gone'" in (missing.problem or "")
    path.with_name("yours.json").write_text(path.read_text())
    assert load_calibration("yours").name == "yours"
    impossible = r"mine.json is not a calibration .*metrics.faithfulness"
    text = path.read_text()
    for old, new, why in (
        (text, "{}", "is not a calibration of this version"),
        ('"human": 1.0', '"human": 7', impossible),
        ('"human": 1.0', '"human": NaN', impossible),
        ('"position": 1,', '"position": 0,', impossible),
        ('"judge": "offline"', '"judge": "other"', "is not as ragstone wrote it; create it again"),
    ):
        assert old in text
        (here / path).write_text(text.replace(old, new, 1))
        with pytest.raises(UsageError, match=why):
            load_calibration("mine")


def graded(supported: Sequence[int], n: int = 4) -> list[Score]:
    """Return scores of n claims, so many of them supported by the judge."""
    verdicts = [scores([0.9] * count + [0.1] * (n - count)) for count in supported]
    return [
        Score.scored(count / n, claims=[claim for score in made for claim in score.claims])
        for count, made in zip(supported, verdicts, strict=True)
    ]


def claim_labels(supported: Sequence[int], n: int = 4) -> list[HumanLabel]:
    """Return labels of all claims: people reject one claim in five that the judge supports."""
    found: list[HumanLabel] = []
    for one, count in zip(labels(len(supported)), supported, strict=True):
        for claim in range(n):
            value = claim < count and (one.position + claim) % 5 != 0
            found.append(replace(one, claim=claim, value=value))
    return found


def test_rows_left_out_of_the_draw_decide_no_gate() -> None:
    """Whoever labels only rows that look good gets no gate to pass."""

    def problem(given: list[HumanLabel]) -> str | None:
        return corrected(run().calibrate(given, "mine"), run()).problem

    easy = [each for each in labels(60) if each.value]
    why = (
        f"{60 - len(easy)} of the first 60 rows drawn have no label that counts; the others may "
        "be unlike them, so label those, too"
    )
    assert problem(easy) == why
    assert (
        problem([each if each.value else replace(each, value=None) for each in labels(60)]) == why
    )
    against = [replace(each, annotator="ben", value=True) for each in labels(60)]
    assert "of the first 60 rows" in (problem([*labels(60), *against]) or "")
    assert problem([each for each in labels(60) if each.position % 12]) is None


@pytest.mark.slow  # a simulation
@each_case(
    ("labelled", "cells"),  # of 300 rows: people and judge say yes, only people, only judge, none
    [(n, cells) for n in (20, 40) for cells in ((222, 24, 22, 32), (164, 52, 30, 54))],
)
def test_a_system_that_is_too_bad_rarely_passes(
    labelled: int, cells: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragstone.results.stats.labels.DRAWS", 1000)
    threshold = (cells[0] + cells[1]) / 300 + 0.03
    gate = Gate(metric=NAME, op=">=", threshold=threshold, of="corrected")
    summary = Runs.of({NAME: [1.0] * 300}).summary()[NAME]
    human, judge = np.array([1.0, 1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0])
    draws = np.random.default_rng(1).multivariate_hypergeometric(cells, labelled, size=2000)
    passes = by_mean = 0
    for few, times in zip(*np.unique(draws, axis=0, return_counts=True), strict=True):
        run = LabelledScores(
            *(np.repeat(judge, cells), range(300)),
            *(np.repeat(judge, few), np.repeat(human, few)),
            *(np.ones(labelled), range(labelled)),
        )
        found = corrected_mean(run)
        correction = Correction(
            calibration="", mean=found.mean, interval=found.interval, labels=labelled
        )
        passed = gate.check({NAME: summary.model_copy(update={"corrected": correction})}).passed
        passes += times * (passed is True)
        by_mean += times * (found.mean >= threshold)
    assert passes <= 0.03 * 2000
    assert by_mean > 0.2 * 2000
