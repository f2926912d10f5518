"""From the typed options to a plan, data and a store."""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import click
from click.core import ParameterSource

from ragstone._internal.fields import split_threshold
from ragstone._internal.text import public_url
from ragstone.cli.options import Given, explicit_settings, one_of, store_files, typed_settings
from ragstone.demo.questions import DATASET
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import FILE, Config, read_config
from ragstone.evaluation.effects import check_judge_settings
from ragstone.evaluation.preflight import with_llm
from ragstone.evaluation.recorder import StoreOptions
from ragstone.integrations.opentelemetry import exporting
from ragstone.judges.llm.model import UNTRACED, Tracing
from ragstone.metrics import catalogue, select
from ragstone.store import RunInfo, Store
from ragstone.store.engine import display_name
from ragstone.types.config import DEFAULT_API, DEFAULT_STORE, Plan
from ragstone.types.gate import Gate

RUN = "RUN is an id, the start of an id, a tag, or `last`."
"""Part of the help of commands that take a RUN."""


def store_option_value(given: str | None, *, no_store: bool) -> str | None:
    if no_store and is_store_typed():
        raise UsageError(f"--no-store stores nothing; remove it, or --store {display_name(given)}")
    return (
        given if _source() in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT) else None
    )


def is_store_typed() -> bool:
    return _source() is ParameterSource.COMMANDLINE


def _source() -> ParameterSource | None:
    return click.get_current_context().get_parameter_source("store")


def open_store(
    place: str | None, *, make: bool = False, reading: bool = False, made_by: str = "ragstone run"
) -> Store:
    """Open an existing store; with `make`, create a SQLite file if it is missing.

    With `reading`, it may be read-only. `made_by` is the command that creates one, for the message
    if it is missing.
    """
    path = Path(place or DEFAULT_STORE)
    if not make and "://" not in str(place) and not path.exists():
        raise UsageError(
            f"there is no store at {path}: `{made_by}` creates one in the current "
            "folder; change to another folder, or name a store with --store or RAGSTONE_STORE"
        )
    if "://" not in str(place) and path.is_dir():
        raise UsageError(f"{path} is a folder; name a file in it")
    return Store.open(place, reading=reading)


def read_by(store: Store, *infos: RunInfo) -> list[str | Path]:
    paths = (path for info in infos if (path := info.manifest.source.path))
    return [*store_files(store.name), *paths]


_TRUSTED = ("target", "base_url")
"""Settings with which a config file can run code or redirect a key; they are printed."""


def store_options_of(given: Given, config: Config) -> StoreOptions:
    place = store_option_value(given["store"], no_store=given["no_store"])
    scored: StoreOptions = {"scored": given["scored"]} if given["scored"] else {}
    if given["no_store"]:
        if given["fresh"] or given["no_transcript"]:
            raise UsageError("--no-store stores nothing; remove --fresh and --no-transcript")
        return scored
    return {
        **scored,
        "store": place or config.store or True,
        "fresh": given["fresh"],
        "transcript": not given["no_transcript"],
    }


Gates = Sequence[Gate]


def config_of(path: Path | None = None) -> Config:
    if path is None and not FILE.is_file():
        return Config()
    config = read_config(path or FILE)
    places = config.store, config.settings.get("reply_cache")
    servers = (place for place in places if "://" in str(place))
    named = (*map(config.settings.get, _TRUSTED), *servers)
    references = [*config.plugins, *map(str, filter(None, named))]
    more = f" It uses {', '.join(map(public_url, references))}." if references else ""
    click.echo(f"Settings from {path or FILE}.{more}", err=True)
    return config


def plan_of(given: Given, config: Config) -> Plan:
    typed = typed_settings(given)
    if "target" not in {**config.settings, **typed}:
        typed["fallback_target"] = DEFAULT_API
    plan = config.plan(typed, preset_name=given["preset"])
    if given["metrics"]:
        plan = _without_idle_gates(plan, config, typed=cast("Gates", typed.get("gates", ())))
    check_judge_settings(explicit_settings(given), with_llm(plan))
    return plan


def _without_idle_gates(plan: Plan, config: Config, *, typed: Gates) -> Plan:
    written = cast("Gates", config.settings.get("gates", ()))
    chosen = {metric.name for metric in select(plan.metrics, **plan.parameters)}
    names = catalogue()
    idle = [
        gate
        for gate in plan.gates
        if gate in written
        and gate not in typed
        and (name := split_threshold(gate.metric)[0]) in names
        and name not in chosen
    ]
    if idle:
        words = ", ".join(f"{gate.metric} {gate.op} {gate.threshold:g}" for gate in idle)
        click.echo(
            f"Not checked: the config file's gates {words}, because --metric leaves out their "
            "metrics",
            err=True,
        )
    return plan.model_copy(update={"gates": tuple(g for g in plan.gates if g not in idle)})


def data_of(given: Given, config: Config) -> str | Path:
    named = one_of("DATA", given["data"], "--test-data", given["test_data"]) or config.data
    if named is not None:
        return named
    here = Path(DATASET.name)
    if here.exists():
        return here
    click.echo(f"No DATA given: using ragstone's sample data set, {DATASET.name}.", err=True)
    return DATASET


def files_read(given: Given, config: Config, plan: Plan) -> Sequence[str | Path]:
    place = store_option_value(given["store"], no_store=given["no_store"]) or config.store
    plugins = (*config.plugins, *given["plugin"])
    named = (plan.target, *plan.prompts.values(), *plugins, given["config"] or FILE)
    read = [name for name in named if name is not None and Path(name).is_file()]
    return [*read, *store_files(place)]


@contextmanager
def tracing_of(otel: bool) -> Generator[Tracing, None, None]:
    """Trace the block if `otel` is set."""
    if not otel:
        yield UNTRACED
        return
    with exporting(os.environ) as tracing:
        yield tracing
