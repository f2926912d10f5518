"""Plan: everything a run was asked to do. Manifest: the plan, what it was done with, and when."""

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from operator import index
from typing import Annotated, Literal, SupportsIndex, cast, get_args

from pydantic import AliasChoices, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError

from ragstone._internal.fields import FrozenMap
from ragstone._internal.text import format_validation_errors
from ragstone.errors import UsageError
from ragstone.types.gate import Gate
from ragstone.types.policy import STRICT, PolicyName
from ragstone.types.questions import BATCH

DEFAULT_API = "http://localhost:8000"
DEFAULT_JUDGE = "offline"
DEFAULT_STORE = ".ragstone/ragstone.db"


def _cutoffs(given: object) -> int | tuple[int, ...]:
    """Read a cut-off or several: `5`, `"1,3,5"`, `[1, 3, 5]`; a list of one is that one."""
    several = cast("Sequence[object]", given) if isinstance(given, Sequence) else [given]
    parts = given.split(",") if isinstance(given, str) else several
    try:
        ks = tuple(map(_cutoff, parts))
    except (TypeError, ValueError):
        ks = ()
    if not ks or min(ks) < 1:
        wanted = "write a whole number from 1, or several with commas, such as 1,3,5,10"
        raise PydanticCustomError("cutoffs", wanted)
    if len(set(ks)) < len(ks):
        raise PydanticCustomError("cutoffs", "a cut-off stands twice; write each once")
    return ks[0] if len(ks) == 1 else ks


def _cutoff(said: object) -> int:
    if isinstance(said, str):
        return int(said) if said.strip(" ").isdecimal() and said.isascii() else 0
    return 0 if isinstance(said, bool) else index(cast("SupportsIndex", said))


Cutoffs = Annotated[int | tuple[int, ...], BeforeValidator(_cutoffs)]
"""A rank to cut at, or several: never a tuple of one, so that each plan has one spelling."""


class JudgePlan(BaseModel):
    """Who judges, and how it is asked.

    Attributes:
        judge: `offline`, `local:FOLDER`, or `provider:model`; several with commas are a panel,
            `cascade:A+B` asks the second where the first is not sure.
        votes: how often each judge is asked; the majority decides.
        base_url: where the model is served, if not at its provider's usual place.
        embedding_model: `provider:model` for questions of likeness.
        temperature: None leaves it to the provider.
        max_tokens: the most that one reply may take.
        context_window: tokens that one prompt may have; longer contexts are verified in windows.
        strict_json: read nothing but JSON.
        prompts: kind of question -> a file with a prompt of one's own.
        cache: whether replies are kept in, and read from, the reply cache.
        rpm, tpm: calls and tokens a minute.
        max_calls, max_cost: calls and US dollars after which the run ends.
        cascade_threshold: the confidence under which a cascade asks its second judge.
        cascade_audit_rate: the share of the others that it asks both, to compare.
        offline: download nothing; a local model has to be on this machine.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    judge: str = DEFAULT_JUDGE
    votes: Annotated[int, Field(ge=1, le=99)] = 1
    base_url: str | None = None
    embedding_model: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    max_tokens: Annotated[int, Field(ge=16)] = 4096
    context_window: Annotated[int, Field(ge=1000)] = 100_000
    strict_json: bool = False
    prompts: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)
    cache: bool = True
    rpm: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    tpm: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_calls: Annotated[int, Field(ge=0)] | None = None
    max_cost: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = None
    cascade_threshold: Annotated[
        float, Field(ge=0, le=1, validation_alias=AliasChoices("cascade_threshold", "cascade_mark"))
    ] = 0.8
    cascade_audit_rate: Annotated[
        float,
        Field(ge=0, le=1, validation_alias=AliasChoices("cascade_audit_rate", "cascade_control")),
    ] = 0.05
    offline: bool = False


class ClaimPlan(BaseModel):
    """What fills the parameters of claim metrics that a metric's name does not say.

    Attributes:
        policy: how verdicts become a number.
        verify: all claims in one call (`batch`), one a call (`each`), or all against the facts
            that were extracted from the contexts first (`truths`).
        claim_source: from the judge (`llm`), the response's sentences, or those where the
            judge fails (`hybrid`).
        batch_size: claims in one call.
        truths_limit: facts extracted from one context; None is all.
        include_reason: have the verdicts summed up in words; one call more.
        allow_partial: let the judge say PARTIALLY_SUPPORTED.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    policy: PolicyName = STRICT.name
    verify: Literal["batch", "each", "truths"] = "batch"
    claim_source: Annotated[
        Literal["llm", "sentences", "hybrid"],
        Field(validation_alias=AliasChoices("claim_source", "claims")),
    ] = "llm"
    batch_size: Annotated[int, Field(ge=1)] = BATCH
    truths_limit: Annotated[int, Field(ge=1)] | None = None
    include_reason: bool = False
    allow_partial: Annotated[
        bool, Field(validation_alias=AliasChoices("allow_partial", "partial"))
    ] = False


