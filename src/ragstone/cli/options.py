"""The options of the commands, made from `types.config.SETTINGS`, and what is made from them."""

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from hashlib import sha256
from importlib.machinery import all_suffixes
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, cast, get_args, get_origin

import click
from click.core import ParameterSource
from pydantic.fields import FieldInfo

from ragstone._internal.fields import no_constant, split_threshold
from ragstone._internal.secrets import VARIABLE
from ragstone._internal.text import public_url, quoted
from ragstone.cli import load, say
from ragstone.errors import InputError, Problem, RagstoneError, UsageError
from ragstone.evaluation import config_file
from ragstone.evaluation.config_file import FILE, Config
from ragstone.evaluation.preflight import check_judge_settings, with_llm
from ragstone.metrics import catalogue, select
from ragstone.metrics.registry import load_plugin
from ragstone.types.config import (
    DEFAULT_API,
    DEFAULT_STORE,
    NUMBERS_OR_NONE,
    SETTINGS,
    Manifest,
    Plan,
    Settings,
)
from ragstone.types.gate import FLAGS, Gate, gate

if TYPE_CHECKING:
    from ragstone.evaluation.runner import Options
    from ragstone.store import RunInfo, Store

Given = Mapping[str, Any]
"""The options of a command by name, as click passes them; None or empty if not given."""
_METAVARS: Mapping[object, str] = {int: "N", float: "NUMBER"}
_MULTIPLE: Sequence[object] = (tuple, Mapping)
_ENDS = ("gt", "ge", "le")


class Option(click.Option):
    """An option that the short help shows if it is `common`."""

    common = True


def option(
    flags: str,
    description: str,
    *,
    least: int | None = None,
    choices: Iterable[str] = (),
    path: str = "",
    common: bool = True,
    **more: Any,
) -> Option:
    """Return an option whose default, if there is one, is in the help.

    `flags` are separated by blanks. A value is a whole number of at least `least`, one of the
    `choices`, or a path, for which `path` is the placeholder; otherwise text, or click's `type`.
    """
    if least is not None:
        more = {"type": click.IntRange(least), "metavar": "N", **more}
    if choices:
        more["type"] = click.Choice([*choices])
    if path:
        more |= {"type": click.Path(path_type=Path), "metavar": path}
    more.setdefault("show_default", more.get("default") is not None)
    made = Option(flags.split(), help=description, **more)
    made.common = common
    return made


class SettingOption(Option):
    """The option of a setting; None (or empty) if not given: a config file or preset may set it."""

    def __init__(self, name: str, description: str = "") -> None:
        setting, field = SETTINGS[name], Settings.model_fields[name]
        kind = _kind(field.annotation)
        self._setting, self._description = setting, description
        self.common = setting.common
        super().__init__(
            [*setting.flags, name],
            type=_type(field) if name in Plan.model_fields and not setting.metavar else None,
            metavar=setting.metavar or _METAVARS.get(kind),
            multiple=get_origin(kind) in _MULTIPLE and name != "k",
            default=None,
            show_default=setting.default or False,
        )

    def type_cast_value(self, ctx: click.Context, value: object) -> object:
        if not isinstance(value, str) or self.name not in Plan.model_fields:
            return super().type_cast_value(ctx, value)
        if value.lower() == "none" and self.name in NUMBERS_OR_NONE:
            return "none"
        try:
            return getattr(Plan.of({self.name: value}), self.name)
        except UsageError as error:
            reason = str(error).removeprefix(f"{self.name}: ")
            raise click.BadParameter(reason, ctx=ctx, param=self) from None

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        self.help = self._description or self._setting.description
        record, default = super().get_help_record(ctx), self._setting.default
        text = f"default: {default}"
        return record and (record[0], record[1].replace(f"default: ({default})", text))


setting = SettingOption


def _kind(annotation: object) -> object:
    parts = [part for part in get_args(annotation) if part is not NoneType]
    if get_origin(annotation) is Annotated:
        return _kind(parts[0])
    return _kind(parts[-1]) if get_origin(annotation) in (Union, UnionType) else annotation


def _type(field: FieldInfo) -> "click.ParamType[Any] | None":
    kind = _kind(field.annotation)
    if get_origin(kind) is Literal:
        return click.Choice(get_args(kind))
    if kind is bool:
        return None
    if kind not in _METAVARS:
        return click.STRING
    ends: dict[str, Any] = {}  # from annotated_types.Gt, Ge and Le
    for constraint in field.metadata:
        ends |= {name: getattr(constraint, name) for name in _ENDS if hasattr(constraint, name)}
    if not ends:
        return click.FLOAT
    made = click.IntRange if kind is int else click.FloatRange
    return made(ends.get("gt", ends.get("ge")), ends.get("le"), min_open="gt" in ends)


