"""docs/ci.md and the example: what they show is what pytest prints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from tests.cases import each_case

from ragstone.integrations.pytest.plugin import SETTINGS

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def printed(lasting_project: Any) -> str:
    lasting_project.write("test_guide.py", blocks("python")[0])
    return lasting_project.run().text


@pytest.mark.parametrize("shown", blocks("text"))
def test_the_page_shows_what_is_printed(printed: str, shown: str) -> None:
    assert shown in printed


def test_the_other_example_passes(project: Any) -> None:
    ini = (project.path / "pytest.ini").read_text(encoding="utf-8")
    project.write("pytest.ini", ini.replace("asyncio_mode = auto", ""))  # which a user may lack
    row = {"query": "Camera?", "response": "It has 50 megapixels.", "contexts": ["50 megapixels."]}
    project.write("answers.jsonl", json.dumps(row))
    project.write("test_other.py", blocks("python")[1])
    ran = project.run()
    assert ran.code == 0, ran.text
    assert len(ran.outcomes) == 1


@each_case("name", [name for name, _, _ in SETTINGS])
def test_every_setting_is_on_the_page(name: str) -> None:
    assert f"`--rag-{name}`" in PAGE


def test_the_example_passes(project: Any) -> None:
    example = ROOT / "examples/test_answers.py"
    project.write("test_answers.py", example.read_text(encoding="utf-8"))
    ran = project.run()
    assert ran.code == 0, ran.text
    assert len(ran.outcomes) == 4
