"""A local model as the plan and the command line name it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cases import each_case

from ragstone.cli import ragstone as group
from ragstone.errors import UsageError
from ragstone.evaluation.runner import Evaluation
from ragstone.judges.cache import CachedJudge
from ragstone.judges.factory import make_judge
from ragstone.judges.local import EntailmentJudge
from ragstone.judges.panel import PanelJudge
from ragstone.types.config import Plan

KIND = "verify_claims"
RESPONSE = "The phone weighs 172 grams. The phone weighs 180 grams."
ROWS = [{"query": "q", "response": RESPONSE, "contexts": ["The phone weighs 172 grams."]}]


@pytest.fixture(autouse=True)
def _empty_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def test_a_local_model_is_made_once_and_has_one_vote_however_often_it_is_named(make_model) -> None:
    name = f"local:{make_model('nli')}"
    said = f"{name},threads=1"
    panel = make_judge(Plan(judge=f"{said},openai:m,{said}", votes=3), asked=[[KIND]])
    assert isinstance(panel, PanelJudge)
    assert panel.name == f"2*{name},3*openai:m"
    kept = [each.judge for each in panel.judges if isinstance(each, CachedJudge)]
    assert kept == [kept[0]] * 2
    alone = make_judge(Plan(judge=said, votes=3, cache=False), asked=[[KIND]])
    assert isinstance(alone, EntailmentJudge)


@each_case(
    ("judge", "why"),
    [
        ("local:nowhere", "there is no folder nowhere"),
        ("local:nli,labels=a/b", "the meaning of the model's outputs is unknown"),
        ("openai:m,local:nowhere", "there is no folder nowhere"),
        ("local", "no model is named; pass its folder"),
        ("hf:owner/name", "is named local:hf:owner/name"),
    ],
)
def test_a_dry_run_refuses_what_a_run_would(make_model, tmp_path: Path, judge, why) -> None:
    make_model("nli")
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[0]))
    run = ["run", "rows.jsonl", "-m", "faithfulness", "--no-store"]
    for command in (run, [*run, "--dry-run"], ["judge", "test", "rows.jsonl", "--dry-run"]):
        done = CliRunner().invoke(group, [*command, "--judge", judge])
        assert isinstance(done.exception, UsageError), done.output
        assert why in str(done.exception)


def test_a_dry_run_downloads_nothing_and_takes_a_hub_model_by_its_name(monkeypatch, tmp_path):
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    said = {"metrics": "faithfulness", "judge": "local:hf:owner/nothing"}
    assert Evaluation.estimate(ROWS, **said).local_calls == (1, 1)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(UsageError, match="HF_HUB_OFFLINE does not allow downloading"):
        Evaluation.estimate(ROWS, **said)


def test_calls_of_this_machine_are_told_apart(make_model, tmp_path: Path) -> None:
    make_model("nli")
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROWS[0]))
    options = ["--judge", "local:nli,threads=1", "-m", "faithfulness", "--no-store"]

    def said(*more: str) -> str:
        done = CliRunner().invoke(group, ["run", "rows.jsonl", *options, *more])
        assert done.exit_code == 0, done.output
        return " ".join(done.output.split())

    assert "calls to local models" in said("--dry-run")
    assert "1 call to a local model" in said("-v", "--json", "out.json")
    told = json.loads((tmp_path / "out.json").read_text())
    assert (told["judge"], told["metrics"]["faithfulness"]["mean"]) == ("local:nli", 0.5)
    assert (told["usage"]["calls"], told["usage"]["local_calls"]) == (0, 1)
    assert "1 reply from the cache" in said("-v")


def test_naming_no_local_model_loads_none_of_its_libraries() -> None:
    code = (
        "import sys, ragstone.cli.commands.run, ragstone.cli.commands.judge, "
        "ragstone.judges.factory; "
        "ragstone.evaluate; "
        "print([name for name in ('onnxruntime', 'tokenizers', 'huggingface_hub', 'onnx') "
        "if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
