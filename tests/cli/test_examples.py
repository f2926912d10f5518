"""The examples run, and every command of a page with a judge can be told what it takes."""

import json
import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_pages import PAGES, blocks, commands
from tests.judges.local.conftest import write_model

from ragstone.demo.questions import DATASET
from ragstone.metrics import registry

ROOT = Path(__file__).parents[2]
MODELS = {"nli": "nli", "minicheck": "pair", "lettuce": "tokens", "hhem": "pair"}
"""Folders of models on the pages, and the kind of model that stands there in a test."""
LINES = [
    pytest.param(words, id=f"{page.name}: {' '.join(words)[:60]}")
    for page in PAGES
    for language, file, block in blocks(page)
    for words in (commands(block) if language in ("sh", "bash") and not file else ())
    if {"--model", "--judge"} & set(words)
]
ANSWERS = {
    "query": "How fast does it charge?",
    "response": "It charges to 50 percent in 22 minutes. The battery has 5000 mAh.",
    "contexts": ["The phone charges to 50 percent in 22 minutes."],
    "reference": "22 minutes to 50 percent.",
    "point_ids": ["101"],
    "department": "sales",
}
CONFIGURATION = {
    "prompts": ["{{query}}"],
    "providers": ["echo"],
    "ragas": {"useRagas": True},
    "tests": [
        {
            "vars": {"query": ANSWERS["query"], "context": ANSWERS["contexts"][0]},
            "providerOutput": ANSWERS["response"],
            "assert": [{"type": "context-faithfulness"}],
        }
    ],
}
"""What promptfoo is told, in a mode in which the offline judge can score it."""


NEEDS_PYTORCH = ("export_hhem",)
"""Examples that this environment cannot run; tests/golden/test_hhem_export.py holds what came."""
EXAMPLES = [path for path in (ROOT / "examples").glob("*.py") if path.stem not in NEEDS_PYTORCH]


@pytest.mark.parametrize("path", sorted(EXAMPLES), ids=lambda path: path.stem)
def test_examples_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_metrics", dict(registry.registered()))
    runpy.run_path(str(path), run_name="__main__")


@pytest.mark.parametrize("words", LINES)
def test_every_command_with_a_judge_can_be_told_what_it_takes(
    words: list[str], ragstone: Callable[..., Any]
) -> None:
    Path("answers.jsonl").write_text(json.dumps(ANSWERS), encoding="utf-8")
    Path("responses.json").write_text(json.dumps([ANSWERS]), encoding="utf-8")
    Path("promptfooconfig.yaml").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    rubric = (ROOT / "examples/politeness.yaml").read_text(encoding="utf-8")
    Path("politeness.yaml").write_text(rubric, encoding="utf-8")
    text = (ROOT / "docs/llm-judge.md").read_text(encoding="utf-8")
    prompt = text.partition('"my_verify.md"\n')[2].partition("```")[0]
    Path("my_verify.md").write_text(prompt, encoding="utf-8")
    Path("testset.xlsx").write_bytes(DATASET.read_bytes())
    chunk = {"id": 101, "text": ANSWERS["contexts"][0]}
    Path("chunks.jsonl").write_text(json.dumps(chunk), encoding="utf-8")
    Path("manuals").mkdir()
    Path("manuals/phone.md").write_text(ANSWERS["contexts"][0], encoding="utf-8")
    if "local:models/" in " ".join(words):  # which a dry run looks for as well
        for name, kind in MODELS.items():
            write_model(Path("models") / name, kind)
        Path("models/hhem/ask.txt").write_text("{context} {claim}", encoding="utf-8")
    said = ragstone(*words, "--dry-run")
    assert said.code == 0, said.err
    assert re.search("no calls were made|take no calls", said.out)
