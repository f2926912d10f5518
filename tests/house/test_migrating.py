"""docs/migrating.md: its examples give the numbers that it tells, and its names exist."""

import re
from pathlib import Path
from typing import Any

import click
import pytest

from ragstone.cli.commands.run import command
from ragstone.evaluation.config_file import read_config
from ragstone.metrics import get
from ragstone.types.policy import PRESETS
from ragstone.types.reply import Usage

PAGE = (Path(__file__).parents[2] / "docs/migrating.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (.+?)\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))
PROMPTFOO = SECTIONS["promptfoo's plan for RAGAS"]


def blocks(section: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", section, re.DOTALL | re.MULTILINE)


def ran(section: str) -> dict[str, Any]:
    """Run the section's examples and return the names of the last."""
    *_, code = blocks(section, "python")
    names: dict[str, Any] = {"__name__": "page"}
    exec(compile(code, "page", "exec"), names)
    return names


def test_promptfoos_example() -> None:
    names = ran(PROMPTFOO)
    answered, refused = names["answered"], names["refused"]
    assert answered.value == pytest.approx(2 / 3)
    assert answered.passed
    assert answered.reason == "Faithfulness 0.67 is >= 0.5"
    assert (refused.value, refused.passed, refused.fallback) == (0.0, False, True)
    assert names["name"] == "faithfulness:promptfoo-plan,batch_size=5"
    assert names["run"].usage().calls == 3  # the refused one has none to tell of


def test_promptfoos_settings_are_those_that_the_table_says(tmp_path: Path) -> None:
    [text] = blocks(PROMPTFOO, "yaml")
    path = tmp_path / "ragstone.yaml"
    path.write_text(text, encoding="utf-8")
    plan = read_config(path).plan()
    assert (plan.judge, plan.strict_json, plan.retries) == ("openai:gpt-4", True, 2)
    [name] = plan.metrics
    metric = get(name, **plan.parameters)
    assert str(metric) == "faithfulness:promptfoo-plan,batch_size=5,threshold=0.8"


def test_deepevalexs_example() -> None:
    names = ran(SECTIONS["DeepEvalEx"])
    score = names["score"]
    assert (score.value, score.passed, score.threshold) == (0.75, True, 0.5)
    assert score.detail["explanation"] == "One of four claims contradicts the contexts."
    assert [claim.reason for claim in score.claims][1] == "Five days may be carried over, not ten."
    assert score.truths == tuple(names["truths"])
    assert score.latency_ms > 0
    assert len(names["judge"].asked) == 4  # claims, truths, verdicts, reason


def test_ragaliqs_example_asks_about_one_claim_a_call() -> None:
    names = ran(SECTIONS["RagaliQ"])
    score = names["score"]
    assert (score.value, score.passed, score.threshold) == (0.75, False, 0.8)
    assert score.detail == {
        "claims": 4, "supported": 3, "contradicted": 1, "not_enough_info": 0
    }  # fmt: skip
    assert [claim.label.value for claim in score.claims] == list(names["labels"].values())
    assert len(names["scripted"].asked) == 1 + 4


@pytest.mark.parametrize("said", sorted(set(re.findall(r"`-m ([^`]+)`", PAGE))))
def test_every_metric_of_the_page_is_one(said: str) -> None:
    for name in said.split():
        assert str(get(name)) == name


@pytest.mark.parametrize(
    ("pattern", "known"),
    [
        pytest.param(
            r"`(--[a-z-]+)",
            {
                flag
                for option in command.params
                if isinstance(option, click.Option)
                for flag in (*option.opts, *option.secondary_opts)
            },
            id="options",
        ),
        pytest.param(r"--preset ([a-z-]+)", set(PRESETS), id="presets"),
        pytest.param(
            r"`((?:prompt|completion|cached|reasoning)_tokens)`",
            set(vars(Usage())),
            id="usage",
        ),
    ],
)
def test_every_name_of_the_page_exists(pattern: str, known: set[str]) -> None:
    said = set(re.findall(pattern, PAGE))
    assert said
    assert said <= known
