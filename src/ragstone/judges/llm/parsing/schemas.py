"""Text schema: what a reply about whole texts should look like, made from the types below.

What decides comes last, so that a model that writes in order has its reason before it.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict

from ragstone.types.questions import (
    DetectAbstention,
    Explain,
    ExtractClaims,
    ExtractTruths,
    GenerateQueries,
    GradeContexts,
    GradeSentences,
    RateResponse,
    VerifyClaims,
)

# Strict schema: a type as JSON Schema, as servers take it that hold a reply to one.


class Strict(BaseModel):
    """An object with these fields, all of them, and no other."""

    model_config = ConfigDict(extra="forbid")


def strict_schema(title: str, model: type[BaseModel]) -> Mapping[str, object]:
    """Return a model's JSON schema, in one piece and without what a model has no use for."""
    whole = model.model_json_schema()
    inner = cast("dict[str, object]", _inlined(whole, whole.pop("$defs", {})))
    return {"title": title, **inner}


def _inlined(node: object, parts: Mapping[str, object]) -> object:
    if isinstance(node, list):
        return [_inlined(item, parts) for item in cast("list[object]", node)]
    if not isinstance(node, dict):
        return node
    fields = cast("dict[str, object]", node)
    if isinstance(name := fields.get("$ref"), str):
        return _inlined(parts[name.rpartition("/")[2]], parts)
    return {key: _inlined(value, parts) for key, value in fields.items() if key != "title"}


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


# Schema: what a reply should look like, as JSON Schema, made from the types below.


class _Claims(Strict):
    claims: list[str]


class _Quote(Strict):
    context: int
    quote: str


class _Said(Strict):
    claim: int
    reason: str
    evidence: list[_Quote]


class _Verdict(_Said):
    label: Literal["SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"]


class _PartialVerdict(_Said):
    label: Literal["SUPPORTED", "PARTIALLY_SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"]


class _Verdicts(Strict):
    verdicts: list[_Verdict]


class _PartialVerdicts(Strict):
    verdicts: list[_PartialVerdict]


class _Truths(Strict):
    truths: list[str]


class _Explanation(Strict):
    explanation: str


_VERDICTS = strict_schema("verdicts", _Verdicts)
_PARTIAL_VERDICTS = strict_schema("verdicts", _PartialVerdicts)

SCHEMAS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        ExtractClaims.kind: strict_schema("claims", _Claims),
        VerifyClaims.kind: _VERDICTS,
        ExtractTruths.kind: strict_schema("truths", _Truths),
        Explain.kind: strict_schema("explanation", _Explanation),
        **TEXT_SCHEMAS,
    }
)
"""Kind of question -> the JSON schema of its reply, with `title`."""


def verdict_schema(partial: bool) -> Mapping[str, object]:
    """Return the schema of verdicts; PARTIALLY_SUPPORTED is a label only if `partial`."""
    return _PARTIAL_VERDICTS if partial else _VERDICTS
