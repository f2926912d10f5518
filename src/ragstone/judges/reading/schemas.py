"""Schema: what a reply should look like, as JSON Schema, made from the types below.

The label comes last, so that a model that writes in order has its reason before its label.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from ragstone.judges.reading.strict import Strict, strict_schema
from ragstone.judges.reading.text_schemas import TEXT_SCHEMAS
from ragstone.questions import Explain, ExtractClaims, ExtractTruths, VerifyClaims


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
