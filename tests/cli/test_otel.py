import json
import subprocess
import sys
from pathlib import Path

import pytest

ROWS = [
    {"id": f"a{n}", "query": "Q?", "response": f"It is {n} m.", "contexts": [f"It is {n} m."]}
    for n in range(3)
]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)), encoding="utf-8")
    return "rows.jsonl"


def test_where_nothing_would_be_sent_nothing_is_run(ragstone, rows: str, tmp_path: Path) -> None:
    said = ragstone("run", rows, "-m", "faithfulness", "--otel")
    assert said.code == 2
    assert "opentelemetry-instrument ragstone run" in said.err
    assert not (tmp_path / ".ragstone").exists()


@pytest.mark.parametrize(
    "statement",
    [
        "import ragstone, ragstone.evaluation.runner, ragstone.cli.commands.run",
        "import ragstone.integrations.opentelemetry, ragstone.integrations.pytest.plugin",
    ],
)
def test_unused_it_is_not_imported(statement: str) -> None:
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert "ragstone" in said
    assert not [name for name in said if name.partition(".")[0] == "opentelemetry"]


def test_without_the_extra_it_says_what_to_install(tmp_path: Path, rows: str) -> None:
    code = (
        "import sys; sys.modules['opentelemetry'] = None\n"
        f"sys.argv = ['ragstone', 'run', {rows!r}, '-m', 'faithfulness', '--otel']\n"
        "from ragstone.__main__ import main; main()"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path, check=False
    )
    assert said.returncode == 2
    assert "pip install 'ragstone[otel]'" in said.stderr
