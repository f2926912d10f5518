"""Plan: all settings of a run. Manifest: the plan, the inputs and versions used, and the start."""

import ast
import inspect
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from hashlib import sha256
from itertools import pairwise
from operator import index
from types import MappingProxyType
from typing import Annotated, Any, Literal, SupportsIndex, TypedDict, cast, get_args

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    FiniteFloat,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError, PydanticUndefined

from ragstone._internal.fields import FrozenMap, FrozenModel, MetricName
from ragstone._internal.secrets import tells_secret
from ragstone._internal.text import format_validation_errors, one_line
from ragstone.errors import UsageError
from ragstone.types.claim import BATCH
from ragstone.types.gate import Gate, share
from ragstone.types.policy import POLICIES, PRESETS, STRICT, PolicyName, PresetName

DEFAULT_API = "http://localhost:8000"
DEFAULT_STORE = ".ragstone/ragstone.db"
ORIGIN = "scored again from"  # in a rescored run's identity, the id of the original run


def _cutoffs(given: object) -> int | tuple[int, ...]:
    several = cast("Sequence[object]", given) if isinstance(given, Sequence) else [given]
    ks: tuple[int, ...] = ()
    for part in given.split(",") if isinstance(given, str) else several:
        if isinstance(part, str) and part.isascii() and part.strip(" ").isdecimal():
            ks += (int(part),)
        elif isinstance(part, SupportsIndex) and not isinstance(part, bool):
            ks += (index(part),)
        else:
            ks += (0,)
    if not ks or min(ks) < 1:
        fix = "write a whole number of at least 1, or several separated by commas, such as 1,3,5,10"
        raise PydanticCustomError("cutoffs", fix)
    if len(set(ks)) < len(ks):
        raise PydanticCustomError("cutoffs", "a cut-off is repeated; write each once")
    return ks[0] if len(ks) == 1 else ks


Cutoffs = Annotated[int | tuple[int, ...], BeforeValidator(_cutoffs)]
"""A rank to cut at, or several: never a tuple of one, so that each plan has one spelling."""


