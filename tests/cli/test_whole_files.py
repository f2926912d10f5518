"""Line 7 of issue 18: what is written is there completely, or not at all."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs fork and limits"),
]

RUNNING = """
import os, resource, signal, sys, json
from pathlib import Path
from tests.forking import import_all
from ragstone.__main__ import main

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

import_all()
for words in json.loads(sys.argv[2]):
    pid = os.fork()
    if not pid:
        if sys.argv[1] == "before the move":
            Path.replace = Path.hardlink_to = os.replace = os.rename = kill
        else:
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000,) * 2)
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if sys.argv[1] == "while writing":
                signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # the system kills the process
        sys.argv = ["ragstone", *words]
        code = 70
        try:
            code = main() or 0
        except SystemExit as error:
            code = error.code or 0
        except BaseException:
            pass
        finally:
            sys.stderr.flush()
            os._exit(code)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
"""
LARGE = [
    ["runs", "show", "last", "--html", "x.html"],
    *(["runs", "show", "last", "--rows", f"x.{end}"] for end in ("jsonl", "csv")),
    ["runs", "show", "last", "--claim-rows", "x.csv"],
    ["runs", "show", "last", "--rows", "x.parquet"],
    ["runs", "show", "last", "-o", "x.xlsx"],
    ["runs", "export", "last", "x.jsonl"],
    ["runs", "export", "last", "x.jsonl.gz"],
    ["validate", "data.jsonl", "-o", "x-copy.jsonl"],
]
SMALL = [
    ["runs", "show", "last", "--json", "x.json"],
    ["runs", "show", "last", "--markdown", "x.md"],
    ["runs", "show", "last", "--junit", "x.xml"],
    ["compare", "last", "first", "--markdown", "x.md"],
    ["runs", "list", "--json", "x.json"],
]


@pytest.fixture
def folder(ragstone: Command, tmp_path: Path) -> Path:
    """Two stored runs, whose rows have many characters that cannot be compressed."""
    chance = random.Random(1)
    with (tmp_path / "data.jsonl").open("w", encoding="utf-8") as file:
        for place in range(120):
            text = " ".join(f"{chance.getrandbits(32):08x}" for _ in range(250))
            row = {"query": f"q{place}", "response": text, "contexts": [{"id": "a", "text": text}]}
            file.write(json.dumps(row | {"relevance": ["a"]}) + "\n")
    for _ in range(2):
        words = ("-m", "faithfulness", "hit@1", "--judge", "offline", "--no-export", "--fresh")
        assert ragstone("run", "data.jsonl", *words).code == 0
        if _ == 0:
            ragstone("runs", "tag", "last", "first")
    return tmp_path


@pytest.mark.parametrize("how", ["before the move", "while writing", "the disk is full"])
def test_a_file_is_written_completely_or_not_at_all(how: str, folder: Path) -> None:
    commands = LARGE + SMALL if how == "before the move" else LARGE
    names = {words[-1] for words in commands}
    for name in names:
        (folder / name).write_text("old", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", RUNNING, how, json.dumps(commands)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    code = {"before the move": "-9", "while writing": "-25", "the disk is full": "2"}[how]
    ended = [line for line in done.stdout.splitlines() if line.lstrip("-").isdigit()]
    assert dict(zip(map(" ".join, commands), ended, strict=True)) == {
        " ".join(words): code for words in commands
    }, done.stderr
    if how == "the disk is full":
        assert done.stderr.count("File too large; choose another path") >= len(commands) - 3
    found = {path.name: path.read_bytes() for path in folder.glob("x*")}
    assert found == dict.fromkeys(names, b"old")
    if how == "the disk is full":
        assert not list(folder.glob(".ragstone-*"))
