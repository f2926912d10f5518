"""The options of `ragstone run`, in the groups that its help shows."""

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypedDict, cast

import click

from ragstone._internal.yaml import YamlValue, read_yaml_values
from ragstone.errors import InputError, Problem, UsageError
from ragstone.evaluation.config_file import FILE
from ragstone.metrics.registry import load_plugin
from ragstone.types.config import DEFAULT_API, DEFAULT_STORE, NUMBERS_OR_NONE, Plan
from ragstone.types.policy import POLICIES, PRESETS

# Setting: an option that fills a field of the plan, made from that field.

NONE = "none"
"""What is typed to leave a number out that may be left out."""

Schema = Mapping[str, object]
_FIELDS = cast("Mapping[str, Schema]", Plan.model_json_schema()["properties"])
_METAVARS = {"integer": "N", "number": "NUMBER"}


class Setting(click.Option):
    """An option whose value is None (or empty) where it is not said, whatever the default.

    Its type, range and the default that help shows come from the plan's field, so that they are
    written once. `flags` are made from the field's name where none are given.
    """

    def __init__(
        self,
        field: str,
        *flags: str,
        help: str,  # noqa: A002 - click's name for it
        metavar: str | None = None,
        multiple: bool = False,
    ) -> None:
        schema = _schema(field)
        super().__init__(
            [*(flags or (_flag(field, schema),)), field],
            type=_type(field, schema),
            help=help,
            metavar=metavar or _METAVARS.get(str(schema["type"])),
            multiple=multiple,
            default=None,
            show_default=_default(field) or False,
        )

    def type_cast_value(self, ctx: click.Context, value: object) -> object:
        """Return the value with its type; `none` stays as it is."""
        if isinstance(value, str) and value.lower() == NONE and self.name in NUMBERS_OR_NONE:
            return NONE
        return super().type_cast_value(ctx, value)

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Return the line of help; click puts a default made of text between brackets."""
        record = super().get_help_record(ctx)
        if record is None:
            return None
        shown = f"default: {self.show_default}"
        return record[0], record[1].replace(f"default: ({self.show_default})", shown)


def _schema(field: str) -> Schema:
    schema = _FIELDS[field]
    either = {one["type"]: one for one in cast("list[Schema]", schema.get("anyOf", []))}
    several = either.get("array")
    return several or next((one for kind, one in either.items() if kind != "null"), schema)


def _flag(field: str, schema: Schema) -> str:
    name = field.replace("_", "-")
    return f"--{name}/--no-{name}" if schema["type"] == "boolean" else f"--{name}"


def _default(field: str) -> str:
    """Return the default as it would be typed; nothing where there is none."""
    value: object = getattr(Plan(), field)
    if isinstance(value, bool):
        name = field.replace("_", "-")
        return name if value else f"no-{name}"
    if isinstance(value, tuple):
        return " ".join(map(str, cast("tuple[object, ...]", value)))
    if field == "max_failure_rate":
        return f"{value:.0%}"
    if isinstance(value, float):
        return f"{value:g}"
    return str(value) if isinstance(value, str | int) else ""


def _type(field: str, schema: Schema) -> "click.ParamType[Any] | None":
    if "enum" in schema:
        return click.Choice(cast("list[str]", schema["enum"]))
    if schema["type"] == "boolean":
        return None
    if schema["type"] not in _METAVARS or field == "max_failure_rate":
        return click.STRING
    over = cast("int | None", schema.get("exclusiveMinimum"))
    low = cast("int | None", schema.get("minimum", over))
    high = cast("int | None", schema.get("maximum"))
    if low is None and high is None:
        return click.FLOAT
    made = click.IntRange if schema["type"] == "integer" else click.FloatRange
    return made(low, high, min_open=over is not None)


# GroupedCommand: a command whose many options stand under headings in its help.

Groups = Mapping[str, Sequence[click.Option]]
"""Heading -> the options under it."""


class GroupedCommand(click.Command):
    """A command with groups of options; those of no group come last."""

    def __init__(
        self,
        name: str | None,
        *,
        callback: Callable[..., object],
        params: Sequence[click.Parameter],
        groups: Groups,
        help: str | None = None,  # noqa: A002 - click's name for it
        epilog: str | None = None,
    ) -> None:
        options = [option for group in groups.values() for option in group]
        super().__init__(
            name, callback=callback, params=[*params, *options], help=help, epilog=epilog
        )
        self._groups = groups

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading and its options."""
        grouped = [option for group in self._groups.values() for option in group]
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        rest = [option for option in options if option not in grouped]
        for heading, options in {**self._groups, "Help": rest}.items():
            records = [record for option in options if (record := option.get_help_record(ctx))]
            with formatter.section(heading):
                formatter.write_dl(records)


