import logging
from collections.abc import Callable

import pytest

from ragstone.cli import LEVELS, logs

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
    said = ragstone("policies")
    assert said.code == 2
    assert all(level in said.err for level in LEVELS)
    monkeypatch.setenv("LOG_LEVEL", "")
    assert ragstone("policies").code == 0
