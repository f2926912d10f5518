"""RubricMetric: the family that has responses rated by criteria in words."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from pydantic.dataclasses import dataclass

from ragstone.metrics.families.base import Ask, Metric
from ragstone.questions import RateResponse
from ragstone.rubrics import NamedRubric, Rubric
from ragstone.samples import Sample
from ragstone.scores import Detail, Score


@dataclass(frozen=True)
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
