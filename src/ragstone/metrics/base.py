"""Metric: a definition. Frozen; its fields are its parameters."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, ClassVar, Protocol, TypeVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from ragstone.types.policy import STRICT
from ragstone.types.questions import Question
from ragstone.types.sample import Sample
from ragstone.types.score import NOTHING, Detail, MetricInfo, Score

T = TypeVar("T")
FAMILIES = ("retrieval", "generation")
"""What metrics are grouped by, in the order of reports."""
Count = Annotated[int, Field(ge=1)]
"""How many of something; at least one."""
Cutoff = Annotated[int, Field(ge=1, le=2**31 - 1)]
"""A rank to cut at: the first k documents count."""


class Ask(Protocol):
    """How a metric asks: awaits the judge's answer to one question.

    Raises:
        JudgeError: the judge did not answer.
    """

    async def __call__(self, question: Question[T]) -> T:
        """Return the answer, asking each question of a sample once however often it comes."""
        ...


@dataclass(frozen=True)
class Metric(ABC):
    """Scores one sample, from answers or from rankings.

    A subclass is registered under a name; `str()` of an instance is that name with the
    parameters, and `metrics.get(str(metric)) == metric`.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    family: ClassVar[str] = "generation"
    needs: ClassVar[tuple[str, ...]] = ()
    """The Sample fields without which no row can be scored."""
    asks: ClassVar[tuple[str, ...]] = ()
    """The kinds of question that a judge must take."""
    says: ClassVar[tuple[str, ...]] = ()
    """What a class of this family has to say of itself, beside the methods it writes."""
    calls: ClassVar[int] = 0
    """The judge's calls a sample, at the parameters' defaults and with nothing in the cache."""
    packages: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """The libraries that it imports as it scores -> what pip installs to have them."""
    low: ClassVar[float] = 0.0
    high: ClassVar[float] = 1.0
    higher_is_better: ClassVar[bool] = True

    @abstractmethod
    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Score one sample that has everything the metric needs."""

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Return figures of the metric's own, by name, about the scored ones."""
        del scores
        return NOTHING

    def __str__(self) -> str:
        return self._written

    @cached_property
    def _written(self) -> str:
        """The name with the parameters that are not at their default; told for every row."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        cut = f"@{values.pop('k')}" if "k" in values else ""
        policy = values.pop("policy", STRICT.name)
        shown = [
            f",{field.name}={_said(values[field.name])}"
            for field in fields(self)
            if field.name in values and values[field.name] != field.default
        ]
        return "".join([self.name, cut, "" if policy == STRICT.name else f":{policy}", *shown])

    @property
    def spelled(self) -> str:
        """The name with every parameter that has a value, those at their default too."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        known = {name: value for name, value in values.items() if value is not None}
        cut = f"@{known.pop('k')}" if "k" in known else ""
        rule = f":{known.pop('policy')}" if "policy" in known else ""
        return "".join(
            [self.name, cut, rule, *(f",{key}={_said(it)}" for key, it in known.items())]
        )

    @property
    def range(self) -> tuple[float, float]:
        """The least and the most that a score can be."""
        return self.low, self.high

    @property
    def question_kinds(self) -> tuple[str, ...]:
        """The kinds of question that it asks with these parameters."""
        return self.asks

    @property
    def described(self) -> MetricInfo:
        """What this metric, with its parameters, is, for people."""
        low, high = self.range
        return self.info().model_copy(update={"low": low, "high": high})

    @classmethod
    def info(cls) -> MetricInfo:
        """Describe the metric for people; the description is its docstring's first line."""
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


def _said(value: object) -> str:
    """Write a parameter's value as a name has it: `true`, `0.8`, `truths`."""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value).removesuffix(".0") if isinstance(value, float) else str(value)
