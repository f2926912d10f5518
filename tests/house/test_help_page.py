"""docs/help.md: its tables have every cause of a failed score, and every exit code."""

import re
from pathlib import Path

from ragstone import cli
from ragstone.errors import Cause
from ragstone.reports.format import CAUSES

PAGE = (Path(__file__).parents[2] / "docs/help.md").read_text(encoding="utf-8")


def test_the_causes_are_those_of_the_program() -> None:
    rows = [line.split("|")[1] for line in PAGE.splitlines() if line.startswith("| `")]
    assert {*re.findall(r"`(\w+)`", " ".join(rows))} == {*Cause}
    for row in rows:
        for name, words in re.findall(r"`(\w+)` \(([^)]+)\)", row):
            assert words == CAUSES[Cause(name)]


def test_the_exit_codes_are_those_of_the_program() -> None:
    codes = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE, re.MULTILINE)}
    known = cli.GATE_FAILED, cli.UNUSABLE, cli.TOO_MUCH_FAILED, cli.BROKEN, cli.INTERRUPTED
    assert codes == {0, *known}
