"""`ragstone metrics`: list the metrics, define one, or show what each policy does."""

import json
import re
from collections.abc import Mapping
from inspect import cleandoc
from pathlib import Path
from typing import cast

import click
from pydantic import TypeAdapter
from rich.console import Console
from rich.text import Text

from ragstone._internal.fields import tag_text
from ragstone.cli.options import config_of, load_plugins, option, setting
from ragstone.errors import Cause, UsageError
from ragstone.metrics import GROUPS, Metric, catalogue, get, select
from ragstone.metrics.registry import OURS, origin
from ragstone.reports.terminal import Grid, GridRow, print_grid, print_pairs
from ragstone.types.claim import Label
from ragstone.types.policy import POLICIES, PRESETS, Policy, PolicyOutcome
from ragstone.types.sample import describe_field
from ragstone.types.score import MetricInfo, State

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
        needs, calls = ", ".join(map(describe_field, info.needs)), str(info.calls or "none")
        span = f"{info.low:g} to {info.high:g}"
        rows.append(GridRow((info.name, description, needs, calls, span, info.better)))
    heads = ("metric", "what it measures", "needs", "calls", "range", "better")
    print_grid(console, Grid(heads, tuple(rows), prose=frozenset(("what it measures", "needs"))))
    for note in NOTES:
        console.print(Text(note))


def _origin(name: str) -> str:
    place = origin(name)
    path = Path(place)
    inside = path.is_absolute() and path.is_relative_to(Path.cwd())
    return str(path.relative_to(Path.cwd())) if inside else place


Schema = Mapping[str, object]

_WRAPPED = re.compile(r"(?<=[^\n]{70})(?<![.:])\n(?=\S)")


@click.command(
    name="metrics",
    params=[
        click.Argument(["name"], required=False),
        option("--policies", "Show how each policy handles each situation.", is_flag=True),
        setting("plugin"),
        option("--json as_json", "Print JSON.", is_flag=True),
    ],
)
def command(name: str | None, policies: bool, plugin: tuple[str, ...], as_json: bool) -> None:
    """List the metrics: what each measures, needs and costs, its range and direction.

    Your own metrics are included: those of --plugin, of the config file in this folder, and of
    installed packages. With NAME, which may include parameters, it prints the full definition of
    one metric. With --policies, it shows how policies turn verdicts into a score, and what each
    does if there are none; choose one with `ragstone run --policy NAME`.

    \b
    ragstone metrics
    ragstone metrics faithfulness
    ragstone metrics faithfulness:deepeval,verify=truths
    ragstone metrics politeness --plugin politeness.yaml
    ragstone metrics --policies
    """
    load_plugins(*config_of().plugins, *plugin)
    console = Console(highlight=False)
    if policies:
        print_policies(console)
    elif name is not None:
        _show(name, as_json, console)
    elif as_json:
        listed = [_listed(info) for info in catalogue().values()]
        click.echo(json.dumps(listed, indent=2, ensure_ascii=False))
    else:
        print_catalogue(console)


def _show(name: str, as_json: bool, console: Console) -> None:
    if name in GROUPS:
        members = ", ".join(map(str, select([name])))
        raise UsageError(f"{name!r} is a group ({members}); specify one of them")
    metric = get(name)
    groups = [group for group in GROUPS if metric.name in {each.name for each in select([group])}]
    parameters, info = _parameters(metric), metric.described
    if as_json:
        document = {
            **_listed(info),
            "asks": list(metric.question_kinds),
            "parameters": parameters,
            "groups": groups,
            "definition": cleandoc(metric.__doc__ or ""),
        }
        click.echo(json.dumps(document, indent=2, ensure_ascii=False))
        return
    facts = {
        "label": info.label,
        "family": info.family,
        "range": f"{info.low:g} to {info.high:g}",
        "direction": f"{info.better} is better",
        "needs": ", ".join(map(describe_field, info.needs)),
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


def _listed(info: MetricInfo) -> dict[str, object]:
    return {**info.model_dump(mode="json", exclude_none=True), "from": _origin(info.name)}


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
    return "none" if value is None else tag_text(value)


def _outcome(outcome: PolicyOutcome, cause: str = "") -> str:
    if outcome.state is State.FAILED and cause:
        return f"{outcome}: {cause}"
    return str(outcome) if outcome.passes else f"{outcome}, never passes"


def outcomes(policy: Policy) -> dict[str, str]:
    unknown = Label.NOT_ENOUGH_INFO
    no_contexts = f"{policy.number([unknown]):.1f}: every claim is {unknown.value}"
    if policy.no_contexts is not None:
        no_contexts = _outcome(policy.no_contexts)
    miscounted = f"{State.FAILED.value}: {Cause.COUNT_MISMATCH.value}"
    if (rule := policy.on_count_mismatch) is not None:
        made = "mean after truncation" if rule.ignore_extra else "mean of those returned"
        made = "1 - (unsupported + missing) / claims" if rule.deduct else made
        miscounted = f"{made}, flagged; if none: {_outcome(rule.if_no_verdicts)}"
    misread = f"{State.FAILED.value}: {Cause.MALFORMED.value}"
    if policy.on_unreadable_label is not None:
        misread = f"counts as {policy.on_unreadable_label.value}, flagged"
    weights = " / ".join(f"{policy.weights[label]:g}" for label in Label)
    return {
        "response or contexts missing": State.UNDEFINED.value,
        "response is empty": _outcome(policy.empty_response),
        "judge found no claims in statements": f"{State.FAILED.value}: {Cause.NO_CLAIMS.value}",
        "no claims in the response": _outcome(policy.no_claims),
        "contexts are an empty list": no_contexts,
        "judge refused": _outcome(policy.refused, Cause.REFUSAL.value),
        "no reply (1)": _outcome(policy.unanswered, "timeout, etc."),
        "no readable reply (2)": _outcome(policy.unreadable, Cause.MALFORMED.value),
        "too few or too many verdicts (2)": miscounted,
        "one label unreadable (2)": misread,
        "otherwise: mean of the weights (3)": (
            "mean probability of support" if policy.probable else weights
        ),
        "threshold": "none" if policy.threshold is None else f"{policy.threshold:g}",
        "range": f"{policy.low:g} to {policy.high:g}",
    }


POLICY_NOTES = (
    "The first situation that applies determines the score.",
    "(1) unreachable, rejected, timed out, rate limited, truncated or over budget",
    "(2) after one retry",
    f"(3) for {' / '.join(label.value for label in Label)}",
    "flagged: imputed by the policy and counted separately; a flagged score never passes",
    "A threshold sets `passed`, not the exit code; use --fail-under for that.",
)


def print_policies(console: Console) -> None:
    for policy in POLICIES.values():
        console.print(f"{policy.name}: {policy.source}", markup=False)
        found = outcomes(policy).items()
        print_pairs(((f"  {about}", Text(outcome)) for about, outcome in found), console)
        console.print()
    for note in (*POLICY_NOTES, ""):
        console.print(note, markup=False)
    for name, settings in PRESETS.items():
        pairs = ", ".join(f"{key}={str(value).lower()}" for key, value in settings.items())
        console.print(f"--preset {name}: {pairs}", markup=False)
