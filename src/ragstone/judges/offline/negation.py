"""Negation: which words of a sentence are said not to hold."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from ragstone.judges.offline.frames import is_framed
from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.words import Word

SCOPE = 3
"""How many words with content a negation is taken to turn."""
_CLAUSE = lazy_pattern(
    r"[,;:()，、；：。！？.!?—–،؛|]|\b(?:but|sondern|mais|sino|mas|bensì|maar)\b", re.IGNORECASE
)
"""Where a clause ends; what follows `but` is no longer denied."""
_EXEMPT = frozenset(
    """only just merely nur bloss seulement uniquement solo solamente apenas somente soltanto alleen
    bara kun tylko jen только тільки sadece hanya chi doar μονο رق فقط רק सिर्फ केवल""".split()
)
"""`Not only` denies nothing."""


class Negation(NamedTuple):
    """One negation as written, and the words it turns, as numbers into the sentence's words.

    It turns none where it only bounds, reminds or corrects.
    """

    shown: str
    turned: tuple[int, ...]


def find_negations(text: str, words: Sequence[Word], language: Language) -> tuple[Negation, ...]:
    """Return the negations of a sentence.

    The words turned are the next ones in the clause; where none follow, those before (German and
    Turkish put the negation last). Without spaces, a negation turns its whole clause.
    """
    cuts = [match.start() for match in _CLAUSE().finditer(text)]
    found: list[Negation] = []
    for shown, start, end in _marks(text, words, language):
        left = max((cut for cut in cuts if cut < start), default=-1)
        right = min((cut for cut in cuts if cut >= end), default=len(text))
        alone = not text[left + 1 : start].strip() and not text[end:right].strip()
        if alone and text[right : right + 1] == ",":
            continue  # "No, ..." answers, it does not deny what follows
        clause = tuple(
            number
            for number, word in enumerate(words)
            if left < word.start < right
            and word.form not in language.function_words
            and not (word.start < end and start < word.end)
        )
        after = tuple(number for number in clause if words[number].start >= end)[:SCOPE]
        before = tuple(number for number in clause if words[number].end <= start)[-SCOPE:]
        turned = clause if language.without_spaces else after or before
        if is_framed(text, start, end, language.name):
            turned = ()
        found.append(Negation(shown, turned))
    return tuple(found)


def _marks(text: str, words: Sequence[Word], language: Language) -> list[tuple[str, int, int]]:
    marks = [
        (word.shown, word.start, word.end)
        for number, word in enumerate(words)
        if word.form in language.negations
        and not (number + 1 < len(words) and words[number + 1].form in _EXEMPT)
    ]
    inside = language.find_inside(text)
    marks.extend((match[0].strip(), match.start(), match.end()) for match in inside)
    return marks
