"""The legacy numbers: those that promptfoo 0.121.20 itself gave on the same replies."""

import json
from collections.abc import Mapping
from itertools import product
from pathlib import Path

import pytest
from aiohttp import web
from tests.cases import each_case

from ragstone.integrations.promptfoo import legacy
from ragstone.types.claim import Label
from ragstone.types.policy import get_policy

OBSERVED = json.loads(Path(__file__).with_name("legacy_replies.json").read_text(encoding="utf-8"))
CASES = [(kind, case) for kind, cases in OBSERVED.items() for case in cases]
SENTINEL = "CASE-"


def scored(kind: str, case: Mapping) -> float:
    first = case["replies"][0]
    if kind == "context-recall":
        return legacy.context_recall(first)
    if kind == "context-relevance":
        return legacy.context_relevance(first, case["context"])
    statements = legacy.statements_in(first)
    return legacy.faithfulness(len(statements), legacy.verdicts_in(case["replies"][1]))


@each_case(("kind", "case"), CASES)
def test_the_number_is_the_one_that_was_observed(kind: str, case: Mapping) -> None:
    assert scored(kind, case) == pytest.approx(case["score"])


@each_case("statements", range(1, 5))
@each_case("count", range(1, 6))
def test_the_policy_makes_the_same_number(statements: int, count: int) -> None:
    policy = get_policy("promptfoo")
    due = None if count == statements else statements
    for verdicts in product([True, False], repeat=count):
        labels = [Label.SUPPORTED if backed else Label.NOT_ENOUGH_INFO for backed in verdicts]
        number = legacy.faithfulness(statements, verdicts)
        assert policy.number(labels, due=due) == pytest.approx(number)


def test_the_mean_likeness_may_be_negative() -> None:
    assert legacy.answer_relevance([1, 0, 1]) == pytest.approx(2 / 3)
    assert legacy.answer_relevance([-1, -1, -1]) == -1


async def test_the_real_program_gives_the_same_numbers(promptfoo, faulty) -> None:
    """Each test's query names its case, so that the judge's server knows which replies are due."""
    came: dict[int, int] = {}

    async def reply(request: web.Request) -> web.Response:
        asked = (await request.json())["messages"][-1]["content"]
        number = int(asked.rpartition(SENTINEL)[2].split()[0])
        place = came[number] = came.get(number, -1) + 1
        message = {"role": "assistant", "content": CASES[number][1]["replies"][place]}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return web.json_response({"choices": [choice], "usage": {}})

    faulty.script("/v1/chat/completions", reply)
    grader = {"apiBaseUrl": f"{faulty.url}/v1", "apiKey": "none"}
    options = {"provider": {"id": "openai:chat:m", "config": grader}, "disableVarExpansion": True}
    done = await promptfoo(
        {
            "prompts": ["an answer"],
            "providers": ["echo"],
            "defaultTest": {"options": options},
            "tests": [asked(number, *pair) for number, pair in enumerate(CASES)],
        },
        {},
    )
    for (kind, case), test in zip(CASES, done.tests, strict=True):
        assert test["score"] == pytest.approx(scored(kind, case)), case
        assert not str(test.get("error")).startswith("Error"), case


def asked(number: int, kind: str, case: Mapping) -> dict:
    """A test whose every prompt to the judge ends in something that names it."""
    name = f"{SENTINEL}{number} "
    said = {"query": f"which {name}", "context": case.get("context", f"words {name}")}
    return {"vars": said, "assert": [{"type": kind, "value": f"what is expected {name}"}]}
