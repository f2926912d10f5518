"""Metric: the base class. Metrics are frozen; their fields are their parameters."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, ClassVar, Protocol, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone._internal.fields import tag_text
from ragstone.types.sample import Sample
from ragstone.types.score import NOTHING, Detail, MetricInfo, Score

if TYPE_CHECKING:
    from ragstone.types.questions import Question

T = TypeVar("T")
NAME = re.compile(r"[a-z][a-z0-9_]*")  # valid names of metrics
FAMILIES = ("retrieval", "generation")  # in the order of reports
Count = Annotated[int, Field(ge=1)]
Cutoff = Annotated[int, Field(ge=1, le=2**31 - 1)]  # a rank: the first k documents count


class Ask(Protocol):
    """Asks the judge one question.

    Raises:
        JudgeError: the judge did not answer.
    """

    async def __call__(self, question: "Question[T]") -> T:
        """Return the answer; equal questions about a sample share one call."""
        ...


@dataclass(frozen=True)
class Metric(ABC):
    """Scores one sample, from judge answers or rankings.

    A subclass is registered under a name; `str()` of an instance is that name with the
    parameters, and `metrics.get(str(metric)) == metric`.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    family: ClassVar[str] = "generation"
    needs: ClassVar[tuple[str, ...]] = ()
    """The Sample fields that a row needs to be scored."""
    asks: ClassVar[tuple[str, ...]] = ()
    """The kinds of question that the judge must support."""
    must_define: ClassVar[tuple[str, ...]] = ()
    """Class attributes that a subclass must define."""
    calls: ClassVar[int] = 0
    """Judge calls per sample with default parameters and an empty cache."""
    packages: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Libraries imported when scoring -> the pip requirement that installs them."""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    higher_is_better: ClassVar[bool] = True

    @abstractmethod
    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Score one sample with all needed fields."""

    def summarize(self, scores: Sequence[Score]) -> Detail:
        """Return further figures about all scores, by name."""
        del scores
        return NOTHING

    def __str__(self) -> str:
        return self._short_name

    @cached_property
    def _short_name(self) -> str:
        changed = {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name == "k" or getattr(self, field.name) != field.default
        }
        return self._name_with(changed)

    @property
    def spelled(self) -> str:
        """The name with all parameters that have a value, including defaults."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return self._name_with({key: it for key, it in values.items() if it is not None})

    def _name_with(self, parameters: dict[str, object]) -> str:
        cutoff = f"@{parameters.pop('k')}" if "k" in parameters else ""
        policy = f":{parameters.pop('policy')}" if "policy" in parameters else ""
        name = f"{self.name}{cutoff}{policy}"
        for parameter, value in parameters.items():
            text = tag_text(value)
            if isinstance(value, float):
                text = text.removesuffix(".0")
            name += f",{parameter}={text}"
        return name

    @property
    def range(self) -> tuple[float, float]:
        """The minimum and maximum of a score."""
        return self.low, self.high

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """The kinds of question asked with these parameters."""
        return self.asks

    @property
    def described(self) -> MetricInfo:
        """The description of this metric with its parameters."""
        low, high = self.range
        return self.info().model_copy(update={"low": low, "high": high})

    @classmethod
    def info(cls) -> MetricInfo:
        """Return the description of the class, with the first line of its docstring."""
        return MetricInfo(
            name=cls.name,
            label=cls.label,
            family=cls.family,
            description=(cls.__doc__ or "").strip().partition("\n")[0],
            low=cls.low,
            high=cls.high,
            higher_is_better=cls.higher_is_better,
            needs=cls.needs,
            calls=cls.calls,
        )
