"""docs/internals/coverage.md: every requirement has a result, and every link in it exists."""

import ast
import re
from pathlib import Path

import pytest

ROWS = {"S0": 52, "S1": 22, "S2": 20, "S3": 43, "S4": 27, "C": 27}
"""Rows of each source in the checklist; C are the contradictions."""

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/internals/coverage.md").read_text(encoding="utf-8")
LINES = re.findall(r"^\| (S\d\.\d+|C\d+) \| (.+?) \| (.+?) \|$", PAGE, re.MULTILINE)
PLACES = [(row, place) for row, _, places in LINES for place in places.split("; ")]


def expected() -> list[str]:
    return [
        f"{source}{'' if source == 'C' else '.'}{number}"
        for source, count in ROWS.items()
        for number in range(1, count + 1)
    ]


def test_every_row_stands_once() -> None:
    assert sorted(row for row, _, _ in LINES) == sorted(expected())


@pytest.mark.parametrize(("row", "place"), PLACES, ids=[f"{r}-{p}"[:60] for r, p in PLACES])
def test_every_place_exists(row: str, place: str) -> None:
    if match := re.fullmatch(r"`(tests/[\w/.]+\.py)::(\w+)`", place):
        path = ROOT / match[1]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {
            n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)
        }
        assert match[2] in names, f"{row}: {match[1]} has no {match[2]}"
    elif match := re.fullmatch(r"\[[^\]]+\]\(([\w/.-]+)(#[\w-]+)?\)", place):
        assert (ROOT / "docs/internals" / match[1]).is_file(), f"{row}: no page {match[1]}"
    else:
        assert re.fullmatch(r"open: [\w ,'-]+", place), f"{row}: {place!r} is no place"


def test_every_row_but_those_of_later_metrics_ends_somewhere() -> None:
    ended = {row for row, place in PLACES if not place.startswith("open")}
    later = {row for row, _ in PLACES} - ended
    assert later <= {"S3.42"}
