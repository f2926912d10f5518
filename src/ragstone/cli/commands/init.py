"""`ragstone init`: a commented settings file and a data template to start from."""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from importlib.resources import files
from pathlib import Path
from textwrap import TextWrapper
from typing import Any

import click
from pydantic_core import PydanticUndefinedType

from ragstone._internal.concurrency import run_sync
from ragstone._internal.files import check_writable, write_text
from ragstone._internal.secrets import tells_secret
from ragstone._internal.text import count, join_by_reason, public_url, quoted
from ragstone.cli import TOO_MUCH_FAILED, options, say
from ragstone.cli.options import Given, option
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import FILE, read_config
from ragstone.evaluation.probe import NoAnswerError, ask_api
from ragstone.targets.spec import fields_in
from ragstone.types import config

API = "rag_api.yaml"
SCHEMA = ".ragstone/ragstone.schema.json"
_HEAD = f"""\
# yaml-language-server: $schema={SCHEMA}
# Settings of `ragstone run` in this folder. Options on the command line take precedence.
# Delete the `#` of a line like `#k: 5` to change that setting; CAPITALS are placeholders.
# `ragstone run --help-all` lists all settings. API keys belong in the environment only."""
_BODY = """--body '{"question": "{query}", "top_k": "{k}"}'"""
_WRAP = TextWrapper(98, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


@click.command(
    name="init",
    params=[
        click.Argument(["folder"], default=".", type=click.Path(path_type=Path)),
        option("--target", "Call the RAG API at this URL instead of reading saved answers."),
        option("--ask", "Send this question to --target, and describe its reply.", metavar="TEXT"),
        option("--body", "The JSON that --ask sends; {query} is the question.", metavar="JSON"),
        option(
            "--header headers",
            "A header that --ask sends; write keys as ${NAME} of the environment.",
            multiple=True,
            metavar="NAME=VALUE",
        ),
    ],
)
def command(folder: Path, target: str | None, **given: Any) -> None:
    """Write a commented ragstone.yaml and a small data set to start from.

    The data set is answers.csv, with answers to evaluate; its rows are examples to replace. With
    --target, it is questions.csv, and rag_api.yaml describes the calls to the API. With --ask, one
    question is sent to that URL, and the file describes where the answer and the contexts are in
    its reply; without --body, the usual names of a question are tried. Existing files are never
    replaced, except the generated schema for editors in .ragstone. The command printed last runs
    as it is, unless you used --target without --ask: then edit rag_api.yaml first.

    \b
    ragstone init
    ragstone init --target https://rag.example/ask --ask "How long is the warranty?"
    ragstone init --target https://rag.example/v2/ask --ask "How long is the warranty?" \\
        --header 'Authorization=Bearer ${RAG_KEY}' --body '{"input": {"text": "{query}"}}'
    """
    data = "questions.csv" if target else "answers.csv"
    chosen = {"data": data}
    templates = files("ragstone")
    texts = {data: templates.joinpath("cli/templates", data).read_text(encoding="utf-8")}
    if not (target and given["ask"]) and any(given.values()):
        raise UsageError("--ask needs --target URL, and --body and --header need --ask")
    if target:
        if not target.startswith(("http://", "https://")):
            fix = f"such as {config.DEFAULT_API}; set a function or a file as `target` in {FILE}"
            raise UsageError(f"--target must be a URL, {fix}")
        if public_url(target) != target:
            fix = f"write it in {API} as ${{NAME}}, and set the environment variable NAME"
            raise UsageError(f"--target contains a password or key, which is not saved; {fix}")
        chosen["target"] = API
    if target and not given["ask"]:
        api = templates.joinpath("targets", API).read_text(encoding="utf-8")
        base = api.index("base: ")
        texts[API] = (
            f"# How the RAG API is called: see docs/connect.md.\nbase: {json.dumps(target)}"
        )
        texts[API] += api[api.index("\n", base) :]
    for name in (*texts, API, FILE) if target else (*texts, FILE):
        if (folder / name).exists():
            raise UsageError(f"{folder / name} already exists; name another folder")
        check_writable(folder / name)
    if target and (query := given["ask"]):
        texts[API] = _describe_api(target, query, given)
        cell = query.replace('"', '""')
        texts[data] = f'query,reference,relevance\n"{cell}",,\n'
    texts[str(FILE)] = settings_text(chosen)
    write_text(folder / SCHEMA, json.dumps(config.settings_schema(), indent=2) + "\n")
    for name, text in texts.items():
        write_text(folder / name, text)
        click.echo(f"wrote {folder / name}")
    options.remember_trust(folder / FILE, read_config(folder / FILE))
    if target:
        ask = f"\n{API} is a template: edit it to fit your API, or let --ask write it."
        more = f"\nAdd your questions to {data}, with references or relevant ids if you have them."
        click.echo(more if given["ask"] else ask)
    start = "" if folder == Path() else f"cd {shlex.quote(str(folder))} && "
    click.echo(f"\nNext: {start}ragstone run --html report.html")


def _describe_api(url: str, query: str, given: Given) -> str:
    """Ask the API, show what it replied, and return the file that describes it."""
    headers = options.pairs_of(given["headers"], "--header")
    if tells_secret("headers", headers):
        raise UsageError("--header contains a key, which is not saved; write it as '${NAME}'")
    try:
        body = given["body"] and json.loads(given["body"])
    except ValueError as error:
        raise UsageError(f"--body is not JSON ({error}); write {_BODY}") from None
    if given["body"] and {"query", "messages"}.isdisjoint(fields_in(body)):
        raise UsageError(f"--body does not contain the question; write {_BODY}")
    try:
        text, reply, found = run_sync(partial(ask_api, url, query, body=body, headers=headers))
    except NoAnswerError as error:
        for line in join_by_reason(error.tries):
            say(line)
        say(f"Nothing was written. Send what your API expects with --header NAME=VALUE and {_BODY}")
        sys.exit(TOO_MUCH_FAILED)
    click.echo(f"The API replied: {quoted(reply, 600)}\n")
    for field, (path, value) in found.items():
        seen = value
        if not isinstance(value, str):
            seen = f"{count(len(value), 'context')}, the first: {value[0].text}"
        click.echo(f"{field:9} {path}\n{'':9} {quoted(seen)}")
    if "contexts" not in found:
        click.echo(f"contexts  no list of texts in the reply; add a path to {API} if it has one")
    click.echo()
    return f"# How the RAG API is called, as its reply shows: see docs/connect.md.\n{text}"


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
