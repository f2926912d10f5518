import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.collected import json_lines


@pytest.fixture
def rows(tmp_path: Path) -> str:
    row = {"query": "Q?", "response": "It is 3 m.", "contexts": ["It is 3 m."]}
    return json_lines(tmp_path / "rows.jsonl", [row])


def python(code: str, folder: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)


def test_where_nothing_would_be_sent_nothing_is_run(ragstone, rows: str) -> None:
    said = ragstone("run", rows, "-m", "faithfulness", "--otel")
    assert said.refuses("opentelemetry-instrument ragstone run")
    assert not Path(".ragstone").exists()


def test_unused_it_is_not_imported(tmp_path: Path) -> None:
    modules = "evaluation.runner cli.commands.run integrations.opentelemetry"
    modules = [f"ragstone.{name}" for name in (*modules.split(), "integrations.pytest.plugin")]
    said = python(f"import {', '.join(modules)}, sys\nprint(*sys.modules)", tmp_path).stdout.split()
    assert "ragstone" in said
    assert not [name for name in said if name.partition(".")[0] == "opentelemetry"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, rows: str) -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        f"sys.argv = ['ragstone', 'run', {rows!r}, '-m', 'faithfulness', '--otel']\n"
        "from ragstone.__main__ import main; main()"
    )
    said = python(code, tmp_path)
    assert said.returncode == 2
    assert "pip install 'ragstone[otel]'" in said.stderr
