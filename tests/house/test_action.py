"""action.yml: its steps are run as GitHub would run them, and no input is part of a script."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from tests.cases import each_case

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS = ACTION["runs"]["steps"]
[INSTALL] = [step for step in STEPS if step.get("name") == "Install ragstone"]
[GATE] = [step for step in STEPS if step.get("id") == "gate"]
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
ROWS = [
    {"id": "a", "query": "How high?", "response": "It is 70 m.", "contexts": ["It is 70 m."]},
    {"id": "b", "query": "How high?", "response": "It is 99 m.", "contexts": ["It is 70 m."]},
]


@dataclass(frozen=True)
class Step:
    """What a step left: its exit code, log, outputs and summary."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str


Gate = Callable[..., Step]


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    """Run the gate's script with inputs, as a runner does: bash, a file, and the environment."""
    workspace = tmp_path / "work space"
    workspace.mkdir()
    text = "\n".join(json.dumps(row) for row in ROWS)
    (workspace / "answers.jsonl").write_text(text, encoding="utf-8")
    (workspace / "bad.jsonl").write_text('{"query": "Q?"}\n{"query": 7', encoding="utf-8")
    (tmp_path / "temp").mkdir()

    def run(**inputs: str) -> Step:
        unknown = inputs.keys() - {name.replace("-", "_") for name in ACTION["inputs"]}
        assert not unknown
        given = {
            name: inputs.get(name.replace("-", "_"), each.get("default", ""))
            for name, each in ACTION["inputs"].items()
        }
        script = tmp_path / "script.sh"
        script.write_text(GATE["run"], encoding="utf-8")
        output, summary = tmp_path / "output", tmp_path / "summary.md"
        output.write_text("", encoding="utf-8")
        environ = {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(tmp_path),
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(workspace),
            "GITHUB_OUTPUT": str(output),
            "GITHUB_STEP_SUMMARY": str(summary),
            "RUNNER_TEMP": str(tmp_path / "temp"),
            **{name: given[value[1]] for name, value in expressions(GATE["env"]).items()},
        }
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=workspace,
            env=environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        told = output.read_text(encoding="utf-8").splitlines()
        return Step(
            code=done.returncode,
            log=done.stdout + done.stderr,
            outputs=dict(line.split("=", 1) for line in told),
            summary=summary.read_text(encoding="utf-8") if summary.exists() else "",
        )

    return run


def expressions(env: dict[str, str]) -> dict[str, re.Match[str]]:
    """Variable -> the input that it is given."""
    return {name: re.fullmatch(r"\$\{\{ inputs\.([\w-]+) \}\}", env[name]) for name in env}


def test_a_gate_that_passes(gate: Gate) -> None:
    step = gate(data="answers.jsonl", metrics="faithfulness", fail_under="faithfulness=0.5")
    assert step.code == 0, step.log
    assert step.outputs["exit-code"] == "0"
    summary = json.loads(Path(step.outputs["summary"]).read_text(encoding="utf-8"))
    assert summary["run_id"] == step.outputs["run-id"]
    assert summary["metrics"]["faithfulness"]["mean"] == 0.5
    assert "<html" in Path(step.outputs["report"]).read_text(encoding="utf-8")
    assert "faithfulness" in step.summary.lower()
    assert "::error" not in step.log


def test_a_gate_that_fails(gate: Gate) -> None:
    step = gate(
        data="answers.jsonl",
        metrics="faithfulness\nhallucination",
        fail_under="faithfulness=80%",
        fail_over="hallucination=0",
        min_coverage="faithfulness=1",
    )
    assert step.code == 1, step.log
    assert step.outputs["exit-code"] == "1"
    assert step.outputs["run-id"]
    assert step.log.count("::error title=gate failed::") == 2


def test_bad_data_are_one_error_at_their_line(gate: Gate) -> None:
    step = gate(data="bad.jsonl", metrics="hit")
    assert step.code == 2
    assert step.outputs == {"exit-code": "2"}
    [error] = [line for line in step.log.splitlines() if line.startswith("::error")]
    assert error.startswith("::error file=bad.jsonl,line=2,title=invalid data::bad.jsonl: line 2: ")


def test_further_options_are_words_and_no_commands(gate: Gate, tmp_path: Path) -> None:
    step = gate(
        data="answers.jsonl",
        metrics="faithfulness",
        judge="offline",
        args="--limit 1 --policy \"ragas\" --markdown 'two words.md'",
    )
    assert step.code == 0, step.log
    assert (tmp_path / "work space/two words.md").exists()
    summary = json.loads(Path(step.outputs["summary"]).read_text(encoding="utf-8"))
    assert summary["metrics"]["faithfulness:ragas"]["n"] == 1


def test_options_that_cannot_be_split_are_refused(gate: Gate) -> None:
    step = gate(data="answers.jsonl", metrics="faithfulness", args='--limit "1')
    assert step.code == 2
    assert step.outputs == {"exit-code": "2"}
    assert "::error title=nothing was scored::args: " in step.log


@pytest.mark.parametrize("name", ["data", "metrics", "fail_under", "judge", "args"])
def test_no_input_is_a_command(gate: Gate, tmp_path: Path, name: str) -> None:
    attack = "--help $(touch hit) `touch hit` ; touch hit \n\"; touch hit; \" ' touch hit ' *"
    given = {"data": "answers.jsonl", "metrics": "faithfulness", name: attack}
    if name == "args":
        given[name] = attack.removeprefix("--help ")
    step = gate(**given)
    assert step.code == 2, step.log
    assert not (tmp_path / "work space/hit").exists()


def test_no_script_has_an_expression_in_its_text() -> None:
    for step in STEPS:
        if "run" in step:
            assert "${{" not in step["run"]
            assert step["shell"] == "bash"


def test_every_input_is_used_and_every_output_is_given() -> None:
    used = re.findall(r"inputs\.([\w-]+)", json.dumps(STEPS))
    assert set(used) == set(ACTION["inputs"])
    for name, each in ACTION["outputs"].items():
        assert each["value"] == f"${{{{ steps.gate.outputs.{name} }}}}"
        assert f"{name}=" in GATE["run"]


@pytest.mark.parametrize(("extras", "wanted"), [("", ""), ("anthropic,otel", "[anthropic,otel]")])
def test_the_actions_own_checkout_is_installed(tmp_path: Path, extras: str, wanted: str) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/said"\n', encoding="utf-8")
    python.chmod(0o755)
    environ = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "GITHUB_ACTION_PATH": str(ROOT),
        "EXTRAS": extras,
    }
    subprocess.run(["bash", "-eo", "pipefail", "-c", INSTALL["run"]], env=environ, check=True)
    *_, last = (tmp_path / "said").read_text(encoding="utf-8").splitlines()
    assert last == f"{ROOT}{wanted}"


def test_the_workflow_of_the_page_is_one() -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    steps = []
    for example in map(yaml.safe_load, examples):
        if isinstance(example, dict):
            assert example[True]  # YAML's word for `on`
            assert example["permissions"]["contents"] == "read"
            steps += [step for job in example["jobs"].values() for step in job["steps"]]
        else:
            steps += example
    ours = [step for step in steps if step.get("uses", "").startswith("OWNER/ragstone@")]
    assert ours
    for step in ours:
        assert step["with"].keys() <= ACTION["inputs"].keys()
        assert "data" in step["with"]


@each_case("name", [*ACTION["inputs"], *ACTION["outputs"]])
def test_every_input_and_output_is_on_the_page(name: str) -> None:
    assert f"`{name}`" in PAGE or f"  {name}: " in PAGE