class Plan(JudgePlan, ClaimPlan):
    """Everything a run was asked to do; all of it has a default.

    Attributes:
        metrics: metric and group names, as `metrics.select` reads them.
        k: what fills a metric's `@k` that is not said; with several, the metric is there at each.
            The largest is also the least that a target is asked for.
        min_similarity: minimum retrieval similarity, sent to the target; not a pass mark.
        target: URL, YAML file or `module:function`; asked for every row.
        fallback_target: asked only where no row holds what a metric needs.
        limit: only the first rows.
        columns: our field -> the file's column name, where the names differ.
        sheet: the workbook's sheet; the first by default.
        concurrency: rows in work, and calls under way, at once.
        timeout: seconds that one try of a call may take.
        retries: further tries after a failed connection, a 429 or a 5xx.
        delay: seconds between the starts of two calls to the target.
        gates: demands on the metrics.
        gates_on: what marks are held against: means, or the ends of their intervals.
        cluster: the tag of rows that belong together, for the intervals.
        max_failure_rate: the share of a metric's scores that may fail before the run counts as
            failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ("all",)
    k: Cutoffs = 5
    min_similarity: Annotated[
        float,
        Field(allow_inf_nan=False, validation_alias=AliasChoices("min_similarity", "threshold")),
    ] = 0.0
    target: str | None = None
    fallback_target: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    columns: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)
    sheet: str | None = None
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 60.0
    retries: Annotated[int, Field(ge=0, le=20)] = 7
    delay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    gates: tuple[Gate, ...] = ()
    gates_on: Literal["mean", "interval"] = "mean"
    cluster: str | None = None
    max_failure_rate: Annotated[
        float, Field(ge=0, le=1, validation_alias=AliasChoices("max_failure_rate", "max_failed"))
    ] = 0.1

    @property
    def cutoffs(self) -> tuple[int, ...]:
        """`k` as several, in the order in which they were said."""
        return self.k if isinstance(self.k, tuple) else (self.k,)

    @property
    def parameters(self) -> Mapping[str, str | int | float | tuple[int, ...] | None]:
        """What fills those parameters of a metric that its name does not say."""
        return {"k": self.k} | {name: getattr(self, name) for name in ClaimPlan.model_fields}

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> "Plan":
        """Make a plan of what a person said.

        Raises:
            UsageError: a field does not exist, or is out of its range.
        """
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise UsageError(format_validation_errors(error)) from error


NUMBERS_OR_NONE = frozenset(
    name
    for name, field in Plan.model_fields.items()
    if type(None) in get_args(field.annotation) and str not in get_args(field.annotation)
)
"""Fields with a number that may be left out, which text says as `none`."""


class Source(BaseModel):
    """The data set of a run: its name, the SHA-256 of its bytes, and its rows.

    `path` is where the file was; None for samples in memory.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    fingerprint: str | None = None
    rows: int = 0
    notes: tuple[str, ...] = ()
    path: str | None = None


class Manifest(BaseModel):
    """What a run was asked to do, what it was done with, and when.

    Attributes:
        judge_note: what the judge is, in words; None if no metric asked one.
        judge_test: how this judge did when it was tested on changed claims; None if it was not.
        target: the RAG system that was asked; None if none was.
        not_run: metric -> why it was not run.
        identity: what decides the numbers, by name: runs of one identity were asked the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    version: str
    started_at: datetime
    plan: Plan
    source: Source
    judge: str | None
    judge_note: str | None
    judge_test: str | None = None
    target: str | None
    not_run: FrozenMap[str, str]
    identity: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the identity."""
        return sha256(json.dumps(dict(self.identity), sort_keys=True).encode()).hexdigest()

    def changed(self, other: "Manifest") -> Mapping[str, tuple[str, str]]:
        """Return where another one's identity differs: name -> what it is here, and there."""
        names = [*self.identity, *(name for name in other.identity if name not in self.identity)]
        pairs = {
            name: (self.identity.get(name, ""), other.identity.get(name, "")) for name in names
        }
        return {name: (here, there) for name, (here, there) in pairs.items() if here != there}

    @property
    def options(self) -> Mapping[str, object]:
        """The plan's settings, but for what was not asked for."""
        return self.plan.model_dump(mode="json", exclude_none=True)
