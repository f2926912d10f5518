"""Where the house stands, for the tests that look at its own files."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "ragstone"


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def source_files() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@pytest.fixture(scope="session")
def text_files() -> list[Path]:
    """Every text file of the project that people write."""
    folders = ("src", "tests", "docs", "examples", "scripts", "benchmarks", "training")
    folders += (".ci", ".github")
    found = [path for name in folders for path in (ROOT / name).rglob("*") if path.is_file()]
    found += [path for path in ROOT.iterdir() if path.is_file()]
    binary = {".xlsx", ".pyc", ".png", ".gz"}
    skipped = {"__pycache__", ".git"}  # in a worktree, .git is a file
    return [p for p in found if p.suffix not in binary and skipped.isdisjoint(p.parts)]
