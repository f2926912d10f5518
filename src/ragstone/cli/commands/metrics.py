"""`ragstone metrics`: list the metrics, or print the definition of one."""

import json
import re
from collections.abc import Mapping, Sequence
from inspect import cleandoc
from pathlib import Path
from typing import cast

import click
from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from ragstone.cli.options import PLUGIN, load_plugins, option
from ragstone.cli.parse import config_of
from ragstone.errors import UsageError
from ragstone.metrics import GROUPS, Metric, catalogue, get, select
from ragstone.metrics.registry import OURS, origin
from ragstone.reports.terminal import Grid, GridRow, print_grid, print_pairs
from ragstone.types.policy import POLICIES
from ragstone.types.sample import in_words
from ragstone.types.score import MetricInfo

NOTES = (
    "calls: judge calls per sample, with default parameters and an empty cache.",
    f"Groups: {', '.join(GROUPS)}. To set a cut-off: hit@10.",
    "Full definition: ragstone metrics NAME. Your own metrics: --plugin FILE.py or FILE.yaml.",
)


def print_catalogue(console: Console) -> None:
    rows: list[GridRow] = []
    for info in catalogue().values():
        place = _origin(info.name)
        description = info.description if place == OURS else f"{info.description} (from {place})"
        needs, calls = ", ".join(map(in_words, info.needs)), str(info.calls or "none")
        rows.append(GridRow((info.name, description, needs, calls, _range(info), info.better)))
    heads = ("metric", "what it measures", "needs", "calls", "range", "better")
    print_grid(console, Grid(heads, tuple(rows), prose=frozenset(("what it measures", "needs"))))
    for note in NOTES:
        console.print(Text(note))


def _range(info: MetricInfo) -> str:
    return f"{info.low:g} to {info.high:g}"


def _origin(name: str) -> str:
    place = origin(name)
    path = Path(place)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if inside else place


Schema = Mapping[str, object]

_WRAPPED = re.compile(r"(?<=[^\n]{70})(?<![.:])\n(?=\S)")
"""A line break within a paragraph, to be removed if the terminal is narrower."""

_JSON = option("--json as_json", "Print JSON.", is_flag=True)


class _Metrics(click.Group):
    """`metrics NAME` is short for `metrics show NAME`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        return super().resolve_command(ctx, args if args[0] in self.commands else ["show", *args])


@click.group(name="metrics", cls=_Metrics, invoke_without_command=True, params=[PLUGIN, _JSON])
@click.pass_context
def command(context: click.Context, plugin: tuple[str, ...], as_json: bool) -> None:
    """List the metrics: what each measures, needs and costs, its range and direction.

    Your own metrics are included: those of --plugin, of the config file in this folder, and of
    installed packages. `ragstone metrics NAME` prints the full definition of one
    metric; NAME may include parameters.

    \b
    ragstone metrics
    ragstone metrics faithfulness
    ragstone metrics faithfulness:deepeval,verify=truths
    ragstone metrics politeness --plugin politeness.yaml
    """
    context.obj = as_json
    load_plugins(*config_of().plugins, *plugin)
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
        raise UsageError(f"{name!r} is a group ({members}); specify one of them")
    metric = get(name)
    groups = [group for group in GROUPS if metric.name in {each.name for each in select([group])}]
    parameters = _parameters(metric)
    if not (as_json or before):
        _print_definition(metric, parameters, groups, Console(highlight=False))
        return
    _print_json(
        {
            **_listed(metric.described),
            "asks": list(metric.question_kinds),
            "parameters": parameters,
            "groups": groups,
            "definition": cleandoc(metric.__doc__ or ""),
        }
    )


def _print_json(document: object) -> None:
    click.echo(json.dumps(document, indent=2, ensure_ascii=False))


def _listed(info: MetricInfo) -> dict[str, object]:
    return {**info.model_dump(mode="json", exclude_none=True), "from": _origin(info.name)}


def _print_definition(
    metric: Metric, parameters: Mapping[str, Schema], groups: Sequence[str], console: Console
) -> None:
    info = metric.described
    facts = {
        "label": info.label,
        "family": info.family,
        "range": _range(info),
        "direction": f"{info.better} is better",
        "needs": ", ".join(map(in_words, info.needs)),
        "asks": ", ".join(metric.question_kinds) or "nothing",
        "calls": f"{info.calls} per sample, with default parameters" if info.calls else "none",
        "groups": ", ".join(groups) or "none; specify it by name",
        "from": _origin(info.name),
    }
    console.print(Text(str(metric), "bold"))
    _print_facts(facts, console)
    if parameters:
        console.print(Text("\nparameters", "bold"))
        _print_facts({name: _described(each) for name, each in parameters.items()}, console)
    text = cleandoc(metric.__doc__ or "No description.")
    if max(map(len, text.splitlines())) > console.width:
        text = _WRAPPED.sub(" ", text)
    console.print(Text(f"\n{text}"))


def _print_facts(facts: Mapping[str, str], console: Console) -> None:
    print_pairs(((f"  {about}", Text(words)) for about, words in facts.items()), console)


def _parameters(metric: Metric) -> dict[str, Schema]:
    schema = TypeAdapter(type(metric)).json_schema()
    parameters: dict[str, Schema] = {}
    for name, either in cast("Mapping[str, Schema]", schema.get("properties", {})).items():
        kinds = cast("list[Schema]", either.get("anyOf", [either]))
        kind = next(kind for kind in kinds if kind.get("type") != "null")
        facts = {
            "type": kind.get("type"),
            "values": list(POLICIES) if name == "policy" else kind.get("enum"),
            "least": kind.get("minimum"),
            "most": kind.get("maximum"),
        }
        parameters[name] = {
            "default": either.get("default"),
            "value": getattr(metric, name),
            **{key: fact for key, fact in facts.items() if fact is not None},
        }
    return parameters


def _described(parameter: Schema) -> str:
    values, kind = parameter.get("values"), parameter.get("type")
    if values is not None:
        allowed = ", ".join(cast("list[str]", values))
    elif kind == "boolean":
        allowed = "true or false"
    else:
        words = {"integer": "a whole number", "number": "a number"}
        allowed = words.get(str(kind), "text")
        allowed += f" of at least {parameter['least']}" if "least" in parameter else ""
    value, default = parameter["value"], parameter["default"]
    changed = f"{_shown(value)}  " if value != default else ""
    return f"{changed}[default: {_shown(default)}]  {allowed}"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "none" if value is None else str(value)