Groups = Mapping[str, Sequence[click.Option]]  # heading -> the options under it
_ALL = "ragstone.help_all"


class GroupedCommand(click.Command):
    """A command with headings in its help; with HELP_ALL, the help has only common options."""

    def __init__(
        self, name: str, *, groups: Groups, params: Sequence[click.Parameter], **more: Any
    ) -> None:
        self._groups = groups
        self._grouped = [option for group in groups.values() for option in group]
        super().__init__(name, params=[*params, *self._grouped], **more)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rest = [option for option in options if option not in self._grouped]
        complete = HELP_ALL not in self.params or ctx.meta.get(_ALL)
        for heading, options in {**self._groups, "Help": rest}.items():
            shown = [each for each in options if complete or getattr(each, "common", True)]
            if records := [record for each in shown if (record := each.get_help_record(ctx))]:
                with formatter.section(heading):
                    formatter.write_dl(records)


def full_help(ctx: click.Context) -> str:
    ctx.meta[_ALL] = True
    return ctx.get_help()


def _show_all(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        click.echo(full_help(ctx))
        ctx.exit()


HELP_ALL = option(
    "--help-all",
    "Show all options and exit.",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_all,
)


GATES = tuple(
    map(setting, ("fail_under", "fail_over", "min_coverage", "gates_on", "max_failure_rate"))
)
CORRECTION = (setting("calibration"), setting("gates_on"))


def with_correction(manifest: Manifest, given: Given, store: "Store") -> Plan:
    """Return the plan of a stored run, with the calibration and the kind of gates if given."""
    plan = manifest.plan
    names = ("calibration", "gates_on")
    update = {name: value for name, value in given.items() if name in names and value}
    if on := update.get("gates_on"):
        if not plan.gates:
            say(f"Note: --gates-on {on} has no effect: the run has no gate")
        gates = [g if g.of == "scored" else g.model_copy(update={"of": on}) for g in plan.gates]
        update["gates"] = tuple(gates)
    changed = plan.model_copy(update=update)
    if changed.calibration is not None:
        store.check_labels(load("results.calibration").load_calibration(changed.calibration))
    elif on == "corrected":
        raise UsageError("--gates-on corrected needs --calibration NAME")
    return changed


@dataclass(frozen=True)
class FileFormat:
    """A format of results: its help, extensions, and whether it may go to standard output."""

    description: str
    extensions: Sequence[str]
    piped: bool = True


_TABLES = (".jsonl", ".csv", ".parquet", ".json", ".ndjson")
FILES: Mapping[str, FileFormat] = {
    "html": FileFormat("Write a self-contained HTML report.", (".html", ".htm"), piped=False),
    "json": FileFormat("Write the result as JSON.", (".json",)),
    "rows": FileFormat("Write one line per sample: .jsonl, .csv or .parquet.", _TABLES),
    "claim_rows": FileFormat("Write one line per judged claim: .jsonl, .csv or .parquet.", _TABLES),
    "markdown": FileFormat(
        "Write the summary as Markdown, for a pull request.", (".md", ".markdown")
    ),
    "latex": FileFormat("Write the table of all systems for LaTeX, with booktabs.", (".tex",)),
    "junit": FileFormat(
        "Write JUnit XML for CI: one test per sample and metric.", (".xml",), piped=False
    ),
}

WORKBOOK = option("-o --output", "Write a workbook.", path="FILE")


def written(name: str, description: str = "") -> click.Option:
    path = "FILE|-" if FILES[name].piped else "FILE"
    text = description or FILES[name].description
    return option(f"--{name.replace('_', '-')} {name}", text, path=path)


VERBOSE = option("-v --verbose", "Print the results of each query.", is_flag=True)
RESULTS = (
    VERBOSE,
    option(
        "-o --output",
        "The workbook to write.  [default: named after the metric and time, in ./results/]",
        path="FILE",
    ),
    option("--no-export", "Write no workbooks.", is_flag=True),
    *(written(name) for name in FILES if name != "latex"),
)


STORED_RESULTS = (WORKBOOK, *(each for each in RESULTS if each.name not in ("output", "no_export")))
"""For commands that write a workbook of a stored run only if one is named."""

FORMS = {  # how the options with pairs are written
    "--set": "KEY=VALUE, such as temperature=0.7",
    "--map": "FIELD=COLUMN, such as query=Question",
    "--prompt": "KIND=FILE, such as verify_claims=my.md",
    "--header": "NAME=VALUE, such as 'Authorization=Bearer ${KEY}'",
    "--judge-header": "NAME=VALUE, such as X-Team=search",
    "--judge-body": "KEY=JSON, such as enable_thinking=false",
}


def pairs_of(typed: Sequence[str], flag: str = "--map") -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in typed:
        field, equals, column = text.partition("=")
        if not equals or not field.strip() or not column.strip():
            raise UsageError(f"{flag} {text}: write {FORMS[flag]}")
        pairs[field.strip()] = column.strip()
    return pairs


def _json_of(key: str, text: str) -> object:
    try:
        return json.loads(text, parse_constant=no_constant)
    except ValueError as error:
        fix = f"""write a text as --judge-body {key}='"{text}"'"""
        raise UsageError(f"--judge-body {key}={text!r} is not JSON ({error}); {fix}") from None


def typed_settings(given: Given) -> dict[str, object]:
    others = config_file.settings_of(pairs_of(given.get("set_", ()), "--set"))
    for name in others:
        if SETTINGS[name].option:
            raise UsageError(f"--set {name}: use its own option, {SETTINGS[name].flags[-1]}")
    found: dict[str, object] = {
        name: given[name] for name in Plan.model_fields.keys() & given.keys()
    }
    if "metrics" in given:
        found["metrics"] = config_file.metric_names(given["metrics"])
    if "judge" in given:
        model = given["model"] and config_file.model_names(given["model"])
        judge = one_of("--judge", given["judge"], "--model", model)
        from_environment = os.environ.get("RAGSTONE_JUDGE", "").strip() or None
        found["judge"] = from_environment if judge is None else judge
    if embedding_model := given.get("embedding_model"):
        found["embedding_model"] = config_file.model_names(embedding_model)
    if "api_url" in given:
        found["target"] = one_of("--target", given["target"], "--api-url", given["api_url"])
    for name in config_file.NAMED:
        found[name] = pairs_of(given.get(name, ()), SETTINGS[name].flags[-1])
    bodies = cast("dict[str, str]", found["judge_body"])
    found["judge_body"] = {key: _json_of(key, text) for key, text in bodies.items()}
    found["gates"] = tuple(
        gate(text, *demand) for name, demand in FLAGS.items() for text in given.get(name, ())
    )
    return others | {name: value for name, value in found.items() if value not in (None, (), {})}


def one_of(first: str, one: str | None, second: str, other: str | None) -> str | None:
    if one is not None and other is not None and one != other:
        raise UsageError(f"{first} {one} and {second} {other} contradict each other; use one")
    return other if one is None else one


def load_plugins(*names: str) -> None:
    with redirect_stdout(sys.stderr):
        for name in names:
            load_plugin(name)


def store_here() -> str | None:
    """Return `store` of the config file in this folder without a check of its other settings."""
    reads = FILE.is_file() and not click.get_current_context().resilient_parsing  # TAB needs none
    for entry in load("_internal.yaml").read_yaml_values(FILE) if reads else ():
        if isinstance(entry, Problem) or entry.key != "store":
            continue
        try:
            if re.search(r"://|\$\{", str(entry.written)):  # a password may be sent
                require_trust(FILE, config_file.read_config(FILE))
            return entry.value if isinstance(entry.value, str) else None
        except ValueError as error:
            problem = Problem(f"{entry}: {error}", row=entry.row, unit="line")
            raise InputError(str(FILE), [problem]) from None
    return None


def store_files(place: str | None) -> Sequence[Path]:
    """Return a store's file and those that SQLite adds, which no output may overwrite."""
    if place and "://" in place:
        return ()
    path = Path(place or DEFAULT_STORE)
    return path, *(path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))


