"""Gates: requirements on metrics that decide the exit code of a run."""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import Field, FiniteFloat

from ragstone._internal.fields import FrozenModel, MetricName
from ragstone.errors import UsageError
from ragstone.types.score import Correction, Summary

Op = Literal[">=", "<="]
Of = Literal["mean", "interval", "corrected", "scored"]
"""The value to compare: that of an interval is its pessimistic end, `scored` is the coverage."""
FLAGS: Mapping[str, tuple[Op, Of]] = MappingProxyType(  # setting -> what its gates check
    {"fail_under": (">=", "mean"), "fail_over": ("<=", "mean"), "min_coverage": (">=", "scored")}
)
EPSILON = 1e-9  # sums are not exact: a value that misses its threshold by less has reached it
WIDEST = 0.3  # a corrected interval that is wider, and holds the threshold, decides no gate
_SHARE = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")


def reaches(value: float, threshold: float, op: Op = ">=") -> bool:
    return value >= threshold - EPSILON if op == ">=" else value <= threshold + EPSILON


class Gate(FrozenModel):
    metric: MetricName
    op: Op
    threshold: FiniteFloat
    of: Of = "mean"

    def check(
        self, summaries: Mapping[str, Summary], *, clusters: int | None = None
    ) -> "GateResult":
        """`clusters` is the number of groups of the scored rows; None if they are independent."""
        summary = summaries.get(self.metric)
        value = None if summary is None else self._value(summary)
        passed = None if value is None else reaches(value, self.threshold, self.op)
        why = ""
        if self.of == "interval" and value is None and summary and summary.scored > 1:
            why = "there is no interval, because all scores are equal"
            if clusters is not None:
                why = f"too few clusters ({clusters})" + (
                    ": their means are equal" * (clusters > 1)
                )
        if self.of == "corrected" and summary:
            found = summary.corrected
            problem = self._doubt(found) if found else "no calibration has labels of it"
            name = f"calibration {found.calibration}" if found else f"corrected {self.metric}"
            why = f"the {name} cannot decide ({problem})" if problem else ""
        found = summary.corrected if summary and self.of == "mean" else None
        if value is not None and found and found.interval and not found.problem:
            assert found.mean is not None
            if reaches(found.mean, self.threshold, self.op) is not passed:
                low, high = found.interval
                why = f"the judge's mean is {value:.2f}, but corrected with labels it is "
                why += f"{found.mean:.2f} ({low:.2f} to {high:.2f})"
                passed = None
        return GateResult(**dict(self), value=value, passed=passed, why=why)

    def _doubt(self, found: Correction) -> str | None:
        if found.problem or found.interval is None:
            return found.problem
        low, high = found.interval
        if high - low > WIDEST and low < self.threshold < high:
            wide = f"the interval of the corrected mean is wide, {low:.2f} to {high:.2f}"
            return f"{wide}; label more rows of this run"
        return None

    @property
    def demand(self) -> tuple[str, Op, Of]:
        return self.metric, self.op, self.of

    def _value(self, summary: Summary) -> float | None:
        if self.of == "scored":
            return summary.scored / summary.n if summary.n else None
        if self.of == "corrected":
            found = summary.corrected
            return found.mean if found and not self._doubt(found) else None
        if self.of == "interval":
            return summary.interval[0 if self.op == ">=" else 1] if summary.interval else None
        return summary.mean


class GateResult(Gate):
    value: float | None
    passed: bool | None  # None if undecided
    why: str = Field(default="", exclude=True)  # it is undecided

    def __str__(self) -> str:
        if self.value is None or self.passed is None:
            few = "too few rows were scored" if self.of == "interval" else "nothing was scored"
            limit = f"{self.op} {self.threshold:g}"
            end = "cannot be checked" if self.value is None else "is undecided"
            return f"{self.metric}: {self.why or few}, so {limit} {end}"
        word = "is" if self.passed else "is not"
        # if they are equal to four digits, those would look like a pass
        near = round(self.value, 4) == round(self.threshold, 4)
        value = f"{self.value:.4f}" if self.passed or not near else f"{self.value!r}"
        ends = {">=": "lower", "<=": "upper"}
        what = {
            "mean": f"{self.metric} {value}",
            "interval": f"the {ends[self.op]} end of {self.metric}'s interval, {value},",
            "corrected": f"the corrected {self.metric}, {value},",
            "scored": f"the share of rows scored by {self.metric}, {value},",
        }[self.of]
        return f"{what} {word} {self.op} {self.threshold:g}"


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
