"""`ragstone init`: a commented settings file and a data template to start from."""

import json
import shlex
from collections.abc import Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from textwrap import TextWrapper

import click
from pydantic_core import PydanticUndefinedType

from ragstone._internal.files import check_writable, write_text
from ragstone._internal.text import public_url
from ragstone.cli.options import option
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import FILE
from ragstone.types import config

API = "rag_api.yaml"
SCHEMA = ".ragstone/ragstone.schema.json"
_HEAD = f"""\
# yaml-language-server: $schema={SCHEMA}
# Settings of `ragstone run` in this folder. Options on the command line take precedence.
# Delete the `#` of a line like `#k: 5` to change that setting; CAPITALS are placeholders.
# `ragstone run --help-all` lists all settings. API keys belong in the environment only."""
_WRAP = TextWrapper(98, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


@click.command(
    name="init",
    params=[
        click.Argument(["folder"], default=".", type=click.Path(path_type=Path)),
        option("--target", "Call the RAG API at this URL instead of reading saved answers."),
    ],
)
def command(folder: Path, target: str | None) -> None:
    """Write a commented ragstone.yaml and a small data set to start from.

    The data set is answers.csv, with answers to evaluate; its rows are examples to replace. With
    --target, it is questions.csv, and rag_api.yaml describes the calls to the API. Existing files
    are never replaced, except the generated schema for editors in .ragstone. The command that is
    printed last works without changes.

    \b
    ragstone init
    ragstone init evaluation --target http://localhost:8000
    """
    data = "questions.csv" if target else "answers.csv"
    chosen = {"data": data, "metrics": "[faithfulness, context_precision]"}
    templates = files("ragstone")
    texts = {data: templates.joinpath("cli/templates", data).read_text(encoding="utf-8")}
    if target:
        if not target.startswith(("http://", "https://")):
            fix = f"such as {config.DEFAULT_API}; set a function or a file as `target` in {FILE}"
            raise UsageError(f"--target must be a URL, {fix}")
        if public_url(target) != target:
            fix = f"write it in {API} as ${{NAME}}, and set the environment variable NAME"
            raise UsageError(f"--target contains a password or key, which is not saved; {fix}")
        chosen |= {"target": API, "metrics": "[hit, mrr, faithfulness]"}
        api = templates.joinpath("targets", API).read_text(encoding="utf-8")
        base = api.index("base: ")
        texts[API] = (
            f"# How the RAG API is called: see docs/targets.md.\nbase: {json.dumps(target)}"
        )
        texts[API] += api[api.index("\n", base) :]
    texts[str(FILE)] = settings_text(chosen)

    for name in texts:
        if (folder / name).exists():
            raise UsageError(f"{folder / name} already exists; name another folder")
        check_writable(folder / name)
    write_text(folder / SCHEMA, json.dumps(config.settings_schema(), indent=2) + "\n")
    for name, text in texts.items():
        write_text(folder / name, text)
        click.echo(f"wrote {folder / name}")
    start = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    click.echo(f"\nNext: {start}ragstone run --html report.html")


def settings_text(chosen: Mapping[str, str]) -> str:
    """Return a config file with the `chosen` settings (name -> YAML), others as comments."""

    def lines(name: str) -> Iterator[str]:
        setting, default = config.SETTINGS[name], config.Settings.model_fields[name].default
        place = setting.metavar or name.upper()
        value = setting.default
        if isinstance(default, bool):
            value = json.dumps(default)
        elif name in config.NUMBERS_OR_NONE:
            value = "none"
        elif not default or isinstance(default, PydanticUndefinedType):
            value = f"{{{place.replace('=', ': ')}}}" if "=" in place else place
        key = setting.keys[0] if name == "columns" else name
        yield ""
        yield from _WRAP.wrap(setting.description)
        yield f"{key}: {chosen[name]}" if name in chosen else f"#{key}: {value}"

    found = [_HEAD, *(line for name in chosen for line in lines(name))]
    for group in config.GROUPS:
        names = [
            each.name for each in config.SETTINGS.values() if each.group == group and each.common
        ]
        if names := [name for name in names if name not in chosen]:
            found += ["", f"# == {group}", *(line for name in names for line in lines(name))]
    return "\n".join([*found, ""])