CONFIG = option(
    "--config",
    f"Config file; command-line options take precedence.  [default: {FILE}, if it exists]",
    path="FILE",
)
SET = option(
    "--set set_",
    "A setting without an option of its own, by its name in a config file, such as "
    "temperature=0.7; docs/settings.md lists all.",
    multiple=True,
    metavar="KEY=VALUE",
)
MODEL = option("--model", "LLM judge: --model gpt-4o-mini is --judge openai:gpt-4o-mini.")
JUDGE = (
    setting("judge"),
    MODEL,
    *(
        setting(each.name)
        for each in SETTINGS.values()
        if each.group == "Judge" and each.option and each.name != "judge"
    ),
    SET,
)
LIMITS = tuple(map(setting, ("concurrency", "timeout", "retries", "max_calls", "max_cost")))
OTEL = option(
    "--otel",
    "Send a span per sample and an event per score; run it with opentelemetry-instrument. "
    "RAGSTONE_OTEL=1 sets the default.",
    common=False,
    is_flag=True,
    envvar="RAGSTONE_OTEL",
)


def store_option(default: Callable[[], str | None] | None = None) -> click.Option:
    about = SETTINGS["store"]
    return option(
        "--store",
        f"{about.description}  [default: {about.default}]",
        envvar="RAGSTONE_STORE",
        default=default,
        show_default=False,
        metavar=about.metavar,
    )


