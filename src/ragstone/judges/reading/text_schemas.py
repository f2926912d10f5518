"""Text schema: what a reply about whole texts should look like, made from the types below.

What decides comes last, so that a model that writes in order has its reason before it.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from ragstone.judges.reading.strict import Strict, strict_schema
from ragstone.questions import (
    DetectAbstention,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    RateResponse,
)


class _Grade(Strict):
    number: int
    relevant: bool


class _Grades(Strict):
    grades: list[_Grade]


class _ReasonedGrade(Strict):
    number: int
    reason: str
    relevant: bool


class _ReasonedGrades(Strict):
    grades: list[_ReasonedGrade]


class _Abstention(Strict):
    label: Literal["ANSWERS", "ABSTAINS"]


def queries_schema(count: int) -> Mapping[str, object]:
    """Return the schema of `count` guesses: each has a key, so that none can be left out."""
    queries = {str(number): {"type": "string"} for number in range(1, count + 1)}
    return {
        "title": "guesses",
        **_object({"commits": {"type": "boolean"}, "queries": _object(queries)}),
    }


def rating_schema(levels: Sequence[int]) -> Mapping[str, object]:
    """Return the schema of a rating that has one of these levels."""
    level = {"type": "integer", "enum": list(levels)}
    return {"title": "rating", **_object({"reason": {"type": "string"}, "level": level})}


def _object(fields: Mapping[str, object]) -> dict[str, object]:
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }


TEXT_SCHEMAS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        GradeContexts.kind: strict_schema("grades", _ReasonedGrades),
        GradeSentences.kind: strict_schema("grades", _Grades),
        GenerateQueries.kind: queries_schema(1),
        DetectAbstention.kind: strict_schema("abstention", _Abstention),
        RateResponse.kind: rating_schema((1, 2)),
    }
)
"""Kind of question -> the JSON schema of its reply, some count or scale standing for any."""
