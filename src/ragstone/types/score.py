"""Score: scored, undefined or failed; and what many scores of one metric come to."""

import math
from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, FiniteFloat, model_validator

from ragstone._internal.fields import Figure, FrozenMap, HighEnd, LowEnd
from ragstone.errors import Cause
from ragstone.types.claim import JudgedClaim

Detail = Mapping[str, str | int | float | bool | None]
NOTHING: Detail = MappingProxyType({})


class State(StrEnum):
    """Whether there is a number, and if not, why not."""

    SCORED = "scored"
    UNDEFINED = "undefined"
    FAILED = "failed"


class Score(BaseModel):
    """What one metric says of one sample.

    *scored* has a finite number; *undefined* means that the question does not arise (`reason`
    says why); *failed* that it arose and was not answered (`cause` and `reason`). `fallback`
    marks a number that a policy made up where the judge gave none.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: State
    value: FiniteFloat | None = None
    threshold: FiniteFloat | None = Field(
        default=None, validation_alias=AliasChoices("threshold", "mark")
    )
    passed: bool | None = None
    reason: str | None = None
    cause: Cause | None = None
    fallback: bool = False
    detail: FrozenMap[str, Figure] = Field(default_factory=lambda: NOTHING)
    claims: tuple[JudgedClaim, ...] = ()

    @model_validator(mode="after")
    def _only_scored_has_a_number(self) -> Self:
        if (self.value is not None) != (self.state is State.SCORED):
            raise ValueError(f"a {self.state} score cannot have the value {self.value}")
        if (self.cause is not None) != (self.state is State.FAILED):
            raise ValueError(f"a {self.state} score cannot have the cause {self.cause}")
        return self

    @classmethod
    def scored(
        cls, value: float, *, detail: Detail = NOTHING, claims: Sequence[JudgedClaim] = ()
    ) -> "Score":
        """Return a score with a number."""
        return cls(state=State.SCORED, value=float(value), detail=detail, claims=tuple(claims))

    @classmethod
    def undefined(cls, reason: str) -> "Score":
        """Return the score of a question that does not arise."""
        return cls(state=State.UNDEFINED, reason=reason)

    @classmethod
    def failed(cls, cause: Cause, reason: str) -> "Score":
        """Return the score of a question that arose and was not answered."""
        return cls(state=State.FAILED, cause=cause, reason=reason)


def mean_detail(scores: Sequence[Score], name: str) -> float | None:
    """Return the mean of a detail over the scores that have it as a number; None over nothing."""
    found = [score.detail.get(name) for score in scores]
    numbers = [number for number in found if isinstance(number, int | float)]
    return math.fsum(numbers) / len(numbers) if numbers else None


class MetricInfo(BaseModel):
    """What a metric is, for people: its names, family, definition, range and needs.

    `calls` are the judge's, a sample, at its parameters' defaults; `policy` is the rule that
    makes its number, where there are several.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")

    name: str
    label: str
    family: str
    description: str
    low: LowEnd = 0.0
    high: HighEnd = 1.0
    higher_is_better: bool = True
    needs: tuple[str, ...] = ()
    calls: int = 0
    policy: str | None = None

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that a score can be."""
        return self.low, self.high

    @property
    def better(self) -> str:
        """Which end of the range is the good one: `higher` or `lower`."""
        return "higher" if self.higher_is_better else "lower"


class Summary(BaseModel):
    """What the scores of one metric come to.

    Attributes:
        mean: over the scored ones; None over nothing.
        interval: 95 % interval of the mean; None for fewer than two, and where all are the same
            inside the metric's range.
        bounds: the mean if all that failed had scored worst, and if best; None over nothing.
        n: rows of the run; scored + undefined + failed.
        flagged: scored ones whose number a policy made up.
        causes: failed ones by cause.
        pass_rate: share of the scored ones with a pass mark that passed; None without marks.
        extra: the metric's own figures by name (`Hits`, `Misses`, ...).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    mean: float | None
    interval: tuple[float, float] | None
    bounds: tuple[float, float] | None
    n: int
    scored: int
    undefined: int
    failed: int
    flagged: int
    causes: FrozenMap[str, int]
    pass_rate: float | None
    low: float | None
    high: float | None
    extra: FrozenMap[str, Figure] = Field(default_factory=lambda: NOTHING)