STORE = store_option(store_here)


def _keep_trust(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.meta["trust"] = value


TRUST = option(
    "--trust",
    "Let the config file run code, and send keys and variables; remembered.",
    common=False,
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_keep_trust,
)


def file_argument(*, required: bool = True) -> click.Argument:
    return click.Argument(["file"], type=click.Path(path_type=Path), required=required)


JSON_FILE = option("--json file", "Write the result as JSON.", path="FILE|-")
NO_STORE = option("--no-store", "Store nothing.", is_flag=True)
DRY_RUN = option("--dry-run", "Estimate calls, tokens and cost; make no calls.", is_flag=True)


REGRESSION_OPTIONS: Sequence[click.Option] = (
    option("--fail-on-regression", "Exit 1 if a metric got significantly worse.", is_flag=True),
    option(
        "--min-effect",
        "With --fail-on-regression: ignore drops of up to this size: 0.02 or 2%.",
        default="0",
        metavar="DIFFERENCE",
        show_default=False,
    ),
    option(
        "--min-paired",
        "With --fail-on-regression: exit 3 if less than this share of the baseline is paired.",
        default="90%",
        metavar="SHARE",
    ),
)


# From the typed options to a plan, data and a store

RUN = "RUN is an id, the start of an id, a tag, or `last`."


def run_command(
    group: click.Group, name: str, *params: click.Parameter, epilog: str = ""
) -> Callable[[Callable[..., None]], click.Command]:
    all_params = [click.Argument(["run"]), *params, STORE]
    return group.command(name=name, params=all_params, epilog=f"{RUN} {epilog}".rstrip())


def store_option_value(given: Given) -> str | None:
    if given["no_store"] and is_store_typed():
        shown = load("store.errors").display_name(given["store"])
        raise UsageError(f"--no-store stores nothing; remove it, or --store {shown}")
    source = click.get_current_context().get_parameter_source("store")
    return given["store"] if is_store_typed() or source is ParameterSource.ENVIRONMENT else None


def is_store_typed() -> bool:
    source = click.get_current_context().get_parameter_source("store")
    return source is ParameterSource.COMMANDLINE


def open_store(
    place: str | None, *, make: bool = False, reading: bool = False, made_by: str = "ragstone run"
) -> "Store":
    """Open an existing store; with `make`, create a SQLite file if it is missing.

    `made_by` is the command that creates one, for the message if it is missing.
    """
    path = Path(place or DEFAULT_STORE)
    if "://" not in str(place):
        if not make and not path.exists():
            raise UsageError(
                f"there is no store at {path}: `{made_by}` creates one in the current "
                "folder; change to another folder, or name a store with --store or RAGSTONE_STORE"
            )
        if path.is_dir():
            raise UsageError(f"{path} is a folder; name a file in it")
    return load("store").Store.open(place, reading=reading)


@contextmanager
def open_run(
    place: str | None, name: str, *, reading: bool = True
) -> Generator[tuple["Store", "RunInfo"], None, None]:
    with open_store(place, reading=reading) as store:
        yield store, store.info(load("store").find_run(store, name))


def read_by(store: "Store", *infos: "RunInfo") -> list[str | Path]:
    paths = (path for info in infos if (path := info.manifest.source.path))
    return [*store_files(store.name), *paths]


def config_of(path: Path | None = None) -> Config:
    if path is None and not FILE.is_file():
        return Config()
    config = config_file.read_config(path or FILE)
    require_trust(path or FILE, config)
    say(f"Settings from {path or FILE}.")
    return config


def plan_of(given: Given, config: Config) -> Plan:
    typed = typed_settings(given)
    if "target" not in {**config.settings, **typed}:
        typed["fallback_target"] = DEFAULT_API
    plan = config.plan(typed, preset_name=given["preset"])
    if given["metrics"] and config.settings.get("gates"):
        chosen = {metric.name for metric in select(plan.metrics, **plan.parameters)}
        others = catalogue().keys() - chosen
        new = cast("Sequence[Gate]", typed.get("gates", ()))
        # of the config file's gates, those on known metrics that are not chosen
        old = [each for each in plan.gates if each not in new]
        idle = [each for each in old if split_threshold(each.metric)[0] in others]
        if idle:
            words = ", ".join(f"{each.metric} {each.op} {each.threshold:g}" for each in idle)
            left_out = "because --metric leaves out their metrics"
            say(f"Not checked: the config file's gates {words}, {left_out}")
        gates = tuple(each for each in plan.gates if each not in idle)
        plan = plan.model_copy(update={"gates": gates})
    check_judge_settings(typed, with_llm(plan))
    return plan


def tracing_options(otel: bool) -> "Options":
    return {"tracing": load("integrations.opentelemetry").tracing_of_program()} if otel else {}


# Consent: each command reads the config file of its folder, which may come from somebody else.


def require_trust(path: Path, config: Config) -> None:
    """Ask for consent to what a config file does, once for its contents; else a UsageError."""
    effects, files = _effects(path, config)
    allowed = os.environ.get("RAGSTONE_TRUST", "").strip().lower() in ("1", "true", "yes", "on")
    if not effects or allowed or (digest := _digest(files)) in _trusted()[1]:
        return
    needs = f"{quoted(str(path.absolute()))} needs your consent, because it would"
    what = "\n  ".join([needs, *effects])
    consent = click.get_current_context().meta.get("trust")
    if not consent and sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI"):
        say(what)
        consent = click.confirm("Trust this file and those that it names?", err=True)
    if not consent or _digest(files) != digest:  # changed while the question waited
        fix = "If you trust it, allow this with --trust, or RAGSTONE_TRUST=1 in CI"
        raise UsageError(f"{what}\n{fix}")
    remember_trust(path, config)


def remember_trust(path: Path, config: Config) -> None:
    (effects, files), (file, known) = _effects(path, config), _trusted()
    with suppress(OSError):  # it is needed again, if the home cannot be written
        if effects:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join([*known, _digest(files)]), encoding="ascii")


