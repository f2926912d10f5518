from collections.abc import Sequence
from typing import Any

import pytest

from ragstone.results.compare import ClaimChanges, Kind, compare
from ragstone.types.claim import JudgedClaim, Label

RUNS = Any
YES, NO, UNKNOWN = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_INFO


def changes(
    runs: RUNS, a: Sequence[JudgedClaim], b: Sequence[JudgedClaim], top: int = 5
) -> ClaimChanges:
    one, two = (runs.of({"faithfulness": [runs.claimed(0.5, *side)]}) for side in (a, b))
    return compare(one, two, top=top).claims[0]


def test_an_example_with_one_of_each(runs: RUNS) -> None:
    was = [
        runs.claim("It lasts 20 hours.", YES),
        runs.claim("It weighs 9 g.", YES, "the sheet says so"),
        runs.claim("It is blue.", NO),
        runs.claim("It floats.", YES, "the sheet says so"),
        runs.claim("It sings.", NO),
    ]
    now = [
        runs.claim("it lasts  20 hours.", YES),
        runs.claim("It weighs 9 g.", NO, "it is 90 g"),
        runs.claim("It is blue.", YES),
        runs.claim("It sings.", UNKNOWN),
        runs.claim("It flies.", UNKNOWN, "nobody says so"),
    ]
    found = changes(runs, was, now)
    assert found.kept == 2
    assert set(found.counts.values()) == {1}
    assert found.appeared_unsupported == 1
    told = {kind: found.first[kind][0] for kind in Kind}
    assert {kind: (each.text, each.a, each.b, each.reason) for kind, each in told.items()} == {
        Kind.LOST: ("It weighs 9 g.", YES, NO, "it is 90 g"),
        Kind.GAINED: ("It is blue.", NO, YES, None),
        Kind.APPEARED: ("It flies.", None, UNKNOWN, "nobody says so"),
        Kind.VANISHED: ("It floats.", YES, None, "the sheet says so"),
    }
    assert told[Kind.LOST].sample_id == "q0"


@pytest.mark.parametrize(
    ("one", "other"),
    [("20 Hours", "20 HOURS"), ("ﬁne", "fine"), ("１０ g", "10 g"), ("a\u00a0b", " a  b\n")],
)
def test_case_width_and_space_are_no_difference(runs: RUNS, one: str, other: str) -> None:
    assert changes(runs, [runs.claim(one, YES)], [runs.claim(other, YES)]).kept == 1


def test_a_claim_held_against_other_texts_is_another_claim(runs: RUNS) -> None:
    claim = runs.claim("It floats.", YES)
    other = claim.model_copy(update={"against": "reference"})
    found = changes(runs, [claim], [other])
    assert found.counts[Kind.APPEARED] == found.counts[Kind.VANISHED] == 1


def test_only_the_first_few_are_told_and_all_are_counted(runs: RUNS) -> None:
    found = changes(runs, [], [runs.claim(f"It has {i} legs.", NO) for i in range(4)], top=2)
    assert found.counts[Kind.APPEARED] == found.appeared_unsupported == 4
    assert [each.text for each in found.first[Kind.APPEARED]] == [
        "It has 0 legs.",
        "It has 1 legs.",
    ]


def test_of_those_that_appeared_the_unsupported_come_first(runs: RUNS) -> None:
    told = [runs.claim(f"It has {i} legs.", YES if i < 3 else NO) for i in range(5)]
    found = changes(runs, [], told, top=3)
    assert [each.b for each in found.first[Kind.APPEARED]] == [NO, NO, YES]
    assert (found.counts[Kind.APPEARED], found.appeared_unsupported) == (5, 2)


def test_claims_of_a_sample_that_failed_in_one_run_are_no_change(runs: RUNS) -> None:
    a = runs.of({"faithfulness": [runs.claimed(1.0, runs.claim("It floats.", YES))]})
    b = runs.of({"faithfulness": [runs.failed()]}, run_id="b")
    (found,) = compare(a, b).claims
    assert not any(found.counts.values())


def test_a_metric_without_claims_has_no_part_in_it(runs: RUNS) -> None:
    assert compare(runs.of({"hit@5": [1]}), runs.of({"hit@5": [1]})).claims == ()
