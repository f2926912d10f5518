"""The page about promptfoo: its example runs as it says, in the real program."""

import re
from pathlib import Path

import yaml

from ragstone.integrations.promptfoo.assertion import OWN
from ragstone.integrations.promptfoo.asserts import METRICS

PAGE = (Path(__file__).parents[3] / "docs" / "promptfoo.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


async def test_the_example_comes_to_what_the_page_shows(promptfoo) -> None:
    done = await promptfoo(yaml.safe_load(block("yaml")), {"faithfulness.py": block("python")})
    assert block("").strip() in done.said
    assert f"`{done.tests[1]['gradingResult']['reason']}`" in PAGE


def test_every_key_and_assertion_is_on_the_page() -> None:
    for name in (*OWN, *METRICS):
        assert f"`{name}`" in PAGE
