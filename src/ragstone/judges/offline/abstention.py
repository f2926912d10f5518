"""Abstention: a response that says, in so many words, that it does not know, and nothing else."""

from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.offline.patterns import REFUSAL_PATTERNS
from ragstone.judges.offline.words import fold
from ragstone.sentences import split_sentences

OPENING = 400
"""Characters of a sentence that are looked at."""
_COMMAS = str.maketrans("", "", ',、،*_>"“”')


def abstains(response: str) -> bool:
    """Tell whether a response refuses, in any of the languages known, and claims nothing."""
    sentences = split_sentences(response)
    return any(_refuses(each.text) for each in sentences) and not extract_claims(response)


def _refuses(sentence: str) -> bool:
    plain = fold(sentence[:OPENING]).translate(_COMMAS).strip()
    return any(pattern.match(plain) for pattern in REFUSAL_PATTERNS.values())
