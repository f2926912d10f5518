import logging
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command

from ragstone._internal.logs import LEVELS, logs
from ragstone.cli import COMMANDS, completed
from ragstone.errors import UsageError


@each_case(
    ("typed", "read"),
    [
        ("", "run"),
        ("help", "--help"),
        ("help judge test", "judge test --help"),
        ("data.xlsx", "run data.xlsx"),
        ("--metric hit recall --k 5", "run --metric hit --metric recall --k 5"),
        ("run -m hit data.xlsx", "run -m hit data.xlsx"),
        ("-m hit recal data.xlsx", "run -m hit -m recal data.xlsx"),
        ("run -m hit --limit 5 recall", "run -m hit --limit 5 recall"),
        ("--list-metrics", "run --list-metrics"),
        (
            "run --fail-under hit=0.5 recall@3=8% --fail-over=a=0.1 b=0.2",
            "run --fail-under hit=0.5 --fail-under recall@3=8% --fail-over=a=0.1 --fail-over b=0.2",
        ),
        ("run.jsonl", "run run.jsonl"),
    ],
)
def test_what_is_typed_becomes_what_click_reads(typed: str, read: str) -> None:
    assert completed(typed.split(), COMMANDS) == read.split()


def test_a_mistyped_command_is_answered_with_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"no command 'Validte'; did you mean 'validate'\?"):
        completed(["Validte", "data.xlsx"], COMMANDS)


def test_a_word_that_is_a_file_is_no_metric(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers").write_text("", encoding="utf-8")
    Path("recall").mkdir()
    typed = ["-m", "hit", "recall", "answers"]
    assert completed(typed, COMMANDS) == ["run", "-m", "hit", "-m", "recall", "answers"]


LOGGER = logging.getLogger("ragstone.judge")


def say() -> None:
    LOGGER.debug("a prompt\x1b[2J\nand %s", "its reply")
    LOGGER.warning("look")


def test_debug_shows_all_and_steers_no_terminal(monkeypatch, capsys) -> None:
    monkeypatch.setenv("LOG_LEVEL", " Debug ")
    with logs():
        say()
    say()
    warning = "WARNING ragstone.judge: look\n"
    assert capsys.readouterr().err == (
        f"DEBUG ragstone.judge: a prompt\N{REPLACEMENT CHARACTER}[2J\nand its reply\n{warning}"
    )
    assert not logging.getLogger("ragstone").handlers
    monkeypatch.setenv("LOG_LEVEL", "warning")
    with logs():
        say()
    assert capsys.readouterr().err == warning


def test_an_unknown_level_is_2_and_names_them(ragstone: Command, monkeypatch) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    said = ragstone("metrics", "--policies")
    assert all(said.refuses(level) for level in LEVELS)
    monkeypatch.setenv("LOG_LEVEL", "")
    assert ragstone("metrics", "--policies").code == 0
