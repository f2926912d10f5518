"""Score: scored, undefined or failed; and the summary of many scores."""

import math
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Literal, Self

from pydantic import ConfigDict, Field, FiniteFloat, model_validator

from ragstone._internal.fields import Figure, FrozenMap, FrozenModel, HighEnd, LowEnd, NamesHint
from ragstone.errors import Cause
from ragstone.types.claim import JudgedClaim

Detail = Mapping[str, str | int | float | bool | None]
NOTHING: Detail = MappingProxyType({})

MEAN_SUPPORT, ALL_SUPPORTED = "mean_support", "all_supported"
"""Details of a judged score: the mean probability that a claim is supported, and their product."""


class State(StrEnum):
    """Whether there is a number, and if not, why."""

    SCORED = "scored"
    UNDEFINED = "undefined"
    FAILED = "failed"


class Score(NamesHint, FrozenModel):
    """The result of one metric for one sample.

    *scored* has a finite number. *undefined* means that the metric does not apply (see `reason`),
    and *failed* that a question was not answered (see `cause` and `reason`). `fallback` marks a
    number that a policy imputed because the judge gave none. `latency_ms` is the time from the
    metric's first question to the last answer, None without questions; `truths` are the facts
    that the claims were compared with, if facts were extracted (`verify=truths`).
    """

    state: State
    value: FiniteFloat | None = None
    threshold: FiniteFloat | None = None
    passed: bool | None = None
    reason: str | None = None
    cause: Cause | None = None
    fallback: bool = False
    latency_ms: FiniteFloat | None = None
    truths: tuple[str, ...] = ()
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
        """Return the score of a metric that does not apply."""
        return cls(state=State.UNDEFINED, reason=reason)

    @classmethod
    def failed(cls, cause: Cause, reason: str) -> "Score":
        """Return the score if a question was not answered."""
        return cls(state=State.FAILED, cause=cause, reason=reason)

    def noted(self, notes: Iterable[str | None]) -> "Score":
        """Return this score with more notes, after those that it has."""
        texts = dict.fromkeys(str(each) for each in (self.detail.get("note"), *notes) if each)
        detail = {**self.detail, "note": "; ".join(texts)}
        return self.model_copy(update={"detail": detail}) if texts else self


def mean_detail(scores: Sequence[Score], name: str) -> float | None:
    """Return the mean of a numeric detail over the scores that have it; None if none has."""
    found = [score.detail.get(name) for score in scores]
    numbers = [number for number in found if isinstance(number, int | float)]
    return math.fsum(numbers) / len(numbers) if numbers else None


class MetricInfo(FrozenModel):
    """The description of a metric: names, family, definition, range and needs.

    `calls` are judge calls per sample with default parameters; `policy` is its scoring policy, if
    it has one.
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
        """The minimum and maximum of a score."""
        return self.low, self.high

    @property
    def better(self) -> str:
        """Whether `higher` or `lower` scores are better."""
        return "higher" if self.higher_is_better else "lower"


class Correction(FrozenModel):
    """A mean corrected with people's labels.

    Attributes:
        mean: the mean that people would have given; None if it cannot be estimated.
        judge: the judge's figure for the same thing.
        labels: number of labelled rows.
        of: what was labelled; for responses, the mean is the share of faithful ones.
        shifted: for labels of another run, the judge's mean and the difference there; unproven.
        problem: why no gate may rest on it; None if one may.
    """

    calibration: str
    mean: float | None = None
    interval: tuple[float, float] | None = None
    judge: float | None = None
    labels: int = 0
    of: Literal["claims", "responses"] = "claims"
    shifted: float | None = None
    problem: str | None = None


class Summary(NamesHint, FrozenModel):
    """The summary of the scores of one metric.

    Attributes:
        mean: over all scored rows; None if there are none.
        interval: 95% interval of the mean; None for fewer than two scores, and if all are the
            same value within the metric's range.
        bounds: the mean if all failed rows had the worst or the best score.
        n: rows of the run; scored + undefined + failed.
        flagged: scored rows whose score a policy imputed.
        causes: failed rows by cause.
        pass_rate: share of passing scores among those with a threshold; None without any.
        extra: further figures of the metric (`Hits`, `Misses`, ...).
        corrected: the mean corrected with labels; None without a calibration.
    """

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
    corrected: Correction | None = None
