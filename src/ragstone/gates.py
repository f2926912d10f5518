"""Gate: a pass mark on a metric's mean that decides a run's exit code."""

import math
import re
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat

from ragstone.errors import UsageError
from ragstone.scores import Summary

Op = Literal[">=", "<="]
EPSILON = 1e-9
_SHARE = re.compile(r"\s*([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)\s*(%?)\s*")


class Gate(BaseModel):
    """The demand that a metric's mean be at least (`>=`) or at most (`<=`) a mark."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    metric: str
    op: Op
    mark: FiniteFloat

    def check(self, summaries: Mapping[str, Summary]) -> "GateResult":
        """Hold a run's summaries against the mark; a mean over nothing is no pass."""
        value = summaries[self.metric].mean if self.metric in summaries else None
        if value is None:
            passed = None
        elif self.op == ">=":
            passed = value >= self.mark - EPSILON
        else:
            passed = value <= self.mark + EPSILON
        return GateResult(
            metric=self.metric, op=self.op, mark=self.mark, value=value, passed=passed
        )


class GateResult(Gate):
    """A gate, the mean it was held against, and whether it passed: None if nothing was scored."""

    value: float | None
    passed: bool | None

    def __str__(self) -> str:
        if self.value is None:
            return f"{self.metric}: nothing was scored, so {self.op} {self.mark:g} cannot be told"
        word = "is" if self.passed else "is not"
        near = round(self.value, 4) == round(self.mark, 4)  # then four digits would say it passed
        value = f"{self.value:.4f}" if self.passed or not near else f"{self.value!r}"
        return f"{self.metric} {value} {word} {self.op} {self.mark:g}"


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


def gate(text: str, op: Op) -> Gate:
    """Read a gate written `METRIC=VALUE`.

    Raises:
        UsageError: it is not written so.
    """
    metric, equals, mark = text.rpartition("=")
    if not equals or not metric.strip():
        raise UsageError(f"{text!r} is no gate; write METRIC=VALUE, such as faithfulness=0.8")
    return Gate(metric=metric.strip(), op=op, mark=share(mark))
