"""`ragstone metrics`: the list of metrics, and the whole definition of one."""

import json
import re
from collections.abc import Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import cast

import click
from pydantic import TypeAdapter
from rich.box import SIMPLE
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from ragstone.cli.options import PLUGIN, load_plugins
from ragstone.cli.parse import config_here
from ragstone.errors import UsageError
from ragstone.metrics import GROUPS, Metric, catalogue, get, select
from ragstone.metrics.registry import OURS, origin
from ragstone.types.policy import POLICIES
from ragstone.types.sample import in_words
from ragstone.types.score import MetricInfo

# The list of metrics: a table, or a list where the terminal is too narrow for one.

WIDE = 110
"""Columns of a terminal that the table needs."""

HEADS = ("metric", "what it measures", "needs", "calls", "range", "better")

NOTES = (
    "calls: the judge's, a sample, at the parameters' defaults and with nothing in the cache.",
    f"Groups: {', '.join(GROUPS)}. A cut-off of its own: hit@10.",
    "The whole definition: ragstone metrics show NAME. Your own: --plugin FILE.py or FILE.yaml.",
)


def print_catalogue(console: Console) -> None:
    """Print every metric: what it measures, needs and costs, and how its number is read."""
    infos = list(catalogue().values())
    if console.width >= WIDE:
        console.print(_table(infos))
    else:
        _print_list(infos, console)
    for note in NOTES:
        console.print(Text(note))


def _table(infos: Sequence[MetricInfo]) -> Table:
    table = Table(box=SIMPLE, pad_edge=False, header_style="bold")
    for head in HEADS:
        whole = head in ("metric", "range", "better")
        widest = 24 if head == "needs" else None
        table.add_column(head, no_wrap=whole, max_width=widest, overflow="fold")
    for info in infos:
        said = "\n".join([info.description, *_foreign(info)])
        cells = (info.name, said, needs_shown(info), calls_shown(info.calls))
        table.add_row(*map(Text, (*cells, range_shown(info), info.better)))
    return table


def _print_list(infos: Sequence[MetricInfo], console: Console) -> None:
    for info in infos:
        console.print(Text(info.name, "bold"))
        calls = f"calls: {calls_shown(info.calls)}"
        lines = [
            info.description,
            f"needs {needs_shown(info)}" if info.needs else "",
            f"{calls}; {range_shown(info)}, {info.better} is better",
            *_foreign(info),
        ]
        for line in filter(None, lines):
            console.print(Padding(Text(line, overflow="fold"), (0, 0, 0, 2), expand=False))


def _foreign(info: MetricInfo) -> list[str]:
    """Say where a metric comes from that is not ours."""
    place = origin_shown(info.name)
    return [] if place == OURS else [f"from {place}"]


def needs_shown(info: MetricInfo) -> str:
    """Say what a metric needs, and what stands in for it where it is missing."""
    return ", ".join(map(in_words, info.needs))


def calls_shown(calls: int) -> str:
    """Say how many calls, `none` for 0."""
    return str(calls or "none")


def range_shown(info: MetricInfo) -> str:
    """Say what a score can be."""
    return f"{info.low:g} to {info.high:g}"


def origin_shown(name: str) -> str:
    """Say where a metric comes from; a file in the working folder by its path from there."""
    place = origin(name)
    path = Path(place)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if inside else place


Schema = Mapping[str, object]

_WRAPPED = re.compile(r"(?<=[^\n]{70})(?<![.:])\n(?=\S)")
"""Where a long line goes on in the next one: a narrow terminal breaks it at another place."""

_JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")


@click.group(name="metrics", invoke_without_command=True, params=[PLUGIN, _JSON])
@click.pass_context
def command(context: click.Context, plugin: tuple[str, ...], as_json: bool) -> None:
    """List the metrics: what each measures, needs and costs, its range and direction.

    Your own metrics are included: those of --plugin, of the config file in this folder, and of
    installed packages. `ragstone metrics show NAME` prints the full definition of one, with the
    parameters in its name.

    \b
    ragstone metrics
    ragstone metrics show faithfulness
    ragstone metrics show faithfulness:deepeval,verify=truths
    ragstone metrics show politeness --plugin politeness.yaml
    """
    context.obj = as_json
    load_plugins(*config_here().plugins, *plugin)
    if context.invoked_subcommand is not None:
        return
    if as_json:
        _print_json([_listed(info) for info in catalogue().values()])
    else:
        print_catalogue(Console(highlight=False))


