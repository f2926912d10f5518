import json
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command

from ragstone.cli.commands.metrics import outcomes
from ragstone.metrics import GROUPS, catalogue
from ragstone.types.policy import POLICIES, PRESETS

ROOT = Path(__file__).parents[2]
POLITENESS = str(ROOT / "examples" / "politeness.yaml")
RECIPROCAL = str(ROOT / "examples" / "reciprocal_rank.py")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("width", [40, 200])
def test_the_list_says_of_each_metric_what_it_is_at_any_width(ragstone, monkeypatch, width) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    said = ragstone("metrics", "--plugin", POLITENESS)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= width
    assert "…" not in said.out
    for name, info in catalogue().items():
        assert name in said.out
        assert set(info.description.split()) <= set(said.out.split())
    assert ", ".join(GROUPS) in words(said.out)
    assert said.out == ragstone("run", "--list-metrics", "--plugin", POLITENESS).out


def test_the_list_for_machines(ragstone: Command) -> None:
    Path("loud.py").write_text("print('loud')\n", encoding="utf-8")
    told = ragstone("metrics", "--json", "--plugin", "loud.py", "--plugin", POLITENESS)
    assert told.err == "loud\n"
    said = json.loads(told.out)
    assert [metric["name"] for metric in said] == list(catalogue())
    faithfulness = next(metric for metric in said if metric["name"] == "faithfulness")
    assert faithfulness.items() >= {"calls": 2, "low": 0, "high": 1, "from": "ragstone"}.items()


def test_show_prints_the_whole_definition(ragstone: Command) -> None:
    said = ragstone("metrics", "faithfulness:deepeval,verify=truths,batch_size=7")
    assert said.code == 0
    told = words(said.out)
    for part in (
        "faithfulness:deepeval,verify=truths,batch_size=7 label Faithfulness family generation",
        "range 0 to 1 direction higher is better needs response, contexts",
        "calls 2 per sample, with default parameters",
        "groups all, all_generation, all_judged from ragstone parameters verify truths",
        "batch_size 7 [default: 30] a whole number of at least 1",
        "policy deepeval [default: strict] strict, expected, weighted, ragas, deepeval",
        "The share of the response's claims that the contexts support. Formula: ",
    ):
        assert part in told


def test_show_prints_what_a_plugin_says(ragstone: Command) -> None:
    said = ragstone("metrics", "politeness", "--plugin", POLITENESS).out
    assert "\n4: friendly\n5: friendly and attentive to the user\n" in said
    said = ragstone("metrics", "--plugin", RECIPROCAL, "reciprocal_rank@3").out
    assert said.startswith("reciprocal_rank@3\n")
    assert f"from {RECIPROCAL}" in words(said)


@each_case("name", catalogue())
def test_every_metric_can_be_shown(ragstone, monkeypatch, name: str) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    said = ragstone("metrics", name)
    assert said.code == 0
    assert max(map(len, said.out.splitlines())) <= 60
    assert "Formula: " in said.out


def test_a_definition_for_machines(ragstone: Command) -> None:
    said = json.loads(ragstone("metrics", "hit@3", "--json").out)
    assert said["parameters"]["k"].items() >= {"default": 5, "value": 3, "least": 1}.items()
    assert said["groups"] == ["all", "all_retrieval"]


@each_case(
    ("words", "told"),
    [
        ("faithfullness", "there is no metric named 'faithfullness'; did you mean 'faithfulness'"),
        ("--plugin nowhere.py", "there is no file nowhere.py"),
    ],
)
def test_what_cannot_be_shown_is_told(ragstone: Command, words: str, told: str) -> None:
    assert ragstone("metrics", *words.split()).refuses(told)


CELLS = {
    ("strict", "response is empty"): "undefined",
    ("weighted", "otherwise: mean of the weights (3)"): "1 / 0.5 / -1 / 0",
    ("deepeval", "no claims in the response"): "1.0",
    ("promptfoo-plan", "no claims in the response"): "0.0, never passes",
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