def _effects(path: Path, config: Config) -> tuple[Sequence[str], Sequence[Path]]:
    """Return what a config file would do that needs consent, and the files that decide it."""
    target, url = (str(config.settings.get(name) or "") for name in ("target", "base_url"))
    code = [name for name in config.plugins if not name.lower().endswith((".yaml", ".yml"))]
    variables, files = {path: config.variables}, [path]
    if target.lower().endswith((".yaml", ".yml", ".json")):
        files.append(Path(target))
        with suppress(RagstoneError):  # what cannot be read is not sent
            yaml = load("_internal.yaml")
            value = yaml.load_yaml(yaml.read_settings_file(files[-1]), target)[1]
            variables[files[-1]] = tuple(VARIABLE.findall(repr(value)))
    elif target and not target.lower().startswith(("http://", "https://")):
        code.append(target.rpartition(":")[0] or target)
    for name in code:
        module = Path(name if name.endswith(".py") else name.replace(".", "/"))
        for each in (module, *module.parents):  # importing a.b runs a.py, or a/__init__.py, too
            ends = [end + suffix for end in ("", "/__init__") for suffix in all_suffixes()]
            files += [each, *(Path(f"{each}{end}") for end in ends if each.name)]
    effects = [f"run the code of {quoted(name)}" for name in code]
    for file, names in variables.items():
        if names:
            listed = quoted(", ".join(sorted({*names})))
            effects.append(f"use environment variables in {file.name}: {listed}")
    if url:
        effects.append(f"send the key of the judge's provider to {quoted(public_url(url))}")
    if config.store and "://" in config.store:
        effects.append(f"send a database's password to {quoted(public_url(config.store))}")
    return effects, files


def _digest(files: Sequence[Path]) -> str:
    contents = [file.read_bytes() if file.is_file() else b"" for file in files]
    return sha256(b"".join(sha256(each).digest() for each in contents)).hexdigest()


def _trusted() -> tuple[Path, Sequence[str]]:
    state = Path(os.environ.get("XDG_STATE_HOME", ""))
    state = state if state.is_absolute() else Path("~/.local/state").expanduser()
    file = state / "ragstone" / "trusted"
    return file, file.read_text("ascii", errors="replace").split() if file.is_file() else ()
