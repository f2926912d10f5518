"""Gates: requirements on metrics that decide the exit code of a run."""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field, FiniteFloat

from ragstone._internal.fields import FrozenModel, MetricName
from ragstone._internal.text import count
from ragstone.errors import UsageError
from ragstone.types.score import Summary

Op = Literal[">=", "<="]
Of = Literal["mean", "interval", "corrected", "scored"]
"""What is compared: an interval as a whole, also that of `corrected`; `scored` is the coverage."""
Ends = tuple[float, float]
FLAGS: Mapping[str, tuple[Op, Of]] = MappingProxyType(  # setting -> what its gates check
    {"fail_under": (">=", "mean"), "fail_over": ("<=", "mean"), "min_coverage": (">=", "scored")}
)
EPSILON = 1e-9  # sums are not exact: a value that misses its threshold by less has reached it
_SHARE = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")


def reaches(value: float, threshold: float, op: Op = ">=") -> bool:
    return value >= threshold - EPSILON if op == ">=" else value <= threshold + EPSILON


class Gate(FrozenModel):
    metric: MetricName
    op: Op
    threshold: FiniteFloat
    of: Of = "mean"

    def check(self, summaries: Mapping[str, Summary]) -> "GateResult":
        if (summary := summaries.get(self.metric)) is None:
            return self._result()
        found, value = summary.corrected, summary.mean
        if self.of == "corrected":
            if found and found.mean is not None and found.interval and not found.problem:
                left = max(0, summary.scored - found.labels)
                return self._check_interval(found.mean, found.interval, found.labels, left)
            why = found and f"the calibration {found.calibration} cannot decide ({found.problem})"
            return self._result(why=why or "no calibration has labels of it")
        if self.of in ("mean", "interval") and (doubt := self._doubt(summary)):
            return self._result(value=value, why=doubt)
        if self.of == "interval":
            if value is not None and summary.interval:
                return self._check_interval(value, summary.interval, summary.scored)
            why = f"all {summary.scored:,} scores, or the means of their groups, are equal"
            few = "too few rows were scored"
            return self._result(why=f"no interval: {why}" if summary.scored > 1 else few)
        if self.of == "scored":
            value = summary.scored / summary.n if summary.n else None
        if value is None:
            return self._result()
        return self._result(value=value, passed=self._reached(value))

    def _doubt(self, summary: Summary) -> str:
        """Return that all scores are partly imputed, or that labels contradict the mean."""
        if summary.scored and summary.flagged == summary.scored:
            return "a policy imputed a part of every score"
        found, value = summary.corrected, summary.mean
        if value is None or not found or found.mean is None or not found.interval or found.problem:
            return ""
        if self._reached(found.mean) is self._reached(value):
            return ""
        corrected = "{:.2f} ({:.2f} to {:.2f})".format(found.mean, *found.interval)
        return f"the judge's mean is {value:.2f}, but corrected with labels it is {corrected}"

    def _result(self, **given: Any) -> "GateResult":
        return GateResult(**dict(self), **given)

    def _reached(self, value: float) -> bool:
        return reaches(value, self.threshold, self.op)

    def _check_interval(
        self, mean: float, interval: Ends, rows: int, left: int | None = None
    ) -> "GateResult":
        """Pass or fail if all of the interval does; `left` is the number of rows without labels.

        The hint assumes that the width of the interval falls with the square root of `rows`.
        """
        low, high = interval
        if (passed := self._reached(low)) is self._reached(high):
            return self._result(value=mean, passed=passed, interval=interval)
        gap = abs(mean - self.threshold)
        width = mean - low if mean > self.threshold else high - mean
        more = max(1, math.ceil(rows * ((width / gap) ** 2 - 1))) if gap > EPSILON else 0
        if not more:
            kind = "questions" if left is None else "labels"
            hint = f"the mean is on the threshold, so more {kind} cannot decide it"
        elif left is None:
            hint = f"ask about {count(more, 'more question')}"
        elif more <= left:
            hint = f"label about {count(more, 'more row')}"
        else:
            hint = f"label the other {count(left, 'row')}, which may be too few"
            hint = hint if left else "all rows are labelled, so it takes more questions"
        return self._result(value=mean, interval=interval, hint=hint)

    @property
    def demand(self) -> tuple[str, Op, Of]:
        return self.metric, self.op, self.of


class GateResult(Gate):
    """`value` is the mean, corrected mean or coverage; an interval passes or fails as a whole."""

    value: float | None = None
    passed: bool | None = None  # None if undecided
    interval: Ends | None = Field(default=None, exclude=True)
    why: str = Field(default="nothing was scored", exclude=True)  # it is undecided
    hint: str = Field(default="", exclude=True)  # what would decide it

    def __str__(self) -> str:
        limit = f"{self.op} {self.threshold:g}"
        if self.value is None or (self.passed is None and self.interval is None):
            end = "cannot be checked" if self.value is None else "is undecided"
            return f"{self.metric}: {self.why}, so {limit} {end}"
        value = self._digits(self.value)
        if self.of == "corrected":
            value += " corrected"
        if self.interval:
            value += f" ({' to '.join(map(self._digits, self.interval))})"
        if self.passed is None:
            return f"{self.metric}: {value}, so {limit} is undecided: {self.hint}"
        name = f"the share of rows scored by {self.metric}," if self.of == "scored" else self.metric
        value += "," * (self.of == "scored")
        return f"{name} {value} {'is' if self.passed else 'is not'} {limit}"

    def _digits(self, value: float) -> str:
        # if they are equal to four digits, those would look like a pass
        near = round(value, 4) == round(self.threshold, 4)
        return f"{value!r}" if near and not self._reached(value) else f"{value:.4f}"


def share(text: str) -> float:
    match = _SHARE.fullmatch(text)
    number = float(match[1]) if match else math.nan
    if match is None or not math.isfinite(number):
        raise UsageError(f"{text!r} is not a number; use 0.8 or 80%")
    return number / 100 if match[2] else number


def gate(text: str, op: Op, of: Of = "mean") -> Gate:
    metric, equals, mark = text.rpartition("=")
    if not equals or not metric.strip():
        raise UsageError(f"invalid gate {text!r}; use METRIC=VALUE, such as faithfulness=0.8")
    return Gate(metric=metric.strip(), op=op, threshold=share(mark), of=of)