# The options that say what a run is held against, and the exit codes that come of it.

GATES = (
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="METRIC=VALUE",
        help="Exit 1 if the metric's mean is under the value: faithfulness=0.8, hit@5=80%.",
    ),
    click.Option(
        ["--fail-over"],
        multiple=True,
        metavar="METRIC=VALUE",
        help="Exit 1 if the metric's mean is over the value.",
    ),
    click.Option(
        ["--min-coverage"],
        multiple=True,
        metavar="METRIC=SHARE",
        help="Exit 1 if less of the rows was scored: faithfulness=90%.",
    ),
    Setting(
        "gates_on",
        help="What --fail-under and --fail-over look at: the mean, or the end of its 95 % interval "
        "that is nearer to failing.",
    ),
    Setting(
        "max_failure_rate",
        metavar="SHARE",
        help="Exit 3 if more of a metric's scores failed: 0.1 or 10%.",
    ),
)


# The options that say where a run's results go.

_PATH = click.Path(path_type=Path)


class Given(TypedDict):
    """What the command line said of results; beside these stand the files, by format."""

    verbose: bool
    output: Path | None
    no_export: bool


FILES = MappingProxyType(
    {
        "html": ("FILE", "Write one page with all of it, to look at without a network."),
        "json": ("FILE|-", "Write the summary as JSON."),
        "rows": ("FILE|-", "Write a line a sample: .jsonl, .csv or .parquet."),
        "claim_rows": ("FILE|-", "Write a line a judged claim: .jsonl, .csv or .parquet."),
        "markdown": ("FILE|-", "Write the summary as Markdown, for a pull request."),
        "junit": ("FILE", "Write a test a sample and metric as JUnit XML, for CI."),
    }
)
"""Format -> what stands for its file, and its help."""

WORKBOOK = click.Option(["-o", "--output"], type=_PATH, metavar="FILE", help="Write a workbook.")
"""For commands that write none unless one is named."""


def written(name: str, *, said: str = "") -> click.Option:
    """Return the option for the file of a format; `said` stands in for its usual help."""
    metavar, usual = FILES[name]
    flags = [f"--{name.replace('_', '-')}", name]
    return click.Option(flags, type=_PATH, metavar=metavar, help=said or usual)


RESULTS = (
    click.Option(["-v", "--verbose"], is_flag=True, help="Print each query's results."),
    click.Option(
        ["-o", "--output"],
        type=_PATH,
        metavar="FILE",
        help="The workbook to write.  [default: named by metric and time, in ./results/]",
    ),
    click.Option(["--no-export"], is_flag=True, help="Write no workbooks."),
    *map(written, FILES),
)


# The options that say how a data file is read, of the commands that do nothing else with it.

COLUMNS = Setting(
    "columns",
    "--map",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Where a column has a name of its own: --map query=Frage.",
)
SHEET = Setting("sheet", help="The workbook's sheet.  [default: the first]")
LIMIT = click.Option(["--limit"], type=click.IntRange(1), metavar="N", help="Only the first rows.")
READING = (COLUMNS, SHEET, LIMIT)

FORMS = MappingProxyType(
    {
        "--map": "FIELD=COLUMN, such as query=Frage",
        "--prompt": "KIND=FILE, such as verify_claims=my.md",
    }
)
"""How each option with pairs is written."""


def pairs_of(said: tuple[str, ...], flag: str = "--map", *, form: str = "") -> dict[str, str]:
    """Return field -> column, for what --map says; kind -> file, for --prompt.

    `form` stands in for what is usually said of how such an option is written.

    Raises:
        UsageError: it says something else.
    """
    pairs: dict[str, str] = {}
    for text in said:
        field, equals, column = text.partition("=")
        if not equals or not field.strip() or not column.strip():
            raise UsageError(f"{flag} {text}: write {form or FORMS[flag]}")
        pairs[field.strip()] = column.strip()
    return pairs


# The plugins that a command loads: those of --plugin, and of a config file.