@command.command(name="show", params=[click.Argument(["name"]), PLUGIN, _JSON])
@click.pass_obj
def show(before: bool, name: str, plugin: tuple[str, ...], as_json: bool) -> None:
    """Print the full definition of a metric; NAME may include parameters."""
    load_plugins(*plugin)
    if name in GROUPS:
        members = ", ".join(map(str, select([name])))
        raise UsageError(f"{name!r} is a group, of {members}; show one of them")
    metric = get(name)
    if as_json or before:
        _print_json(_defined(metric))
    else:
        _print_definition(metric, Console(highlight=False))


def _print_json(said: object) -> None:
    click.echo(json.dumps(said, indent=2, ensure_ascii=False))


def _listed(info: MetricInfo) -> dict[str, object]:
    return {**info.model_dump(mode="json", exclude_none=True), "from": origin_shown(info.name)}


def _defined(metric: Metric) -> dict[str, object]:
    return {
        **_listed(metric.described),
        "asks": list(metric.question_kinds),
        "parameters": {name: dict(_parameter(metric, name)) for name in _schemas(metric)},
        "groups": _groups(metric),
        "definition": cleandoc(metric.__doc__ or ""),
    }


def _print_definition(metric: Metric, console: Console) -> None:
    info = metric.described
    calls = calls_shown(info.calls)
    facts = {
        "label": info.label,
        "family": info.family,
        "range": range_shown(info),
        "direction": f"{info.better} is better",
        "needs": needs_shown(info),
        "asks": ", ".join(metric.question_kinds) or "nobody",
        "calls": calls if calls == "none" else f"{calls} a sample, at the parameters' defaults",
        "groups": ", ".join(_groups(metric)) or "none: it runs when it is named",
        "from": origin_shown(info.name),
    }
    console.print(Text(str(metric), "bold"))
    console.print(_grid(facts))
    if parameters := {name: _words(_parameter(metric, name)) for name in _schemas(metric)}:
        console.print(Text("\nparameters", "bold"))
        console.print(_grid(parameters))
    text = cleandoc(metric.__doc__ or "It says nothing of itself.")
    if max(map(len, text.splitlines())) > console.width:
        text = _WRAPPED.sub(" ", text)
    console.print(Text(f"\n{text}"))


def _grid(facts: Mapping[str, str]) -> Table:
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for about, words in facts.items():
        grid.add_row(Text(f"  {about}"), Text(words))
    return grid


def _groups(metric: Metric) -> list[str]:
    return [group for group in GROUPS if metric.name in {each.name for each in select([group])}]


def _schemas(metric: Metric) -> Mapping[str, Schema]:
    """Return parameter -> the JSON schema of its values."""
    schema = TypeAdapter(type(metric)).json_schema()
    return cast("Mapping[str, Schema]", schema.get("properties", {}))


def _parameter(metric: Metric, name: str) -> Schema:
    """Return a parameter's default, its value in this metric, and what it may be."""
    schema = _schemas(metric)[name]
    kinds = cast("list[Schema]", schema.get("anyOf", [schema]))
    kind = next(kind for kind in kinds if kind.get("type") != "null")
    values = list(POLICIES) if name == "policy" else kind.get("enum")
    least, most = kind.get("minimum"), kind.get("maximum")
    facts = {"type": kind.get("type"), "values": values, "least": least, "most": most}
    return {
        "default": schema.get("default"),
        "value": getattr(metric, name),
        **{key: value for key, value in facts.items() if value is not None},
    }


def _words(parameter: Schema) -> str:
    values, default = parameter.get("values"), parameter["default"]
    if values is not None:
        allowed = ", ".join(cast("list[str]", values))
    elif parameter.get("type") == "boolean":
        allowed = "true or false"
    else:
        kind = {"integer": "a whole number", "number": "a number"}
        allowed = kind.get(str(parameter.get("type")), "text")
        allowed += f" from {parameter['least']}" if "least" in parameter else ""
    changed = parameter["value"] != default
    said = f"{_shown(parameter['value'])}  " if changed else ""
    return f"{said}[default: {_shown(default)}]  {allowed}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
