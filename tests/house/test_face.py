"""The face: what `import ragstone` gives, and what it costs."""

import ast
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

import pytest
from tests.cases import each_case

import ragstone

HEAVY = (
    "aiohttp",
    "psycopg",
    "sqlalchemy",
    "numpy",
    "pydantic",
    "rich",
    "starlette",
    "genai_prices",
)
SOURCE = ast.parse(Path(ragstone.__file__).read_text(encoding="utf-8"))


@each_case("name", ragstone.__all__)
def test_every_name_resolves(name: str) -> None:
    assert getattr(ragstone, name) is not None
    assert name in dir(ragstone)


def test_type_checkers_and_python_see_the_same_names() -> None:
    imported = {
        alias.name
        for node in ast.walk(SOURCE)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ragstone.")
        for alias in node.names
    }
    homes = {name for names in ragstone._HOMES.values() for name in names}
    assert imported == homes == set(ragstone.__all__) - {"__version__"}


def test_the_face_is_small() -> None:
    assert len(ragstone.__all__) <= 26


def test_a_wrong_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Smaple'"):
        _ = ragstone.Smaple


@pytest.mark.parametrize(
    ("statement", "heavy"),
    [
        ("import ragstone", HEAVY),
        ("import ragstone.cli", HEAVY),
        ("import ragstone.cli.commands.run", ("sqlalchemy", "psycopg", "starlette")),
        ("import ragstone.evaluation.workers", ("aiohttp", "rich", "starlette", "genai_prices")),
    ],
)
def test_importing_loads_nothing_heavy(statement: str, heavy: Collection[str]) -> None:
    said = subprocess.run(
        [sys.executable, "-c", f"{statement}\nimport sys\nprint(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert not set(heavy) & {name.partition(".")[0] for name in said}


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; sys.argv = ['ragstone', '--help']\n"
        "from ragstone.__main__ import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "print('MODULES', *sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    loaded = said.partition("MODULES")[2].split()
    assert "Usage:" in said
    assert not set(HEAVY) & {name.partition(".")[0] for name in loaded}
