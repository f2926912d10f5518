"""Label: the words in which models say what the contexts say about a claim."""

from collections.abc import Mapping
from types import MappingProxyType

from ragstone.claims import Label
from ragstone.judges.reading.words import read_word

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


def read_label(written: object) -> Label | None:
    """Return the label that a JSON value stands for: a word, 1 or 0, true or false; else None."""
    own = _OWN.get(written) if isinstance(written, str) else None  # nearly always
    return own or read_word(written, LABELS)
