from typing import Any

import pytest

from ragstone.metrics import get
from ragstone.metrics.claims import NoiseSensitivity
from ragstone.metrics.registry import registered

# claim          1   2   3   4   5    The reference stands in context 1 alone, so 2 and 3 are noise.
IN_CONTEXTS = "S1  S1  S23 S   N"
IN_REFERENCE = "S   N   C   N   N"
ROWS = {
    "in_contexts": IN_CONTEXTS,
    "in_reference": IN_REFERENCE,
    "reference_in_contexts": "S1 N2 S0",
}


@pytest.mark.parametrize(
    ("contexts", "value", "noise", "calls"),
    [("any", 3 / 5, 3, 3), ("relevant", 1 / 5, 1, 5), ("irrelevant", 1 / 5, 1, 5)],
)
async def test_the_worked_example(
    checks: Any, contexts: str, value: float, noise: int, calls: int
) -> None:
    """Claims 2, 3 and 4 are wrong: from context 1, from 2 and 3, and from nobody knows where."""
    made = checks(**ROWS)
    score = await made.score(get(f"noise_sensitivity,contexts={contexts}"))
    assert score.value == value
    assert score.detail == {"claims": 5, "noise": noise, "unplaced": 1}
    assert len(made.judge.asked) == calls


async def test_a_claim_from_both_kinds_is_of_the_relevant_one(checks: Any) -> None:
    rows = {"in_contexts": "S12", "in_reference": "N", "reference_in_contexts": "S1"}
    for contexts, value in (("any", 1), ("relevant", 1), ("irrelevant", 0)):
        assert (
            await checks(**rows).score(get(f"noise_sensitivity,contexts={contexts}"))
        ).value == value


async def test_without_claims_it_is_undefined(checks: Any) -> None:
    score = await checks().score(NoiseSensitivity(), response="Sure!")
    assert (score.state, score.reason) == ("undefined", "the response makes no claims")
    bare = {"reference": "Well.", "reference_claims": ()}
    rows = checks(in_contexts="S1", in_reference="N")
    assert (await rows.score(NoiseSensitivity(), **bare)).value == 1
    score = await rows.score(NoiseSensitivity(contexts="relevant"), **bare)
    assert (score.state, score.reason) == ("undefined", "the reference makes no claims")


def test_a_name_with_its_parameter_reads_back() -> None:
    metric = NoiseSensitivity(contexts="irrelevant")
    assert str(metric) == "noise_sensitivity,contexts=irrelevant"
    assert get(str(metric)) == metric
    assert not registered()["noise_sensitivity"].higher_is_better