def _share(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return share(value)
    except UsageError as error:
        raise PydanticCustomError("share", "not a number; write 0.8 or 80%") from error


Share = Annotated[FiniteFloat, BeforeValidator(_share, json_schema_input_type=float | str)]
"""A number, or a share written `80%`."""


def _setting(
    group: str,
    default: object,
    *,
    description: str | None = None,
    flags: Sequence[str] = (),
    keys: Sequence[str] = (),
    metavar: str = "",
    common: bool = False,
    default_text: str = "",
    option: bool = True,
    **limits: float,
) -> Any:
    """Declare a setting. Command-line options, config keys, ini names and docs are made from it.

    The `description` is the text below the field, if none is given. `group` is a heading of the
    help, whose short form shows `common` settings only. `keys` are other names in a config file.
    Without an `option` of `run`, it is set by `--set` or a config file.
    """
    about = {"group": group, "flags": flags, "keys": keys, "metavar": metavar}
    about |= {"common": common, "default_text": default_text, "option": option}
    made: Mapping[str, Any] = {"default": default}
    if isinstance(default, Mapping):
        made = {"default_factory": dict, "validate_default": True}
    extra: Any = {"setting": about}
    options = cast("dict[str, Any]", limits)
    return Field(**made, **options, description=description, json_schema_extra=extra)


class JudgePlan(FrozenModel):
    """Which judge answers, and how it is called."""

    model_config = ConfigDict(hide_input_in_errors=True)  # it may be a secret

    judge: str = _setting("Judge", "offline", keys=["model"], common=True)
    """The judge: offline, local:FOLDER (a model on this machine) or provider:model, such as
    openai:gpt-4o-mini. Several, separated by commas, form a panel. RAGSTONE_JUDGE sets the
    default."""
    votes: int = _setting("Judge", 1, ge=1, le=99, option=False)
    """Ask each judge this many times; the majority decides."""
    base_url: str | None = _setting("Judge", None, common=True)
    """URL of the model server, such as http://localhost:11434/v1 for a local one."""
    embedding_model: str | None = _setting(
        "Judge",
        None,
        default_text="text-embedding-3-small for an OpenAI judge, else offline character n-grams",
    )
    """Model whose embeddings measure how similar texts are."""
    temperature: float | None = _setting("Judge", 0.0, ge=0, le=2, option=False)
    """Temperature of the model; `none` leaves it to the provider."""
    max_tokens: int = _setting("Judge", 4096, ge=16, option=False)
    """Maximum tokens in one reply."""
    context_window: int = _setting("Judge", 100_000, ge=1000, option=False)
    """Maximum tokens in one prompt; longer contexts are split across prompts."""
    strict_json: bool = _setting("Judge", False, option=False)
    """Accept only JSON replies."""
    prompts: FrozenMap[str, str] = _setting("Judge", {}, flags=["--prompt"], metavar="KIND=FILE")
    """Use your own prompt: --prompt verify_claims=my.md."""
    judge_headers: FrozenMap[str, str] = _setting(
        "Judge", {}, flags=["--judge-header"], metavar="NAME=VALUE"
    )
    """Send a header with each request to the model server; ${NAME} in a value is an environment
    variable, which secrets need."""
    judge_body: FrozenMap[str, JsonValue] = _setting(
        "Judge", {}, flags=["--judge-body"], metavar="KEY=JSON"
    )
    """Add a field to each request to the model server: --judge-body reasoning_effort='"low"'."""
    cache: bool = _setting("Judge", True, common=True)
    """Cache replies and reuse cached ones."""
    reply_cache: str | None = _setting(
        "Judge", None, metavar="FILE", default_text=".ragstone/replies.db", option=False
    )
    """The file in which replies are cached."""
    rpm: FiniteFloat | None = _setting("Limits", None, gt=0, option=False)
    """Maximum judge calls per minute."""
    tpm: FiniteFloat | None = _setting("Limits", None, gt=0, option=False)
    """Maximum judge tokens per minute."""
    max_calls: int | None = _setting("Limits", None, common=True, ge=0)
    """Stop after this many judge calls, with exit code 3."""
    max_cost: FiniteFloat | None = _setting("Limits", None, common=True, ge=0)
    """Stop when the judge has cost this many US dollars, with exit code 3."""

    @field_validator("judge_headers", "judge_body")
    @classmethod
    def _without_secrets(cls, value: Mapping[str, object]) -> Mapping[str, object]:
        if names := [name for name, each in value.items() if tells_secret(name, each)]:
            raise PydanticCustomError(
                "secret",
                "{names}: a secret, and settings are stored with the run; write {form}, and set "
                "the environment variable NAME",
                {"names": ", ".join(names), "form": "${NAME}"},
            )
        return value


_claims = partial(_setting, "Claims and verdicts")


class ClaimPlan(FrozenModel):
    """Parameters of the claim metrics, used if a metric's name does not set them."""

    policy: PolicyName = _claims(
        STRICT.name,
        description=f"How verdicts become a score: {', '.join(POLICIES)}. "
        "`ragstone metrics --policies` shows what each one does.",
        common=True,
    )
    verify: Literal["batch", "each", "truths"] = _claims("batch")
    """How claims are verified: all in one call, one per call, or against facts extracted from the
    contexts first."""
    claim_source: Literal["llm", "sentences", "hybrid"] = _claims("llm", option=False)
    """How claims are found: by the judge (llm), one per sentence (sentences), or sentences as a
    fallback (hybrid)."""
    batch_size: int = _claims(BATCH, ge=1, option=False)
    """Maximum claims in one call."""
    truths_limit: int | None = _claims(None, default_text="all", ge=1, option=False)
    """Maximum facts extracted from one context."""
    include_reason: bool = _claims(False, option=False)
    """Add a written summary of the verdicts; takes one more call."""
    allow_partial: bool = _claims(False, option=False)
    """Let the judge answer PARTIALLY_SUPPORTED."""


class Selection(TypedDict):
    limit: int | None
    sample: int | None
    seed: int


class Reading(TypedDict):
    sheet: str | None
    header_row: int | None
    columns: Mapping[str, str]


class Plan(JudgePlan, ClaimPlan):
    """Everything a run is asked to do. Every field has a default."""

    limit: int | None = _setting("Data", None, common=True, ge=1)
    """Read only the first N rows."""
    sample: int | None = _setting("Data", None, common=True, ge=1)
    """Evaluate only N rows, drawn at random; they keep their order."""
    seed: int = _setting("Data", 0, ge=0, option=False)
    """Seed of --sample: the same seed draws the same rows of the same data."""
    sheet: str | None = _setting("Data", None, common=True, default_text="the first")
    """Sheet of the workbook, or JMESPath of the list of rows in JSON or YAML."""
    header_row: int | None = _setting(
        "Data", None, common=True, default_text="the first with cells", ge=1
    )
    """Row of the column names in a workbook or CSV file; rows above it are ignored."""
    columns: FrozenMap[str, str] = _setting(
        "Data", {}, flags=["--map"], keys=["map"], metavar="FIELD=COLUMN", common=True
    )
    """Map a column, or JMESPath of a part of it, to a field, e.g. --map query=Question."""
    target: str | None = _setting("RAG system", None, keys=["api_url"], common=True)
    """The RAG system to call: a URL, a YAML file that describes an API, or module:function."""
    min_similarity: FiniteFloat = _setting(
        "RAG system", 0.0, flags=["-t", "--threshold", "--min-similarity"]
    )
    """Minimum retrieval similarity, sent to the target. Not a pass mark; for that use --fail-under.
    """
    delay: FiniteFloat = _setting("RAG system", 0.0, ge=0)
    """Minimum seconds between calls to the target, for fragile servers."""
    metrics: tuple[MetricName, ...] = _setting(
        "Metrics", ("all",), flags=["-m", "--metric"], keys=["metric"], common=True
    )
    """Metrics or groups: all, all_retrieval, all_generation. Several may follow one -m. Without
    -m, rows with references also have answer_correctness and abstention."""
    k: Cutoffs = _setting("Metrics", 5, flags=["-k", "--k"], metavar="N[,N...]", common=True)
    """Cut-off: how many top results are scored and requested from the target. With several
    cut-offs, such as --k 1,3,5,10, each metric is computed at each of them."""
    concurrency: int = _setting("Limits", 8, common=True, ge=1, le=1000)
    """Maximum number of concurrent rows and calls."""
    workers: int = _setting("Limits", 1, common=True, ge=1, le=256)
    """Processes that judge the rows, for judges that need the processor: offline and local ones.
    Each has an equal share of --concurrency and of the limits on calls."""
    timeout: FiniteFloat = _setting("Limits", 60.0, common=True, gt=0)
    """Timeout per attempt, in seconds."""
    retries: int = _setting("Limits", 7, flags=["--max-retries"], keys=["max_retries"], ge=0, le=20)
    """Retries after a failed connection, a 429 or a 5xx. Waits double from 0.5 to 30 s, minus up to
    half at random; a longer Retry-After applies, up to 120 s, and 240 s for all. A judge that
    timed out is called once more."""
    fail_fast: bool = _setting("Limits", False)
    """Stop after the first row with a failed score, with exit code 3."""
    gates_on: Literal["mean", "interval", "corrected"] = _setting("Gates", "mean")
    """What --fail-under and --fail-over test: the mean, all of its 95% interval, or that of the
    mean corrected with --calibration."""
    calibration: str | None = _setting("Gates", None, metavar="NAME")
    """Correct means with the labels of a calibration, made with `ragstone labels calibrate`."""
    max_age: int | None = _setting("Gates", None, metavar="DAYS", ge=1, option=False)
    """With --gates-on corrected: exit 3 if all labels are more than DAYS older than the run."""
    max_failure_rate: Share = _setting(
        "Gates", 0.1, metavar="SHARE", common=True, default_text="10%", ge=0, le=1
    )
    """Exit 3 if more than this share of a metric's scores failed or were imputed by a policy: 0.1
    or 10%."""
    cluster: str | None = _setting(
        "Results",
        None,
        metavar="TAG",
        default_text="rows that share a query, contexts, a source or a conversation",
        option=False,
    )
    """Tag of rows that belong together (a source, a conversation); confidence intervals resample
    them together. `id` treats rows as independent."""
    fallback_target: str | None = None
    """Called only if no row has what a metric needs."""
    gates: tuple[Gate, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _read(cls, value: object) -> object:
        if not isinstance(value, Mapping):
            return value
        given = cast("Mapping[str, object]", value)
        nones = {name for name in NUMBERS_OR_NONE if str(given.get(name)).lower() == "none"}
        return {**given, **dict.fromkeys(nones & given.keys())}

    @property
    def cutoffs(self) -> tuple[int, ...]:
        return self.k if isinstance(self.k, tuple) else (self.k,)

    @property
    def reading(self) -> "Reading":
        return {"sheet": self.sheet, "header_row": self.header_row, "columns": self.columns}

    @property
    def selection(self) -> "Selection":
        return {"limit": self.limit, "sample": self.sample, "seed": self.seed}

    @property
    def parameters(self) -> Mapping[str, str | int | float | tuple[int, ...] | None]:
        return {"k": self.k} | {name: getattr(self, name) for name in ClaimPlan.model_fields}

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> "Plan":
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise UsageError(format_validation_errors(error)) from None


NUMBERS_OR_NONE = frozenset(  # the text `none` leaves the number out
    name
    for name, field in Plan.model_fields.items()
    if type(None) in get_args(field.annotation) and str not in get_args(field.annotation)
)


class Settings(Plan):
    """All that a config file can set: the plan, and what only the command line uses."""

    data: str | None = _setting("Data", None, flags=["DATA"])
    """The data set."""
    plugin: tuple[str, ...] = _setting("Metrics", (), metavar="MODULE|FILE", common=True)
    """Your own metrics: a Python module, FILE.py, or rubrics in FILE.yaml."""
    preset: PresetName | None = _claims(
        None,
        description="A named bundle of policy and judge settings that mimics another tool: "
        f"{', '.join(PRESETS)}.",
        metavar="NAME",
        common=True,
    )
    fail_under: FrozenMap[str, Share] = _setting("Gates", {}, metavar="METRIC=VALUE", common=True)
    """Exit 1 if the metric's mean is below the value: hit@5=0.8 or hit@5=80%."""
    fail_over: FrozenMap[str, Share] = _setting("Gates", {}, metavar="METRIC=VALUE", common=True)
    """Exit 1 if the metric's mean is above the value."""
    min_coverage: FrozenMap[str, Share] = _setting("Gates", {}, metavar="METRIC=SHARE", common=True)
    """Exit 1 if less than this share of the rows was scored: hit@5=90%."""
    store: str | None = _setting(
        "Store", None, metavar="PLACE", common=True, default_text=DEFAULT_STORE
    )
    """Where runs are stored: a file, or postgresql://user@host/name. RAGSTONE_STORE, or `store` in
    ragstone.yaml, sets the default."""


@dataclass(frozen=True)
class Setting:
    name: str
    default: str
    given: str | None
    group: str
    flags: Sequence[str]
    keys: Sequence[str]
    metavar: str
    common: bool
    option: bool

    @property
    def description(self) -> str:
        return " ".join((self.given or _texts_below_fields()[self.name]).split())

    @classmethod
    def of(cls, name: str, field: FieldInfo) -> "Setting":
        about = {**cast("Mapping[str, Any]", field.json_schema_extra)["setting"]}
        dashed, value = name.replace("_", "-"), cast("object", field.default)
        flag = f"--{dashed}/--no-{dashed}" if field.annotation is bool else f"--{dashed}"
        match value:
            case bool() if about["option"]:
                default = dashed if value else f"no-{dashed}"
            case bool():
                default = str(value).lower()
            case tuple():
                default = " ".join(map(str, cast("tuple[object, ...]", value)))
            case float():
                default = f"{value:g}"
            case _:
                default = "" if value in (None, PydanticUndefined) else str(value)
        default = about.pop("default_text") or default
        about["flags"] = about["flags"] or (flag,)
        return cls(name, default, field.description, **about)


@cache
def _texts_below_fields() -> Mapping[str, str]:
    found: dict[str, str] = {}
    for one in ast.walk(ast.parse(inspect.getsource(sys.modules[__name__]))):
        if isinstance(one, ast.ClassDef):
            for field, text in pairwise(one.body):
                if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
                    found[ast.unparse(field.target)] = str(ast.literal_eval(text.value))
    return found


_DECLARED = {name: each for name, each in Settings.model_fields.items() if each.json_schema_extra}
SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {name: Setting.of(name, field) for name, field in _DECLARED.items()}
)
GROUPS = (
    *("Data", "RAG system", "Metrics", "Judge", "Claims and verdicts", "Limits", "Gates"),
    *("Results", "Store"),
)


def settings_schema() -> dict[str, object]:
    fields: Mapping[str, Any] = Settings.model_json_schema()["properties"]
    found: dict[str, object] = {}
    for setting in SETTINGS.values():
        about = {**fields[setting.name], "description": setting.description}
        about = {key: about[key] for key in sorted(about.keys() - {"setting", "title"})}
        if setting.name in ("metrics", "plugin"):
            about = {"anyOf": [{"type": "string"}, about]}
        for key in (setting.name, *setting.keys):
            found[key] = about
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "ragstone.yaml",
        "type": "object",
        "additionalProperties": False,
        "properties": found,
    }


