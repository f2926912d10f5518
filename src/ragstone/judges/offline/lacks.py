"""Lack: a word whose thing the words beside it say is lacking: `gluten-free`, `without wires`."""

from collections.abc import Sequence
from itertools import pairwise

from ragstone.judges.offline.words import ENDINGS, Word

_WITHOUT = frozenset(
    """without no zero ohne kein keine keinen keiner zonder geen utan uden uten sans sin sem senza
    ingen inga inget""".split()
)
_FREE_OF = frozenset((("free", "of"), ("free", "from"), ("frei", "von"), ("vrij", "van")))
NEAR = 2
"""How many words before a word may say that its thing is lacking: `without any wire`."""


def is_lacked(words: Sequence[Word], number: int) -> bool:
    """Tell whether the words beside one say that what it names is lacking."""
    if number + 1 < len(words) and words[number + 1].form in ENDINGS:
        return True
    before = [word.form for word in words[max(0, number - NEAR - 1) : number]]
    return not _WITHOUT.isdisjoint(before[-NEAR:]) or not _FREE_OF.isdisjoint(pairwise(before))
