"""Label: the words in which models say what the contexts say about a claim."""

import re
from collections.abc import Mapping
from types import MappingProxyType

from ragstone.claims import Label

_WORDS = {
    Label.SUPPORTED: (
        "supported, supports, support, yes, true, 1, entailed, entails, entailment, faithful, "
        "attributed"
    ),
    Label.PARTIALLY_SUPPORTED: "partially supported, partly supported, partial, partially, partly",
    Label.CONTRADICTED: "contradicted, contradicts, contradiction, no, refuted, refutes",
    Label.NOT_ENOUGH_INFO: (
        "not enough info, not enough information, insufficient information, nei, idk, unknown, "
        "0, false, not supported, unsupported, not entailed, neutral, unverifiable, "
        "not mentioned, unfaithful, not faithful"
    ),
}
LABELS: Mapping[str, Label] = MappingProxyType(
    {word: label for label, words in _WORDS.items() for word in words.split(", ")}
)
"""Word in lower case, with single spaces -> label."""

_OWN: Mapping[str, Label] = {label.value: label for label in Label}
_GAPS = re.compile(r"[-_\s]+")


def read_label(written: object) -> Label | None:
    """Return the label that a JSON value stands for: a word, 1 or 0, true or false; else None."""
    if isinstance(written, str):
        own = _OWN.get(written)  # nearly always
        return own or LABELS.get(_GAPS.sub(" ", written[:80]).strip(" .!\"'`*").lower())
    if isinstance(written, bool | int | float) and written in (0, 1):
        return Label.SUPPORTED if written else Label.NOT_ENOUGH_INFO
    return None