class ReadField(FrozenModel):
    """How a field was read: from which column, in how many rows, and its first value."""

    field: str
    column: str
    rows: int
    example: str = ""


class Source(FrozenModel):
    """The data set of a run."""

    name: str
    fingerprint: str | None = None  # the SHA-256 of its bytes
    rows: int = 0
    notes: tuple[str, ...] = ()
    path: str | None = None
    sample: str | None = None  # how it was drawn
    fields: tuple[ReadField, ...] = ()
    tags: tuple[str, ...] = ()

    @property
    def reading(self) -> list[str]:
        """How the data was read: a line for each field, one for the tags, eight at most."""
        lines = [
            f"  {each.field} ← {each.column} ({each.rows:,} of {self.rows:,} rows): {each.example}"
            for each in self.fields
        ]
        tags = [f"  tags: {one_line(', '.join(self.tags), 200)}"] if self.tags else []
        most = 8 - len(tags)
        if len(lines) > most:
            rest = ", ".join(f"{each.field} ← {each.column}" for each in self.fields[most - 1 :])
            lines[most - 1 :] = [f"  {rest}"]
        return [*lines, *tags]


class Manifest(FrozenModel):
    """The plan of a run, the versions and inputs it used, and its start."""

    run_id: str
    version: str
    started_at: datetime
    plan: Plan
    source: Source
    judge: str | None
    judge_note: str | None  # None if no metric used one
    judge_test: str | None = None  # the result of this judge's last test before the run
    judge_key: str | None = None  # under which later tests of this judge are found
    target: str | None
    not_run: FrozenMap[str, str]  # metric -> why
    # everything that affects the numbers, by name; equal for repetitions of a run
    identity: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)
    # metric -> hash of the judge and what affects the replies to its questions
    judge_setups: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)
    answers_from: str | None = None  # the run that asked the target, if this one did not
    # options of the command that started the run, for the files that `resume` writes
    reports: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)

    @property
    def fingerprint(self) -> str:
        return sha256(json.dumps(dict(self.identity), sort_keys=True).encode()).hexdigest()

    def changed(self, other: "Manifest") -> Mapping[str, tuple[str, str]]:
        names = dict.fromkeys((*self.identity, *other.identity))
        pairs = {n: (self.identity.get(n, ""), other.identity.get(n, "")) for n in names}
        return {name: (here, there) for name, (here, there) in pairs.items() if here != there}

    @property
    def options(self) -> Mapping[str, object]:
        return self.plan.model_dump(mode="json", exclude_none=True)
