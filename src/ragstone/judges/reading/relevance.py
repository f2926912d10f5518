"""Relevance: the words in which models say whether something is relevant."""

from collections.abc import Mapping
from types import MappingProxyType

from ragstone.judges.reading.words import YES_OR_NO, read_word

RELEVANCE: Mapping[str, bool] = MappingProxyType(
    {
        **YES_OR_NO,
        **dict.fromkeys(("relevant", "useful"), True),
        **dict.fromkeys(("irrelevant", "not relevant", "useless", "not useful"), False),
    }
)
"""Word in lower case, with single spaces -> whether it says that something is relevant."""


def read_relevance(written: object) -> bool | None:
    """Return what a JSON value stands for: a word, 1 or 0, true or false; else None."""
    return read_word(written, RELEVANCE)