PLUGIN = click.Option(
    ["--plugin"],
    multiple=True,
    metavar="MODULE|FILE",
    help="Metrics of your own: a Python module, FILE.py, or rubrics in FILE.yaml.",
)


def load_plugins(*names: str) -> None:
    """Load plugins; what they print goes where it is not taken for results.

    Raises:
        UsageError: one of them cannot be loaded.
    """
    with redirect_stdout(sys.stderr):
        for name in names:
            load_plugin(name)


# Where the store is, without opening it: nothing of the database is loaded for that.

_BESIDE = ("-wal", "-shm", "-journal")
"""How the files are called that SQLite keeps beside its own."""


def place_here(typed: str | None) -> str | None:
    """Return where runs are kept: where it is typed, RAGSTONE_STORE, or the config file says.

    Raises:
        UsageError: the config file cannot be read, or a variable that it names is not set.
    """
    return typed or os.environ.get("RAGSTONE_STORE", "").strip() or store_here()


def store_here() -> str | None:
    """Return where the config file in this folder says that runs are kept; None if it does not.

    Whatever else it says matters to those who evaluate.

    Raises:
        UsageError: the file cannot be read, or a variable that it names is not set.
    """
    if not FILE.is_file():
        return None
    for entry in read_yaml_values(FILE):
        if isinstance(entry, YamlValue) and entry.key == "store":
            try:
                said = entry.value
            except ValueError as error:
                raise InputError(str(FILE), [Problem(f"{entry}: {error}", row=entry.row)]) from None
            return said if isinstance(said, str) else None
    return None


def store_files(place: str | None) -> Sequence[Path]:
    """Return the files of the store at a place, which no output may write over.

    None is the usual place; a server has no files.
    """
    if place and "://" in place:
        return ()
    path = Path(place or DEFAULT_STORE)
    return path, *(path.with_name(path.name + ending) for ending in _BESIDE)


