"""The docs: their code runs, their names exist, and what the commands say is not typed by hand."""

import ast
import importlib.util
import pkgutil
import re
from pathlib import Path
from typing import Any

import click
import pytest
from tests.cases import each_case

import ragstone
from ragstone.cli import COMMANDS, METRIC
from ragstone.cli.commands.run import command as run_command
from ragstone.evaluation.config_file import KEYS, read_config
from ragstone.metrics import GROUPS, catalogue
from ragstone.types.config import SETTINGS, Plan
from ragstone.types.policy import POLICIES

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
CODE = re.compile(r"^```py(?:thon)?\b[^\n]*\n(.*?)^```", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\[[^\]]+\]\(([^)#]+)(#[^)]*)?\)")


@each_case("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith("http"):
            place = page.parent / target
            assert place.exists(), f"{page.name}: {target}"
            if anchor:
                headings = re.findall(r"^#+ (.+)$", place.read_text(encoding="utf-8"), re.MULTILINE)
                assert anchor[1:] in {slug(heading) for heading in headings}, anchor


def slug(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_page_of_the_command_line_is_what_the_commands_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    page = script("make_cli_page").page()
    text = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert text == page, "run: python scripts/make_cli_page.py"


def script(name: str) -> Any:
    """Return a module of the folder `scripts`."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "scripts" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_metrics_name_is_one_on_the_command_line_too() -> None:
    others = ("hit@10", "precision@5,denominator=retrieved", "faithfulness:strict")
    for name in (*catalogue(), *others):
        assert METRIC.fullmatch(name), name


def test_examples_of_the_commands_keep_their_lines() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    assert "\n  ragstone data.xlsx --api-url http://localhost:8000\n" in page
    assert "\\b" not in page


def everything() -> str:
    return "\n".join(page.read_text(encoding="utf-8") for page in PAGES)


@each_case("name", [*COMMANDS, *catalogue(), *GROUPS, *POLICIES])
def test_every_name_is_in_the_docs(name: str) -> None:
    assert f"`{name}" in everything() or f"ragstone {name}" in everything()


def test_every_option_is_on_the_page_of_the_command_line() -> None:
    page = (ROOT / "docs/cli.md").read_text(encoding="utf-8")
    for option in run_command.params:
        if isinstance(option, click.Option):
            assert all(flag in page for flag in (*option.opts, *option.secondary_opts))


def test_every_setting_with_an_option_is_an_option_of_run() -> None:
    there = {
        flag for option in run_command.params for flag in (*option.opts, *option.secondary_opts)
    }
    for setting in SETTINGS.values():
        if setting.option:
            flags = {part for flag in setting.flags for part in flag.split("/")}
            assert flags & {*there, "DATA"}, f"{setting.name} is not in cli/options.py"


def test_the_settings_on_the_page_are_those_declared() -> None:
    make = script("make_settings_page")
    text = make.PAGE.read_text(encoding="utf-8")
    assert text == make.page(text), "run: python scripts/make_settings_page.py"
    assert make.SCHEMA.read_text(encoding="utf-8") == make.schema()


def test_every_key_of_the_config_is_on_its_page() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    for key in KEYS:
        assert f"`{key}`" in page, key


def test_the_config_of_the_page_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    examples = re.findall(r"^```yaml\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    for name in re.findall(r"\$\{(\w+)\}", "".join(examples)):
        monkeypatch.setenv(name, "localhost")
    for number, example in enumerate(examples):
        path = tmp_path / f"{number}.yaml"
        path.write_text(example, encoding="utf-8")
        assert read_config(path).plan() != Plan()
    assert examples


def test_every_name_that_an_example_imports_is_on_the_page_of_the_python_reference() -> None:
    page = (ROOT / "docs/python.md").read_text(encoding="utf-8")
    documented = {locate(name) for name in re.findall(r"^::: (\S+)", page, re.MULTILINE)}
    examples = [path.read_text(encoding="utf-8") for path in (ROOT / "examples").glob("*.py")]
    examples += [code for path in PAGES for code in CODE.findall(path.read_text(encoding="utf-8"))]
    imported = {
        f"{each.module}.{name.name}"
        for code in examples
        for each in ast.walk(ast.parse(code))
        if isinstance(each, ast.ImportFrom) and (each.module or "").startswith("ragstone")
        for name in each.names
    }
    public = {f"ragstone.{name}" for name in ragstone.__all__ if not name.startswith("_")}
    compat = {name for name in imported if name.startswith("ragstone.compat.")}
    missing = [name for name in imported | public - compat if locate(name) not in documented]
    assert not missing


def locate(name: str) -> int:
    """Return the identity of what a dotted name leads to."""
    return id(pkgutil.resolve_name(name))


def test_every_page_is_in_the_list_for_assistants() -> None:
    listed = set(re.findall(r"\]\((\S+?)\)", (ROOT / "docs/llms.txt").read_text(encoding="utf-8")))
    pages = [page for page in (ROOT / "docs").rglob("*.md") if "internals" not in page.parts]
    assert listed == {page.relative_to(ROOT / "docs").as_posix() for page in pages}
