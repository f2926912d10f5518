"""The code in the README and the docs runs, against the demo where it names an API."""

import json
import re
import runpy
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cases import each_case
from tests.judges.local.conftest import write_model

from ragstone.cli import COMMANDS, completed
from ragstone.cli import ragstone as group
from ragstone.demo.questions import DATASET
from ragstone.metrics import registry

ROOT = Path(__file__).parents[2]
MODELS = {"nli": "nli", "minicheck": "pair", "lettuce": "tokens", "hhem": "pair"}
"""Folders of models on the pages, and the kind of model that stands there in a test."""
PAGES = {
    page.name: page
    for folder in ("", "docs", "docs/tutorials")
    for page in sorted((ROOT / folder).glob("*.md"))
    if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}
TEXTS = {name: page.read_text(encoding="utf-8") for name, page in PAGES.items()}


def blocks(language: str) -> list[tuple[str, str]]:
    """Return the blocks of a language with the names of their pages."""
    pattern = re.compile(rf"^```{language}\n(.*?)^```", re.DOTALL | re.MULTILINE)
    return [(name, block) for name, text in TEXTS.items() for block in pattern.findall(text)]


ELSEWHERE = {"notebooks.md", "platforms.md", "many-machines.md"}
"""Pages whose code runs in integrations/ (Jupyter, MLflow), testsets/test_generate.py, engines/."""
CODE = [
    pytest.param(block, id=f"{page}-{n}")
    for n, (page, block) in enumerate(blocks("python"))
    if page not in ELSEWHERE
]
LINES = [
    pytest.param(shlex.split(line, comments=True)[1:], id=f"{page}: {line[:60]}")
    for page, block in blocks("sh")
    for line in block.splitlines()
    if line.startswith("ragstone ")
]
JUDGED = [line for line in LINES if {"--model", "--judge"} & set(line.values[0])]
ANSWERS = {
    "query": "How fast does it charge?",
    "response": "It charges to 50 percent in 22 minutes. The battery has 5000 mAh.",
    "contexts": ["The phone charges to 50 percent in 22 minutes."],
    "department": "sales",
}
RESULTS = {
    "results": {
        "version": 3,
        "results": [
            {
                "vars": {"query": ANSWERS["query"], "contexts": ANSWERS["contexts"]},
                "response": {"output": ANSWERS["response"]},
                "provider": {"id": "echo"},
                "testIdx": 0,
                "promptIdx": 0,
            }
        ],
    }
}
"""What promptfoo writes with `-o`, as far as it is read."""
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


@pytest.mark.parametrize("block", CODE)
def test_code_runs(
    block: str, demo_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(registry, "_metrics", dict(registry.registered()))
    Path("manuals").mkdir()
    Path("manuals/phone.md").write_text(ANSWERS["contexts"][0], encoding="utf-8")
    Path("results.json").write_text(json.dumps(RESULTS), encoding="utf-8")
    Path("promptfooconfig.yaml").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    code = block.replace("http://localhost:8000", demo_url)
    code = code.replace("path/to/test_data.xlsx", str(DATASET))
    exec(compile(code, "page", "exec"), {"__name__": "page"})


NEEDS_PYTORCH = ("export_hhem",)
"""Examples that this environment cannot run; tests/golden/test_hhem_export.py holds what came."""
EXAMPLES = [path for path in (ROOT / "examples").glob("*.py") if path.stem not in NEEDS_PYTORCH]


@pytest.mark.parametrize("path", sorted(EXAMPLES), ids=lambda path: path.stem)
def test_examples_run(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_metrics", dict(registry.registered()))
    runpy.run_path(str(path), run_name="__main__")


@each_case("words", LINES)
def test_every_command_of_a_page_is_one(words: list[str]) -> None:
    arguments = completed(words, COMMANDS)
    command = group.get_command(click.Context(group), arguments[0])
    assert command is not None
    if isinstance(command, click.Group) and arguments[1:2] and arguments[1] in command.commands:
        command, arguments = command.commands[arguments[1]], arguments[1:]
    command.make_context(arguments[0], arguments[1:], help_option_names=["-h", "--help"])


@pytest.mark.parametrize("words", JUDGED)
def test_every_command_with_a_judge_can_be_told_what_it_takes(
    words: list[str], ragstone: Callable[..., Any]
) -> None:
    Path("answers.jsonl").write_text(json.dumps(ANSWERS), encoding="utf-8")
    Path("responses.json").write_text(json.dumps([ANSWERS]), encoding="utf-8")
    Path("promptfooconfig.yaml").write_text(json.dumps(CONFIGURATION), encoding="utf-8")
    rubric = (ROOT / "examples/politeness.yaml").read_text(encoding="utf-8")
    Path("politeness.yaml").write_text(rubric, encoding="utf-8")
    prompt = TEXTS["llm-judge.md"].partition('"my_verify.md"\n')[2].partition("```")[0]
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