_DATA = (
    click.Option(
        ["--test-data", "--from-chat-responses", "test_data"], help="The data set, as DATA."
    ),
    Setting("limit", help="Only the first rows."),
    Setting("sheet", help="The workbook's sheet.  [default: the first]"),
    Setting(
        "columns",
        "--map",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Where a column has a name of its own: --map query=Frage.",
    ),
    click.Option(
        ["--config"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Settings for all that no option says.  [default: {FILE} here, if there is one]",
    ),
)

_TARGET = (
    click.Option(
        ["--api-url"],
        help="URL of the RAG API, asked for every row.  [default: "
        f"{DEFAULT_API}, asked if the data lack what the metrics need]",
    ),
    Setting("target", help="URL, YAML file that describes an API, or module:function."),
    Setting(
        "min_similarity",
        "-t",
        "--threshold",
        "--min-similarity",
        help="Minimum retrieval similarity, sent to the target. No gate: that is --fail-under.",
    ),
    Setting("delay", help="Seconds between two calls of the target, for fragile servers."),
)

_METRICS = (
    Setting(
        "metrics",
        "-m",
        "--metric",
        multiple=True,
        help="Metrics or groups: all, all_retrieval, all_generation; several words are several "
        "metrics.",
    ),
    Setting(
        "k",
        "-k",
        "--k",
        metavar="N[,N...]",
        help="Top results to consider, and to ask the target for; several score each metric at "
        "each: --k 1,3,5,10.",
    ),
    click.Option(["--list-metrics"], is_flag=True, help="List the metrics and exit."),
    PLUGIN,
)

JUDGE = (
    Setting(
        "judge",
        help="Who judges: offline, local:FOLDER (a model on this machine), or provider:model, such "
        "as openai:gpt-4o-mini; several with commas are a panel; cascade:offline+openai:gpt-4o "
        "asks the second where the first is not sure. RAGSTONE_JUDGE says it for good.",
    ),
    click.Option(
        ["--model"], help="An LLM as judge: --model gpt-4o-mini is --judge openai:gpt-4o-mini."
    ),
    Setting(
        "base_url", help="Where the model is served: http://localhost:11434/v1 for a local one."
    ),
    Setting(
        "embedding_model",
        help="The model whose embeddings tell how alike texts are.  [default: "
        "text-embedding-3-small where OpenAI judges, else character n-grams, offline]",
    ),
    Setting("votes", help="How often each judge is asked; the majority decides."),
    Setting("temperature", help="Of the model; `none` leaves it to the provider."),
    Setting("max_tokens", help="The most that one reply may take."),
    Setting(
        "context_window",
        help="Tokens that one prompt may have; longer contexts are verified in windows.",
    ),
    Setting("strict_json", help="Read nothing but JSON in a reply."),
    Setting(
        "prompts",
        "--prompt",
        multiple=True,
        metavar="KIND=FILE",
        help="A prompt of your own: --prompt verify_claims=my.md.",
    ),
    Setting(
        "cascade_threshold", help="The confidence under which a cascade asks its second judge."
    ),
    Setting("cascade_audit_rate", help="The share of the others that it asks both, to compare."),
    Setting("offline", help="Download nothing: a local model has to be on this machine."),
    Setting("cache", help="Keep replies, and use those kept before."),
)

_CLAIMS = (
    Setting(
        "policy",
        help=f"How verdicts become a number: {', '.join(POLICIES)}. See ragstone policies.",
    ),
    click.Option(
        ["--preset"],
        metavar="NAME",
        help=f"A policy and the way of asking of its document: {', '.join(PRESETS)}.",
    ),
    Setting(
        "verify",
        help="All claims in one call, one a call, or against facts taken from the contexts first.",
    ),
    Setting(
        "claim_source", help="Who finds the claims: the judge, sentences, or those where it fails."
    ),
    Setting("batch_size", help="Claims in one call."),
    Setting("truths_limit", help="Facts taken from one context.  [default: all]"),
    Setting("include_reason", help="Have the verdicts summed up in words; one call more."),
    Setting("allow_partial", help="Let the judge say that a claim is supported in part."),
    click.Option(
        ["--compare-legacy"],
        is_flag=True,
        help="Score faithfulness as promptfoo does without RAGAS mode and with it, on the same "
        "responses, and print where the two differ; exit 0, or 3 where something cut it short.",
    ),
)

LIMITS = (
    Setting("concurrency", help="Rows in work, and calls under way, at once."),
    Setting("timeout", help="Seconds that one try of a call may take."),
    Setting(
        "retries",
        "--max-retries",
        help="Further tries after a failed connection, a 429 or a 5xx.",
    ),
    Setting("rpm", help="The most calls of the judge a minute."),
    Setting("tpm", help="The most tokens of the judge a minute."),
    Setting("max_calls", help="End the run, with exit code 3, after so many calls."),
    Setting("max_cost", help="End the run, with exit code 3, at this cost in US dollars."),
)

_DRY_RUN = click.Option(
    ["--dry-run"], is_flag=True, help="Print what the judge would take; ask nobody."
)

OTEL = click.Option(
    ["--otel"],
    is_flag=True,
    envvar="RAGSTONE_OTEL",
    help="Send spans to OTEL_EXPORTER_OTLP_ENDPOINT: one a sample, a question and a model's call. "
    "RAGSTONE_OTEL=1 says it for good.",
)

_RESULTS = (
    Setting(
        "cluster",
        metavar="TAG",
        help="Rows that share this tag (a source, a conversation) are drawn together for the "
        "intervals.",
    ),
    *RESULTS,
    OTEL,
)


def _store(default: Callable[[], str | None] | None = None) -> click.Option:
    return click.Option(
        ["--store"],
        envvar="RAGSTONE_STORE",
        default=default,
        show_default=False,
        metavar="PLACE",
        help="Where runs are kept: a file, or postgresql://user@host/name. RAGSTONE_STORE says it "
        f"for good, or `store` in {FILE}.  [default: .ragstone/ragstone.db here]",
    )


STORE = _store(store_here)

NO_STORE = click.Option(
    ["--no-store"], is_flag=True, help="Keep nothing but the results asked for."
)

_STORE = (
    _store(),
    NO_STORE,
    click.Option(
        ["--fresh"], is_flag=True, help="Begin a new run, even if this one is there unfinished."
    ),
    click.Option(["--no-transcript"], is_flag=True, help="Store no texts of the judge's replies."),
)

GROUPS: Groups = MappingProxyType(
    {
        "Data": _DATA,
        "RAG system": _TARGET,
        "Metrics": _METRICS,
        "Judge": JUDGE,
        "Claims and verdicts": _CLAIMS,
        "Limits": (*LIMITS, _DRY_RUN),
        "Gates": GATES,
        "Results": _RESULTS,
        "Store": _STORE,
    }
)
