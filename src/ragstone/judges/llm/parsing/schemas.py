"""JSON schemas of the replies, as strict servers accept them: every key is required.

The deciding key comes last, so that a model writes its reason first.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

Schema: TypeAlias = Mapping[str, object]

_TEXT, _NUMBER, _YES_NO = ({"type": name} for name in ("string", "integer", "boolean"))


def _object(**keys: Schema) -> dict[str, object]:
    return {
        "additionalProperties": False,
        "properties": keys,
        "required": list(keys),
        "type": "object",
    }


def _list(items: Schema) -> Schema:
    return {"items": items, "type": "array"}


def _label(*labels: str) -> Schema:
    return {"enum": list(labels), "type": "string"}


def verdict_schema(partial: bool) -> Schema:
    """Return the schema of verdicts; PARTIALLY_SUPPORTED is a label only if `partial`."""
    some = ("PARTIALLY_SUPPORTED",) if partial else ()
    quote = _object(context=_NUMBER, quote=_TEXT)
    label = _label("SUPPORTED", *some, "CONTRADICTED", "NOT_ENOUGH_INFO")
    verdict = _object(claim=_NUMBER, reason=_TEXT, evidence=_list(quote), label=label)
    return {"title": "verdicts", **_object(verdicts=_list(verdict))}


def queries_schema(count: int) -> Schema:
    """Return the schema of `count` queries: each has a key, so that none can be left out."""
    queries = _object(**{str(number): _TEXT for number in range(1, count + 1)})
    return {"title": "queries", **_object(commits=_YES_NO, queries=queries)}


def rating_schema(levels: Sequence[int]) -> Schema:
    """Return the schema of a rating with one of these levels."""
    level = {"enum": list(levels), "type": "integer"}
    return {"title": "rating", **_object(reason=_TEXT, level=level)}


_REASONED = _object(number=_NUMBER, reason=_TEXT, relevant=_YES_NO)
_GRADE = _object(number=_NUMBER, relevant=_YES_NO)

SCHEMAS: Mapping[str, Schema] = MappingProxyType(
    {
        "extract_claims": {"title": "claims", **_object(claims=_list(_TEXT))},
        "verify_claims": verdict_schema(partial=False),
        "extract_truths": {"title": "truths", **_object(truths=_list(_TEXT))},
        "explain": {"title": "explanation", **_object(explanation=_TEXT)},
        "grade_contexts": {"title": "grades", **_object(grades=_list(_REASONED))},
        "grade_sentences": {"title": "grades", **_object(grades=_list(_GRADE))},
        "generate_queries": queries_schema(1),
        "detect_abstention": {
            "title": "abstention",
            **_object(label=_label("ANSWERS", "ABSTAINS")),
        },
        "rate_response": rating_schema((1, 2)),
    }
)
"""Kind of question -> the schema of its reply; the count of queries and the levels are examples."""
