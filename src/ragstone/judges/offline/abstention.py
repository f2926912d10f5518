"""Abstention: a response that says, in so many words, that it does not know, and nothing else."""

import re
from collections.abc import Iterable

from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.offline.refusals import REFUSALS, SOFTENERS
from ragstone.judges.offline.words import fold
from ragstone.sentences import split_sentences

OPENING = 400
"""Characters of a sentence that are looked at."""
_ESCAPE = re.compile(r"(\\.)")


def _folded(phrases: Iterable[str]) -> str:
    """Return the phrases as one pattern, folded as the text is; escapes stay as they are."""
    parts = _ESCAPE.split("|".join(phrases))
    return "".join(part if part.startswith("\\") else fold(part) for part in parts)


_REFUSAL = re.compile(
    rf"(?:(?:{_folded(SOFTENERS)})\s*)*"
    rf"(?:{_folded(phrase for phrases in REFUSALS.values() for phrase in phrases)})"
)
_COMMAS = str.maketrans("", "", ',、،*_>"“”')


def abstains(response: str) -> bool:
    """Tell whether a response refuses, in any of the languages known, and claims nothing."""
    sentences = split_sentences(response)
    return any(_refuses(each.text) for each in sentences) and not extract_claims(response)


def _refuses(sentence: str) -> bool:
    plain = fold(sentence[:OPENING]).translate(_COMMAS).strip()
    return _REFUSAL.match(plain) is not None
