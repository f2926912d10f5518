"""The page about promptfoo and the shipped example: they run as they say, in the real program."""

import asyncio
import re
from pathlib import Path

import yaml
from aiohttp import web

from ragstone.integrations.promptfoo import OWN
from ragstone.integrations.promptfoo.configuration import (
    METRICS,
    evaluate_tests,
    read_configuration,
)

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "promptfoo.md").read_text(encoding="utf-8")
EXAMPLE = ROOT / "examples" / "ragas-faithfulness.yaml"
ORDER = "Final verdict for each statement in order:"


def block(language: str) -> str:
    found = re.search(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert found
    return found[1]


async def test_the_example_comes_to_what_the_page_shows(promptfoo) -> None:
    done = await promptfoo(yaml.safe_load(block("yaml")), {"faithfulness.py": block("python")})
    assert block("text").strip() in done.said
    assert f"`{done.tests[1]['gradingResult']['reason']}`" in PAGE


def test_every_key_and_assertion_is_on_the_page() -> None:
    for name in (*OWN, *METRICS):
        assert f"`{name}`" in PAGE


async def test_the_shipped_example_runs_in_the_real_program_and_in_ragstone(
    promptfoo, faulty, tmp_path: Path
) -> None:
    """promptfoo ignores `grading`; its own scores of the same statements are equal here."""

    async def reply(request: web.Request) -> web.Response:
        asked = (await request.json())["messages"][-1]["content"].rstrip()
        text = "It is so.\nIt is built."
        if not asked.endswith("statements:"):
            text = f"{ORDER} Yes. {'No' if '1889' in asked else 'Yes'}."
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": text}}
        return web.json_response({"choices": [choice], "usage": {}})

    faulty.script("/v1/chat/completions", reply)
    config = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    place = {"OPENAI_API_KEY": "none", "OPENAI_BASE_URL": f"{faulty.url}/v1"}
    done = await promptfoo(config, {}, **place)
    assert [test["score"] for test in done.tests] == [1, 0.5]
    assert [test["success"] for test in done.tests] == [True, False]

    read = read_configuration(EXAMPLE)
    run = await asyncio.to_thread(
        evaluate_tests, read.dataset, read.requirements.over().plan(), store=None
    )
    assert [score.value for row in run.rows for score in row.scores.values()] == [1, 0.5]
    assert [bool(read.requirements.failing(row.scores)) for row in run.rows] == [False, True]
