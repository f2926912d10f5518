"""Schema: what a reply should look like, as JSON Schema, made from the types below.

The label comes last, so that a model that writes in order has its reason before its label.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, cast

from pydantic import BaseModel, ConfigDict

from ragstone.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Claims(_Strict):
    claims: list[str]


class _Quote(_Strict):
    context: int
    quote: str


class _Said(_Strict):
    claim: int
    reason: str
    evidence: list[_Quote]


class _Verdict(_Said):
    label: Literal["SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"]


class _PartialVerdict(_Said):
    label: Literal["SUPPORTED", "PARTIALLY_SUPPORTED", "CONTRADICTED", "NOT_ENOUGH_INFO"]


class _Verdicts(_Strict):
    verdicts: list[_Verdict]


class _PartialVerdicts(_Strict):
    verdicts: list[_PartialVerdict]


class _Truths(_Strict):
    truths: list[str]


class _Explanation(_Strict):
    explanation: str


def _schema(title: str, model: type[BaseModel]) -> Mapping[str, object]:
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


_VERDICTS = _schema("verdicts", _Verdicts)
_PARTIAL_VERDICTS = _schema("verdicts", _PartialVerdicts)

SCHEMAS: Mapping[str, Mapping[str, object]] = MappingProxyType(
    {
        ExtractClaims.kind: _schema("claims", _Claims),
        VerifyClaims.kind: _VERDICTS,
        ExtractTruths.kind: _schema("truths", _Truths),
        Explain.kind: _schema("explanation", _Explanation),
    }
)
"""Kind of question -> the JSON schema of its reply, with `title`."""


def verdict_schema(partial: bool) -> Mapping[str, object]:
    """Return the schema of verdicts; PARTIALLY_SUPPORTED is a label only if `partial`."""
    return _PARTIAL_VERDICTS if partial else _VERDICTS
