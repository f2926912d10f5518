import pytest
from tests.cases import each_case

from ragstone.cli.commands.metrics import outcomes
from ragstone.types.policy import POLICIES, PRESETS

CELLS = {
    ("strict", "response is empty"): "undefined",
    ("strict", "contexts are an empty list"): "0.0: every claim is NOT_ENOUGH_INFO",
    ("strict", "judge refused"): "failed: refusal",
    ("weighted", "otherwise: mean of the weights (3)"): "1 / 0.5 / -1 / 0",
    ("deepeval", "no claims in the response"): "1.0",
    ("deepeval", "one label unreadable (2)"): "counts as NOT_ENOUGH_INFO, flagged",
    ("ragaliq", "threshold"): "0.7",
    ("promptfoo-plan", "no claims in the response"): "0.0, never passes",
    ("promptfoo-plan", "too few or too many verdicts (2)"): (
        "mean after truncation, flagged; if none: 0.5, flagged"
    ),
}


@each_case(("cell", "told"), CELLS.items())
def test_a_cell_is_made_of_the_policy(cell: tuple[str, str], told: str) -> None:
    policy, situation = cell
    assert outcomes(POLICIES[policy])[situation] == told


@pytest.mark.parametrize("width", [80, 200])
def test_all_of_it_is_readable(ragstone, monkeypatch: pytest.MonkeyPatch, width: int) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = ragstone("metrics", "--policies")
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= width
    assert "…" not in said.out
    told = " ".join(said.out.split())
    for name in (*POLICIES, *PRESETS):
        assert name in told
    for situation in outcomes(POLICIES["strict"]):
        assert told.count(situation) >= len(POLICIES)
    assert "--preset deepeval: policy=deepeval, verify=truths, include_reason=true" in told
