"""coverage.md: every requirement has a result, and every link in it exists."""

import ast
import re
from functools import cache
from pathlib import Path

ROWS = {"S0": 52, "S1": 22, "S2": 20, "S3": 43, "S4": 27, "C": 27}
"""Rows of each source in the checklist; C are the contradictions."""

ROOT = Path(__file__).parents[2]
PAGE_FILE = Path(__file__).with_name("coverage.md")
PAGE = PAGE_FILE.read_text(encoding="utf-8")
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


def test_every_place_exists() -> None:
    missing = [fault for row, place in PLACES if (fault := fault_of(row, place))]
    assert not missing, "\n".join(missing)


def fault_of(row: str, place: str) -> str | None:
    if match := re.fullmatch(r"`(tests/[\w/.]+\.py)::(\w+)`", place):
        file, name = match.groups()
        if not (ROOT / file).is_file():
            return f"{row}: no file {file}"
        return None if name in functions(file) else f"{row}: {file} has no {name}"
    if match := re.fullmatch(r"\[[^\]]+\]\(([\w/.-]+)(#[\w-]+)?\)", place):
        exists = (PAGE_FILE.parent / match[1]).is_file()
        return None if exists else f"{row}: no page {match[1]}"
    return None if re.fullmatch(r"open: [\w ,'-]+", place) else f"{row}: unknown place {place!r}"


@cache
def functions(file: str) -> set[str]:
    """Return the names of a test file's functions."""
    tree = ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8")))
    return {n.name for n in tree if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_row_but_those_of_later_metrics_ends_somewhere() -> None:
    ended = {row for row, place in PLACES if not place.startswith("open")}
    later = {row for row, _ in PLACES} - ended
    assert later <= {"S3.42"}
