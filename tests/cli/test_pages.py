"""The pages: their commands and their Python run, in order, and print what the page shows.

A block with `title="FILE"` is written to that file first. The lines of an `sh` block run; those of
a `bash` block are only parsed, as they need a key, a server or a file of the reader. A block
without a language shows what the commands above it print at 80 columns; `…` is anything, alone in
a line any lines.
"""

import re
import shlex
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cases import each_case
from tests.cli.conftest import Command

from ragstone.cli import COMMANDS, completed
from ragstone.cli import ragstone as group
from ragstone.demo.questions import DATASET
from ragstone.metrics import registry

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
ELSEWHERE = {"recipes.md", "notebooks.md", "platforms.md", "many-machines.md"}
"""Pages whose Python runs in tests/integrations and tests/engines."""
PAGES = [
    page
    for folder in ("", "docs", "docs/tutorials")
    for page in sorted((ROOT / folder).glob("*.md"))
    if page.name not in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "cli.md")
]


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """Return (language, file, text) of each block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(text: str) -> list[list[str]]:
    """Return the arguments of each line that begins with `ragstone`, or ends with it."""
    lines = text.replace("\\\n", " ").replace("&& .venv/bin/", "\n").splitlines()
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("ragstone ")]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(
    page: Path,
    demo_url: str,
    ragstone: Command,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("RAGSTONE_TRUST", "1")
    monkeypatch.setattr(registry, "_metrics", dict(registry.registered()))
    monkeypatch.syspath_prepend(Path.cwd())
    for file in page.parent.glob("*.csv"):  # which a reader saves from the page
        Path(file.name).write_bytes(file.read_bytes())
    before = set(sys.modules)
    printed, codes = "", set[int]()
    names: dict[str, Any] = {"__name__": "page"}
    for language, file, block in blocks(page):
        text = block.replace("http://localhost:8000", demo_url)
        text = text.replace("path/to/test_data.xlsx", str(DATASET))
        if file:
            Path(file).parent.mkdir(parents=True, exist_ok=True)
            Path(file).write_text(text, encoding="utf-8")
        elif language == "sh":
            said = [ragstone(*words) for words in commands(text)]
            codes = {each.code for each in said}
            printed = "".join(each.out if each.out.strip() else each.err for each in said)
            assert 2 not in codes or "Error" in printed, printed
        elif language == "python" and page.name not in ELSEWHERE:
            capsys.readouterr()
            exec(compile(text, page.name, "exec"), names)
            printed = capsys.readouterr().out
        elif not language:
            check(block, printed.replace(demo_url, "http://localhost:8000"))
    assert 2 not in codes or "Error" in printed
    for name in set(sys.modules) - before:
        if name.startswith(("my_", "ragstone_user_")):
            del sys.modules[name]


def check(shown: str, printed: str) -> None:
    """Compare what a page shows with what was printed."""
    there = "".join(f"{line.rstrip()}\n" for line in printed.strip("\n").splitlines())
    pattern = ""
    for line in shown.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
    assert re.fullmatch(pattern, there), f"the page shows\n{shown}\nbut this is printed\n{there}"


@each_case("page", PAGES)
def test_every_command_of_a_page_is_one(page: Path) -> None:
    for language, file, block in blocks(page):
        for words in commands(block) if language in ("sh", "bash") and not file else ():
            arguments = completed(words, COMMANDS)
            command = group.get_command(click.Context(group), arguments[0])
            assert command is not None
            if isinstance(command, click.Group) and {*arguments[1:2]} & {*command.commands}:
                command, arguments = command.commands[arguments[1]], arguments[1:]
            command.make_context(arguments[0], arguments[1:], help_option_names=["-h", "--help"])
