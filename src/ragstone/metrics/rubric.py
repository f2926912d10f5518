"""Rubric: criteria and a scale that a judge rates responses by, and how a YAML file says them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Literal, cast

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, ValidationError
from pydantic.dataclasses import dataclass as rubric_metric_dataclass
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from ragstone._internal.fields import FrozenMap, NotBlank
from ragstone._internal.yaml import compose_file
from ragstone.errors import InputError, Problem, nearest
from ragstone.metrics.base import Ask, Metric
from ragstone.types.questions import RateResponse
from ragstone.types.sample import Sample
from ragstone.types.score import Detail, Score

NAME = re.compile(r"[a-z][a-z0-9_]*")
"""What a metric may be called."""

LIST = "rubrics"
"""The key of a file that holds several."""

ALWAYS = ("query", "response")
"""What the judge is shown whatever the criteria."""

_LEVEL = re.compile(r"0|-?[1-9][0-9]{0,8}")
_TAGS = {f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map")}
_Place = tuple[str | int, ...]


def _level(given: object) -> object:
    if isinstance(given, bool | float) or (isinstance(given, str) and not _LEVEL.fullmatch(given)):
        raise ValueError("a level is a whole number, such as 3")
    return given


def _scale(levels: Mapping[int, str]) -> Mapping[int, str]:
    if len(levels) < 2:
        raise ValueError("a scale needs two levels or more")
    return levels


def _read(names: tuple[str, ...]) -> tuple[str, ...]:
    if left := [name for name in ALWAYS if name not in names]:
        raise ValueError(f"the judge always reads {' and '.join(left)}; add it")
    return names


def _name(given: str) -> str:
    if not NAME.fullmatch(given):
        raise ValueError("this is no metric name; use lower case letters, digits and _")
    return given


Level = Annotated[int, BeforeValidator(_level)]
Text = Literal["query", "response", "contexts", "reference"]


class Rubric(BaseModel):
    """Criteria that responses are rated by, and the scale.

    Attributes:
        criteria: what to look at, in words.
        levels: number -> what it means; at least two.
        reads: the texts of a sample that the judge is shown.
        higher_is_better: whether the highest level is the best.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    criteria: NotBlank
    levels: Annotated[FrozenMap[Level, NotBlank], AfterValidator(_scale)]
    reads: Annotated[tuple[Text, ...], AfterValidator(_read)] = ALWAYS
    higher_is_better: bool = True


class NamedRubric(Rubric):
    """A rubric as a file has it: with the name of the metric that it makes."""

    name: Annotated[str, AfterValidator(_name)]
    label: NotBlank | None = None

    @property
    def definition(self) -> str:
        """The criteria, the scale, and what the metric makes of them, for people."""
        low, *_, high = sorted(self.levels)
        scale = [f"{level}: {self.levels[level].strip()}" for level in sorted(self.levels)]
        formula = "Formula: the level that the judge gives the response by these criteria."
        return "\n".join(
            [
                *(self.criteria.strip(), "", f"{formula} Range {low} to {high}.", *scale),
                f"The judge reads: {', '.join(self.reads)}.",
                "Undefined: the response, or another text it reads, is blank. One call a sample.",
            ]
        )


def rubrics_in(path: Path) -> tuple[NamedRubric, ...]:
    """Read the rubric of a YAML file, or those in the list that it has under `rubrics`.

    Raises:
        UsageError: the file cannot be read.
        InputError: it is no YAML, or a rubric of it says something wrong; all problems at once.
    """
    page = _Page()
    root = compose_file(path, typed=False)
    said: object = {} if root is None else page.value(root, ())
    found: dict[str, NamedRubric] = {}
    for place, item in _items(said, page):
        try:
            rubric = NamedRubric.model_validate(item)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                inner = tuple(part for part in fault["loc"] if part != "[key]")
                told = _told(fault["type"], inner, fault["msg"], fault["input"])
                page.problem((*place, *inner), told)
            continue
        if found.setdefault(rubric.name, rubric) is not rubric:
            page.problem((*place, "name"), f"name: {rubric.name!r} stands twice")
    if page.problems:
        raise InputError(str(path), sorted(page.problems, key=lambda it: it.row or 0))
    return tuple(found.values())


def _items(said: object, page: "_Page") -> list[tuple[_Place, object]]:
    """Return each rubric of a file as it is written, and its place."""
    if not isinstance(said, dict) or LIST not in said:
        return [((), cast("object", said))]
    several = cast("dict[str, object]", said)
    items = several[LIST]
    if len(several) > 1 or not isinstance(items, list) or not items:
        page.problem((LIST,), f"{LIST}: a list of rubrics belongs here, and nothing beside it")
        return []
    return [((LIST, n), item) for n, item in enumerate(cast("list[object]", items))]


