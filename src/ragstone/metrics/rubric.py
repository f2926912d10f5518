"""Rubrics: criteria and a scale by which a judge rates responses, read from YAML."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ValidationError, field_validator
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from ragstone._internal.fields import FrozenMap, FrozenModel, NotBlank, is_list, is_object
from ragstone._internal.text import describe_fault
from ragstone._internal.yaml import line_of, load_yaml, read_settings_file
from ragstone.errors import InputError, Problem, nearest
from ragstone.metrics.base import NAME, Ask, Metric
from ragstone.types.questions import RateResponse
from ragstone.types.sample import Sample
from ragstone.types.score import Detail, Score

LIST = "rubrics"  # the key of a file with several rubrics
ALWAYS = ("query", "response")  # texts that the judge always sees
_LEVEL = re.compile(r"0|-?[1-9][0-9]{0,8}")
_Place = tuple[str | int, ...]


def _whole_number(value: object) -> object:
    if isinstance(value, bool) or not _LEVEL.fullmatch(str(value)):
        raise ValueError("a level is a whole number, such as 3")
    return value


Level = Annotated[int, BeforeValidator(_whole_number)]
Text = Literal["query", "response", "contexts", "reference"]


class Rubric(FrozenModel):
    """Criteria for rating responses, the scale, and the texts that the judge `reads`."""

    criteria: NotBlank
    levels: FrozenMap[Level, NotBlank]
    reads: tuple[Text, ...] = ALWAYS
    higher_is_better: bool = True

    @field_validator("levels")
    @classmethod
    def _several_levels(cls, levels: Mapping[int, str]) -> Mapping[int, str]:
        if len(levels) < 2:
            raise ValueError("a scale needs at least two levels")
        return levels

    @field_validator("reads")
    @classmethod
    def _with_query_and_response(cls, names: tuple[Text, ...]) -> tuple[Text, ...]:
        if left := [name for name in ALWAYS if name not in names]:
            raise ValueError(f"the judge always reads {' and '.join(left)}; add it")
        return names


class NamedRubric(Rubric):
    name: str
    label: NotBlank | None = None

    @field_validator("name")
    @classmethod
    def _metric_name(cls, name: str) -> str:
        if not NAME.fullmatch(name):
            raise ValueError("invalid metric name; use lower case letters, digits and _")
        return name

    @property
    def definition(self) -> str:
        low, *_, high = sorted(self.levels)
        lines = [
            *(self.criteria.strip(), ""),
            f"Formula: the level that the judge assigns to the response. Range {low} to {high}.",
            *(f"{level}: {self.levels[level].strip()}" for level in sorted(self.levels)),
            f"The judge reads: {', '.join(self.reads)}.",
            "Undefined: a text that the judge reads is blank. One call per sample.",
        ]
        return "\n".join(lines)


def rubrics_in(path: Path) -> tuple[NamedRubric, ...]:
    root, content = load_yaml(read_settings_file(path), str(path))
    items: list[tuple[_Place, object]] = [((), {} if content is None else content)]
    problems: list[Problem] = []

    def add(place: _Place, seen: str) -> None:
        problems.append(Problem(seen, row=line_of(root, place), unit="line"))

    if is_object(content) and LIST in content:
        rubrics = content[LIST]
        several = rubrics if is_list(rubrics) and len(content) == 1 else []
        items = [((LIST, number), item) for number, item in enumerate(several)]
        if not items:
            add((LIST,), f"{LIST}: expected a list of rubrics and no other keys")
    found: dict[str, NamedRubric] = {}
    for place, item in items:
        try:
            rubric = NamedRubric.model_validate(item)
        except ValidationError as error:
            for fault in error.errors(include_url=False):
                inner = tuple(part for part in fault["loc"] if part != "[key]")
                add((*place, *inner), _describe_fault(fault, inner))
            continue
        if found.setdefault(rubric.name, rubric) is not rubric:
            add((*place, "name"), f"name: {rubric.name!r} appears twice")
    if problems:
        raise InputError(str(path), sorted(problems, key=lambda it: it.row or 0))
    return tuple(found.values())


def _describe_fault(fault: ErrorDetails, place: _Place) -> str:
    kind = fault["type"]
    key = ".".join(map(str, place))
    if kind == "missing":
        return f"{key} is missing"
    if kind == "extra_forbidden":
        known = NamedRubric.model_fields
        near = nearest(key, known)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
        return f"unknown key {key!r:.80}; {hint}"
    if kind in ("model_type", "model_attributes_type"):
        return "expected `key: value` lines with name, criteria and levels"
    return f"{key}: {describe_fault(fault)}, got {fault['input']!r:.80}"


@dataclass(frozen=True)
class RubricMetric(Metric):
    """The level that a judge assigns to a response by a rubric; one call per sample."""

    must_define: ClassVar[tuple[str, ...]] = ("rubric",)
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
        reads, levels, response = self.rubric.reads, self.rubric.levels, sample.response or ""
        reference = sample.closest_reference if "reference" in reads else None
        texts = tuple(context.text for context in sample.contexts or ())
        contexts = texts if "contexts" in reads else None
        if not response.strip():
            return Score.undefined("the response is blank")
        if reference is not None and not reference.strip():
            return Score.undefined("the reference is blank")
        if contexts and not any(map(str.strip, contexts)):
            return Score.undefined("the contexts have no text")
        question = RateResponse(
            criteria=self.rubric.criteria.strip(),
            levels=tuple((level, levels[level].strip()) for level in sorted(levels)),
            query=sample.query_with_history,
            response=response,
            contexts=contexts,
            reference=reference,
        )
        rating = await ask(question)
        score = Score.scored(rating.level, detail={"meaning": levels[rating.level].strip()})
        notes = sample.reference_note(read=reference is not None)
        return score.noted(notes).model_copy(update={"reason": rating.reason})

    def summarize(self, scores: Sequence[Score]) -> Detail:
        counts = Counter(score.value for score in scores)
        return {f"Level {level}": counts[level] for level in sorted(self.rubric.levels)}


def rubric_metric(rubric: NamedRubric, file: Path) -> type[RubricMetric]:
    attributes = {"__doc__": rubric.definition, "__module__": str(file), "rubric": rubric}
    attributes |= {"label": rubric.label} if rubric.label else {}
    return type(rubric.name, (RubricMetric,), attributes)
