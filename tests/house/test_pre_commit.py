""".pre-commit-hooks.yaml: the hook is what pre-commit would run, on a good file and a bad one."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from tests.cases import each_case

ROOT = Path(__file__).parents[2]
[HOOK] = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs/platforms.md").read_text(encoding="utf-8")


def run(*files: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the hook's entry with files, as pre-commit does in the environment that it made."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [*shlex.split(HOOK["entry"]), *files],
        cwd=cwd,
        env={"PATH": path, "HOME": str(cwd)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "good.csv").write_text("query,reference\nQ?,A.\n", encoding="utf-8")
    (tmp_path / "bad.csv").write_text("query,point_ids\n,1\n", encoding="utf-8")
    return tmp_path


def test_the_hook_says_what_pre_commit_needs() -> None:
    assert HOOK["id"] == "ragstone-validate"
    assert HOOK["language"] == "python"
    assert HOOK["entry"] == "ragstone validate"


def test_good_files_pass(files: Path) -> None:
    done = run("good.csv", cwd=files)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bad_file_stops_the_commit_and_is_named_with_its_row(files: Path) -> None:
    done = run("good.csv", "bad.csv", cwd=files)
    assert done.returncode == 2
    assert "bad.csv: 1 problem" in done.stderr
    assert "line 2" in done.stderr


@each_case(
    ("name", "taken"),
    [
        ("data/a.xlsx", True),
        ("a.csv", True),
        ("a.tsv", True),
        ("a.jsonl", True),
        ("a.ndjson", True),
        ("package.json", False),
        ("a.csv.py", False),
    ],
)
def test_files_that_may_be_data_sets_are_read(name: str, *, taken: bool) -> None:
    assert bool(re.search(HOOK["files"], name)) is taken


def test_the_page_names_the_hook_and_the_actions_placeholder() -> None:
    examples = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    [repo] = [
        repo
        for example in map(yaml.safe_load, examples)
        for repo in example["repos"]
        if repo["repo"].endswith("OWNER/ragstone")
    ]
    [hook] = repo["hooks"]
    assert hook["id"] == HOOK["id"]
    assert re.search(hook["files"], "data/answers.jsonl")
    action = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
    assert f"OWNER/ragstone@{repo['rev']}" in action