def _told(kind: str, place: _Place, why: str, seen: object) -> str:
    """Say what is wrong with a rubric's value."""
    key = ".".join(map(str, place))
    if kind == "missing":
        return f"there is no {key}"
    if kind == "extra_forbidden":
        near = nearest(key, NamedRubric.model_fields)
        hint = (
            f"did you mean {near!r}?" if near else f"known: {', '.join(NamedRubric.model_fields)}"
        )
        return f"there is no key {key!r:.80}; {hint}"
    if kind in ("model_type", "model_attributes_type"):
        return "`key: value` lines with name, criteria and levels belong here"
    return f"{key}: {why.removeprefix('Value error, ')}, got {seen!r:.80}"


@dataclass(frozen=True)
class _Page:
    """What a file says, as text, lists and mappings; the row of each value, and what is wrong."""

    problems: list[Problem] = field(default_factory=list[Problem])
    _rows: dict[_Place, int] = field(default_factory=dict[_Place, int])
    _seen: set[int] = field(default_factory=set[int])

    def problem(self, place: _Place, seen: str) -> None:
        """Note what is wrong with the value at a place, or with what it should be in."""
        inner = next((place[:n] for n in range(len(place), 0, -1) if place[:n] in self._rows), ())
        self.problems.append(Problem(seen, row=self._rows.get(inner)))

    def value(self, node: Node, place: _Place) -> object:
        """Return a node's value; numbers stay text, as the key they stand under reads them."""
        self._rows[place] = node.start_mark.line + 1
        if id(node) in self._seen:
            self.problem(place, "an alias stands here; write it out")
            return None
        self._seen.add(id(node))
        if node.tag not in _TAGS:
            self.problem(place, f"{node.tag} has no meaning here; write a plain value")
        if isinstance(node, SequenceNode):
            return [self.value(item, (*place, n)) for n, item in enumerate(node.value)]
        if isinstance(node, MappingNode):
            return self._mapping(node, place)
        assert isinstance(node, ScalarNode)
        return node.value

    def _mapping(self, node: MappingNode, place: _Place) -> dict[str, object]:
        named: dict[str, object] = {}
        for name, value in node.value:
            key = name.value if isinstance(name, ScalarNode) else ""
            if key in named:
                self.problem(place, f"the name {key!r} stands twice")
            named[key] = self.value(value, (*place, key))
        return named


# RubricMetric: the family that has responses rated by criteria in words.


@rubric_metric_dataclass(frozen=True)
class RubricMetric(Metric):
    """The level that a judge gives a response by a rubric; one call a sample.

    A subclass says which rubric; its range, its direction and its needs are the rubric's.
    """

    says: ClassVar[tuple[str, ...]] = ("rubric",)
    asks: ClassVar[tuple[str, ...]] = (RateResponse.kind,)
    calls: ClassVar[int] = 1
    rubric: ClassVar[Rubric]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if hasattr(cls, "rubric"):
            cls.low, cls.high = float(min(cls.rubric.levels)), float(max(cls.rubric.levels))
            cls.higher_is_better = cls.rubric.higher_is_better
            cls.needs = tuple(text for text in cls.rubric.reads if text != "query")

    async def score(self, sample: Sample, ask: Ask) -> Score:
        """Have the response rated; the judge's reason is the score's."""
        reads, levels, response = self.rubric.reads, self.rubric.levels, sample.response or ""
        reference = sample.reference if "reference" in reads else None
        contexts = tuple(context.text for context in sample.contexts or ())
        if not response.strip():
            return Score.undefined("the response is blank")
        if reference is not None and not reference.strip():
            return Score.undefined("the reference is blank")
        if "contexts" in reads and contexts and not any(text.strip() for text in contexts):
            return Score.undefined("the contexts have no texts")
        question = RateResponse(
            criteria=self.rubric.criteria.strip(),
            levels=tuple((level, levels[level].strip()) for level in sorted(levels)),
            query=sample.query,
            response=response,
            contexts=contexts if "contexts" in reads else None,
            reference=reference,
        )
        rating = await ask(question)
        score = Score.scored(rating.level, detail={"meaning": levels[rating.level].strip()})
        return score.model_copy(update={"reason": rating.reason})

    def summarise(self, scores: Sequence[Score]) -> Detail:
        """Count the responses at each level: a mean hides how a scale was used."""
        came = Counter(score.value for score in scores)
        return {f"Level {level}": came[level] for level in sorted(self.rubric.levels)}


def rubric_metric(rubric: NamedRubric, file: Path) -> type[RubricMetric]:
    """Return the class of a file's rubric, not registered yet; the file stands for its module."""
    label = {} if rubric.label is None else {"label": rubric.label}
    said = {"__doc__": rubric.definition, "__module__": str(file), "rubric": rubric}
    return type(rubric.name, (RubricMetric,), {**said, **label})
