import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone._internal.logs import LEVELS, logs
from ragstone.cli import COMMANDS, completed
from ragstone.errors import UsageError


@each_case(
    ("typed", "read"),
    [
        ("", "run"),
        ("--metric=hit recall -v", "run --metric=hit --metric recall -v"),
        ("--help", "--help"),
        ("--version", "--version"),
        ("help", "--help"),
        ("help judge test", "judge test --help"),
        ("demo --limit 3", "demo --limit 3"),
        ("data.xlsx", "run data.xlsx"),
        ("--metric hit --k 5", "run --metric hit --k 5"),
        ("--metric hit recall --k 5", "run --metric hit --metric recall --k 5"),
        ("run -m hit recall mrr@10 -v", "run -m hit -m recall -m mrr@10 -v"),
        ("run -m hit data.xlsx", "run -m hit data.xlsx"),
        ("run -m all -m hit recall", "run -m all -m hit -m recall"),
        (
            "-m precision@5,denominator=retrieved f1",
            "run -m precision@5,denominator=retrieved -m f1",
        ),
        ("run -m hit --limit 5 recall", "run -m hit --limit 5 recall"),
        ("--list-metrics", "run --list-metrics"),
        (
            "run --fail-under hit=0.5 recall@3=8% --fail-over=a=0.1 b=0.2",
            "run --fail-under hit=0.5 --fail-under recall@3=8% --fail-over=a=0.1 --fail-over b=0.2",
        ),
        ("run --fail-under hit=0.5 data.csv", "run --fail-under hit=0.5 data.csv"),
    ],
)
def test_what_is_typed_becomes_what_click_reads(typed: str, read: str) -> None:
    assert completed(typed.split(), COMMANDS) == read.split()


@each_case(
    "word", ["Recall", "RECALL@10", "response-relevancy", "recal", "Precision@5,denominator=k"]
)
def test_a_word_after_m_that_is_close_to_a_metric_is_no_file(word: str) -> None:
    typed = ["-m", "hit", word, "data.xlsx"]
    assert completed(typed, COMMANDS) == ["run", "-m", "hit", "-m", word, "data.xlsx"]


def test_a_folder_with_a_metrics_name_is_no_data_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("recall").mkdir()
    assert completed(["-m", "hit", "recall"], COMMANDS) == ["run", "-m", "hit", "-m", "recall"]


@each_case("typed", ["validte", "validte data.xlsx", "Validate data.xlsx --sheet 2"])
def test_a_mistyped_command_is_answered_with_the_nearest_one(typed: str) -> None:
    with pytest.raises(UsageError, match=r"no command '[Vv]alida?te'; did you mean 'validate'\?"):
        completed(typed.split(), COMMANDS)


@each_case("typed", ["data.xlsx", "--judge offline", "-m hit", "run.jsonl"])
def test_data_and_options_are_not_mistaken_for_a_command(typed: str) -> None:
    assert completed(typed.split(), COMMANDS) == ["run", *typed.split()]


def test_a_word_that_is_a_file_is_no_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers").write_text("", encoding="utf-8")
    assert completed(["-m", "hit", "answers"], COMMANDS) == ["run", "-m", "hit", "answers"]


Command = Callable[..., object]
LOGGER = logging.getLogger("ragstone.judge")


def say() -> None:
    LOGGER.debug("a prompt\x1b[2J\nand %s", "its reply")
    LOGGER.warning("look")


def test_debug_shows_all_and_steers_no_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOG_LEVEL", " Debug ")
    with logs():
        say()
    say()
    assert capsys.readouterr().err == (
        "DEBUG ragstone.judge: a prompt\N{REPLACEMENT CHARACTER}[2J\nand its reply\n"
        "WARNING ragstone.judge: look\n"
    )
    assert not logging.getLogger("ragstone").handlers


def test_a_higher_level_shows_less(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "warning")
    with logs():
        say()
    assert capsys.readouterr().err == "WARNING ragstone.judge: look\n"


def test_an_unknown_level_is_2_and_names_them(
    ragstone: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOG_LEVEL", "loud")
    said = ragstone("metrics", "--policies")
    assert said.code == 2
    assert all(level in said.err for level in LEVELS)
    monkeypatch.setenv("LOG_LEVEL", "")
    assert ragstone("metrics", "--policies").code == 0
