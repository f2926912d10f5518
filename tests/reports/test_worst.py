from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import overload

from tests.cases import each_case

from ragstone.errors import Cause
from ragstone.reports.insights import WORST, failing_claim, focus_metric, row_at, worst_samples
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.gate import Gate
from ragstone.types.row import Row
from ragstone.types.score import Score

MakeRun = Callable[..., Run]


class Counted(Sequence[Row]):
    """Rows that count how many of them were looked at."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows, self.read = rows, 0

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        self.read += 1
        return self.rows[index]


def numbered(make_run: MakeRun, scores: Sequence[Score], name: str = "faithfulness") -> list[Row]:
    """Return a row for each score, of one metric."""
    row = make_run().rows[0]
    return [
        replace(
            row,
            index=place,
            sample=row.sample.model_copy(update={"id": f"s{place}"}),
            scores={name: score},
        )
        for place, score in enumerate(scores)
    ]


def claim(label: Label, text: str, reason: str | None = None) -> JudgedClaim:
    return JudgedClaim(
        text=text, span=None, label=label, reason=reason, confidence=None, evidence=()
    )


@each_case(
    ("gates", "names", "expected"),
    [
        ([("hit@5", 0.9), ("f1@5", 0.1)], ("f1@5", "hit@5", "faithfulness"), "hit@5"),
        ([("f1@5", 0.1)], ("hit@5", "f1@5", "faithfulness"), "f1@5"),
        ([], ("hit@5", "f1@5", "faithfulness"), "faithfulness"),
        ([], ("hit@5", "f1@5"), "hit@5"),
        ([], (), None),
    ],
)
def test_the_metric_to_look_at_is_a_failed_gates_then_a_gates_then_a_judged_one(
    make_run: MakeRun, gates: list[tuple[str, float]], names: Sequence[str], expected: str | None
) -> None:
    asked = [Gate(metric=name, op=">=", threshold=mark) for name, mark in gates]
    assert focus_metric(make_run(names=names, gates=asked)) == expected


def test_the_lowest_come_first_then_the_first_that_failed(make_run: MakeRun) -> None:
    found = worst_samples(make_run(), "faithfulness")
    assert [(each.id, each.value) for each in found] == [("q2", 0.0), ("q1", 0.5), ("q4", None)]
    assert found[0].query == "How long does battery 2 last?"
    assert found[0].why == (
        "contradicted: It charges in 60 minutes. (The context says 75 minutes.)"
    )
    assert found[2].why == "failed, timed out: no answer within 30 s"


def test_where_lower_is_better_the_highest_are_the_worst(make_run: MakeRun) -> None:
    rows = numbered(make_run, [Score.scored(value) for value in (0.0, 0.75, 0.5, 1.0)])
    run = make_run(rows, names=("faithfulness",))
    upside_down = run.metrics["faithfulness"].model_copy(update={"higher_is_better": False})
    run = replace(run, metrics={"faithfulness": upside_down})
    assert [each.id for each in worst_samples(run, "faithfulness")] == ["s3", "s1", "s2"]


def test_what_could_not_be_better_is_no_worst(make_run: MakeRun) -> None:
    rows = numbered(make_run, [Score.scored(1.0), Score.scored(0.75), Score.scored(1.0)])
    assert [
        each.id for each in worst_samples(make_run(rows, names=("faithfulness",)), "faithfulness")
    ] == ["s1"]
    assert worst_samples(make_run(rows[:1], names=("faithfulness",)), "faithfulness") == ()
    assert worst_samples(make_run([], names=("faithfulness",)), "faithfulness") == ()


def test_without_claims_the_reason_is_told_if_there_is_one(make_run: MakeRun) -> None:
    said = Score.scored(0.2).model_copy(update={"reason": "too short"})
    rows = numbered(make_run, [said, Score.scored(0.3)])
    found = worst_samples(make_run(rows, names=("faithfulness",)), "faithfulness")
    assert [each.why for each in found] == ["too short", ""]


def test_the_first_failing_claim_is_told_and_how_many_more_there_are() -> None:
    good, bad = claim(Label.SUPPORTED, "a"), claim(Label.NOT_ENOUGH_INFO, "b", "nowhere")
    half = claim(Label.PARTIALLY_SUPPORTED, "c")
    assert failing_claim(Score.scored(1, claims=(good,))) == ""
    assert failing_claim(Score.scored(0, claims=(good, bad))) == "not stated: b (nowhere)"
    assert (
        failing_claim(Score.scored(0, claims=(half, bad))) == "partially supported: c; and 1 more"
    )


def test_few_rows_are_read_of_many(make_run: MakeRun) -> None:
    scores = [Score.scored(1 - place / 2000) for place in range(2000)]
    scores[7] = Score.failed(Cause.TIMEOUT, "late")
    rows = numbered(make_run, scores)
    run = make_run(rows, names=("faithfulness",))
    whole = Counted(rows)
    found = worst_samples(replace(run, rows=whole, counted=run.tally), "faithfulness")
    assert [each.id for each in found] == ["s1999", "s1998", "s1997"]
    assert whole.read == WORST


@each_case("kept", [range(1000), range(500, 1000), range(0, 1000, 3), [999], []])
def test_a_row_is_found_by_its_place_where_others_are_missing(
    make_run: MakeRun, kept: Sequence[int]
) -> None:
    rows = numbered(make_run, [Score.scored(0.5)] * 1000)
    left = Counted([rows[place] for place in kept])
    for place in (0, 1, 500, 501, 998, 999, 1000):
        left.read = 0
        row = row_at(left, place)
        assert (None if row is None else row.index) == (place if place in kept else None)
        assert left.read <= 13  # the guess, the last, 10 halvings and the look


def test_where_few_rows_are_missing_hardly_any_is_read(make_run: MakeRun) -> None:
    rows = numbered(make_run, [Score.scored(0.5)] * 1000)
    left = Counted([row for row in rows if row.index not in (100, 400)])
    found = row_at(left, 700)
    assert found is not None
    assert found.index == 700
    assert left.read <= 5
