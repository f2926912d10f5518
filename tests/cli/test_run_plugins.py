import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
POLITENESS = str(Path(__file__).parents[2] / "examples" / "politeness.yaml")


@pytest.fixture
def rows(ragstone: Command) -> str:
    row = {"query": "How long?", "response": "20 hours.", "relevance": ["a"], "contexts": []}
    Path("rows.jsonl").write_text(json.dumps(row), encoding="utf-8")
    return "rows.jsonl"


def test_a_rubric_needs_an_llm_and_says_so_before_the_run(ragstone: Command, rows: str) -> None:
    said = ragstone("run", rows, "--plugin", POLITENESS, "-m", "politeness", "--no-export")
    assert said.code == 2
    assert "politeness: the judge offline does not answer rate_response; use an LLM" in said.err


def test_a_rubric_among_a_group_is_told_as_not_run(ragstone: Command, rows: str) -> None:
    said = ragstone("run", rows, "--plugin", POLITENESS, "-m", "all", "--json", "-", "--no-export")
    assert said.code == 0, said.err
    assert "rate_response" in json.loads(said.out)["not_run"]["politeness"]


def test_what_is_wrong_with_a_rubric_is_told_whole(ragstone: Command, rows: str) -> None:
    Path("mine.yaml").write_text("name: Mine\nlevels: {1: a}\n", encoding="utf-8")
    said = ragstone("run", rows, "--plugin", "mine.yaml", "-m", "hit")
    assert said.code == 2
    for told in ("mine.yaml: 3 problems", "there is no criteria", "no metric name", "two levels"):
        assert told in said.err
