"""Relevance: the words in which models say whether something is relevant."""

import re
from collections.abc import Mapping
from types import MappingProxyType

RELEVANCE: Mapping[str, bool] = MappingProxyType(
    {
        **dict.fromkeys(("relevant", "yes", "true", "1", "useful"), True),
        **dict.fromkeys(
            ("irrelevant", "not relevant", "no", "false", "0", "useless", "not useful"), False
        ),
    }
)
"""Word in lower case, with single spaces -> whether it says that something is relevant."""

_GAPS = re.compile(r"[-_\s]+")


def read_relevance(written: object) -> bool | None:
    """Return what a JSON value stands for: a word, 1 or 0, true or false; else None."""
    if isinstance(written, str):
        return RELEVANCE.get(_GAPS.sub(" ", written[:80]).strip(" .!\"'`*").lower())
    if isinstance(written, bool | int | float) and written in (0, 1):
        return bool(written)
    return None
