"""Naming: what the columns and keys of ranking files are called, and which is meant."""

from collections.abc import Collection, Mapping
from types import MappingProxyType

from ragstone.errors import UsageError

NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "query_id": ("query_id", "qid", "q_id", "query-id", "query"),
        "document_id": ("document_id", "doc_id", "docid", "docno", "corpus-id", "corpus_id"),
        "score": ("score", "sim", "similarity"),
        "grade": ("grade", "relevance", "rel", "label", "score"),
        "ranking": ("ranking", "results", "retrieved_ids"),
        "relevance": ("relevance", "qrels", "point_ids"),
    }
)
"""Our field -> the names it goes by, the first that is there counts."""


def resolve_column(field: str, said: Mapping[str, str], present: Collection[str]) -> str | None:
    """Return the name of a field in this file; None if it has none.

    Raises:
        UsageError: what was said is not there.
    """
    if field in said:
        if said[field] not in present:
            known = ", ".join(map(str, present))
            raise UsageError(
                f"--map {field}={said[field]}: there is no such column; known: {known}"
            )
        return said[field]
    return next((name for name in NAMES[field] if name in present), None)


def check_names(said: Mapping[str, str]) -> None:
    """Refuse what is mapped to no field.

    Raises:
        UsageError: a field is none of a ranking file.
    """
    for field in said:
        if field not in NAMES:
            raise UsageError(f"--map {field}=...: the fields are {', '.join(NAMES)}")
