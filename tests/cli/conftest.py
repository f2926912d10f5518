"""The command line called as a person would, and the demo served for it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.cli.collected import FAILING, QUESTIONS, target
from tests.cli.promptfoo_judge import Run, Served

from ragstone.__main__ import main

SETTINGS = ("RAGSTONE_JUDGE", "RAGSTONE_STORE", "LOG_LEVEL", "OPENAI_API_KEY", "OPENAI_BASE_URL")


@dataclass(frozen=True)
class Said:
    """What a command answered: its exit code and what it wrote."""

    code: int
    out: str
    err: str

    def refuses(self, words: str) -> bool:
        """Tell whether it ended with exit code 2 and a message that has these words."""
        return self.code == 2 and words in self.err and "Traceback" not in self.err


Command = Callable[..., Said]


@pytest.fixture
def ragstone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Command:
    """Run `ragstone ARGS` in an empty folder, with no key or setting of this machine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Said:
        monkeypatch.setattr("sys.argv", ["ragstone", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main()
        wrote = capsys.readouterr()
        return Said(int(left.value.code or 0), wrote.out, wrote.err)

    return run


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A file of two questions."""
    path = tmp_path / "questions.jsonl"
    path.write_text(QUESTIONS, encoding="utf-8")
    return path


@pytest.fixture
def failing(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A target that fails for the queries in failing.txt, none at first."""
    (tmp_path / "failing.txt").touch()
    name = "".join(filter(str.isalnum, request.node.name))
    return target(tmp_path, FAILING, f"failing_{name}")


@pytest.fixture
def served() -> Iterator[Served]:
    """A judge on loopback, for configurations of promptfoo."""
    server = Served()
    yield server
    server.stop()


@pytest.fixture
def run(ragstone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Write a configuration, unless it is there, and run it."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def running(config: object, *words: str) -> SimpleNamespace:
        if config is not None:
            path = tmp_path / "promptfooconfig.json"
            path.write_text(json.dumps(config), encoding="utf-8")
        return ragstone("run", "promptfooconfig.json", "--no-export", *words)

    return running
