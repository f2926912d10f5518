"""Plan: everything a run was asked to do. Manifest: the plan, what it was done with, and when."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ragstone.errors import UsageError
from ragstone.gates import Gate
from ragstone.messages import faults
from ragstone.policies import STRICT
from ragstone.values import FrozenMap

DEFAULT_API = "http://localhost:8000"


class Plan(BaseModel):
    """Everything a run was asked to do; all of it has a default.

    Attributes:
        metrics: metric and group names, as `metrics.select` reads them.
        k: what fills a metric's `@k` that is not said; also the least a target is asked for.
        threshold: minimum retrieval similarity, sent to the target; not a pass mark.
        policy: the policy of claim metrics that name none.
        judge: the judge's name.
        target: URL, YAML file or `module:function`; asked for every row.
        fallback_target: asked only where no row holds what a metric needs.
        limit: only the first rows.
        columns: our field -> the file's column name, where the names differ.
        sheet: the workbook's sheet; the first by default.
        concurrency: rows in work at once.
        timeout: seconds that one call may take.
        retries: further tries after a failed connection, a 429 or a 5xx.
        delay: seconds between the starts of two calls to the target.
        gates: pass marks.
        max_failed: the share of a metric's scores that may fail before the run counts as failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    metrics: tuple[str, ...] = ("all",)
    k: Annotated[int, Field(ge=1)] = 5
    threshold: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    policy: str = STRICT.name
    judge: str = "offline"
    target: str | None = None
    fallback_target: str | None = None
    limit: Annotated[int, Field(ge=1)] | None = None
    columns: FrozenMap[str, str] = Field(default_factory=dict, validate_default=True)
    sheet: str | None = None
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 8
    timeout: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 30.0
    retries: Annotated[int, Field(ge=0, le=20)] = 3
    delay: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    gates: tuple[Gate, ...] = ()
    max_failed: Annotated[float, Field(ge=0, le=1)] = 0.1

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> "Plan":
        """Make a plan of what a person said.

        Raises:
            UsageError: a field does not exist, or is out of its range.
        """
        try:
            return cls.model_validate(fields)
        except ValidationError as error:
            raise UsageError(faults(error)) from error


class Source(BaseModel):
    """The data set of a run: its name, the SHA-256 of its bytes, and its rows."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    fingerprint: str | None = None
    rows: int = 0
    notes: tuple[str, ...] = ()


class Manifest(BaseModel):
    """What a run was asked to do, what it was done with, and when.

    Attributes:
        judge_note: what the judge is, in words; None if no metric asked one.
        target: the RAG system that was asked; None if none was.
        not_run: metric -> why it was not run.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    run_id: str
    version: str
    started_at: datetime
    plan: Plan
    source: Source
    judge: str | None
    judge_note: str | None
    target: str | None
    not_run: FrozenMap[str, str]

    @property
    def options(self) -> Mapping[str, object]:
        """The plan's settings, but for what was not asked for."""
        return self.plan.model_dump(mode="json", exclude_none=True)
