from typing import Any

import pytest

from ragstone import evaluate
from ragstone.metrics.text import Contains
from ragstone.types.score import Score

RESPONSE = "The battery lasts 20  hours.\nIt charges in 75 minutes."


def score(**held: Any) -> Score:
    row = {"query": "q", "response": RESPONSE, **held}
    return evaluate([row], metrics=Contains()).rows[0].scores["contains"]


# "20 HOURS" and "charges" stand there, "blue" and "60 minutes" do not: 2 of 4 = 0.5
def test_the_worked_example() -> None:
    judged = score(reference_claims=("20 HOURS", "charges", "blue", "60 minutes"))
    assert judged.value == 0.5
    assert judged.detail == {"expected": 4, "found": 2}


@pytest.mark.parametrize(
    ("held", "value"),
    [
        ({"reference": "battery LASTS"}, 1.0),
        ({"reference": "battery died"}, 0.0),
        ({"reference": "battery died", "reference_claims": ("75 min",)}, 1.0),
        ({"reference": "5 minutes"}, 1.0),  # any place will do
    ],
)
def test_claims_go_before_the_reference(held: dict[str, Any], value: float) -> None:
    assert score(**held).value == value


def test_no_claims_are_undefined_whatever_the_reference() -> None:
    judged = score(reference="battery", reference_claims=())
    assert (judged.state, judged.reason) == ("undefined", "the reference is empty")
