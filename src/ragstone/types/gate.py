"""Gate: a demand on what a metric came to, which decides a run's exit code."""

import math
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, FiniteFloat

from ragstone.errors import UsageError
from ragstone.types.score import Summary

Op = Literal[">=", "<="]
Of = Literal["mean", "interval", "scored"]
"""What is held against a mark: the mean, the end of its interval that is the worse for the gate, or
the share of the rows that were scored."""
FLAGS: Mapping[str, tuple[Op, Of]] = MappingProxyType(
    {"fail_under": (">=", "mean"), "fail_over": ("<=", "mean"), "min_coverage": (">=", "scored")}
)
"""Setting -> the gates that it makes, metric by metric."""
EPSILON = 1e-9
"""Sums of fractions are not exact, so a value that misses its threshold by less has reached it."""
_SHARE = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")


def reaches(value: float, threshold: float, op: Op = ">=") -> bool:
    """Return whether a value is at least (`>=`) or at most (`<=`) a threshold, within 1e-9."""
    return value >= threshold - EPSILON if op == ">=" else value <= threshold + EPSILON


class Gate(BaseModel):
    """The demand that what a metric came to be at least (`>=`) or at most (`<=`) a mark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    op: Op
    threshold: FiniteFloat = Field(validation_alias=AliasChoices("threshold", "mark"))
    of: Of = "mean"

    def check(self, summaries: Mapping[str, Summary]) -> "GateResult":
        """Hold a run's summaries against the mark; a mean over nothing is no pass."""
        value = self._value(summaries[self.metric]) if self.metric in summaries else None
        passed = None if value is None else reaches(value, self.threshold, self.op)
        return GateResult(**dict(self), value=value, passed=passed)

    @property
    def demand(self) -> tuple[str, Op, Of]:
        """What is held against the mark, and how: another mark on the same replaces it."""
        return self.metric, self.op, self.of

    def _value(self, summary: Summary) -> float | None:
        if self.of == "scored":
            return summary.scored / summary.n if summary.n else None
        if self.of == "interval":
            return summary.interval[0 if self.op == ">=" else 1] if summary.interval else None
        return summary.mean


class GateResult(Gate):
    """A gate, the mean it was held against, and whether it passed: None if nothing was scored."""

    value: float | None
    passed: bool | None

    def __str__(self) -> str:
        if self.value is None:
            few = "too little" if self.of == "interval" else "nothing"
            limit = f"{self.op} {self.threshold:g}"
            return f"{self.metric}: {few} was scored, so {limit} cannot be checked"
        word = "is" if self.passed else "is not"
        near = round(self.value, 4) == round(
            self.threshold, 4
        )  # then four digits would say it passed
        value = f"{self.value:.4f}" if self.passed or not near else f"{self.value!r}"
        ends = {">=": "lower", "<=": "upper"}
        what = {
            "mean": self.metric,
            "interval": f"the {ends[self.op]} end of {self.metric}'s interval,",
            "scored": f"the share of rows scored by {self.metric},",
        }[self.of]
        return f"{what} {value} {word} {self.op} {self.threshold:g}"


def share(text: str) -> float:
    """Read a share written `0.1` or `10%`.

    Raises:
        UsageError: the text is no number.
    """
    match = _SHARE.fullmatch(text)
    number = float(match[1]) if match else math.nan
    if match is None or not math.isfinite(number):
        raise UsageError(f"{text!r} is no number; write 0.8 or 80%")
    return number / 100 if match[2] else number


def gate(text: str, op: Op, of: Of = "mean") -> Gate:
    """Read a gate written `METRIC=VALUE`.

    Raises:
        UsageError: it is not written so.
    """
    metric, equals, mark = text.rpartition("=")
    if not equals or not metric.strip():
        raise UsageError(f"{text!r} is no gate; write METRIC=VALUE, such as faithfulness=0.8")
    return Gate(metric=metric.strip(), op=op, threshold=share(mark), of=of)
