"""Negations: which words of a sentence are negated."""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.words import Word, lazy_pattern, phrases_of

SCOPE = 3
"""How many content words a negation applies to."""
_CLAUSE_END = lazy_pattern(
    r"[,;:()，、；：。！？.!?—–،؛|]|\b(?:but|sondern|mais|sino|mas|bensì|maar)\b", re.IGNORECASE
)
_ONLY = frozenset(
    """only just merely nur bloss seulement uniquement solo solamente apenas somente soltanto alleen
    bara kun tylko jen только тільки sadece hanya chi doar μονο رق فقط רק सिर्फ केवल""".split()
)
"""`Not only` negates nothing."""
_FIGURE = re.compile(r"\s?(?:[$€£¥]\s?)?\d")
_MAX_PHRASE = 80


class Negation(NamedTuple):
    """One negation as written, and the words it negates, as numbers into the sentence's words.

    A bound (`no more than two`), a reminder (`do not forget`) or a correction negates none.
    """

    shown: str
    negated: tuple[int, ...]


def find_negations(text: str, words: Sequence[Word], language: Language) -> tuple[Negation, ...]:
    """Return the negations of a sentence.

    They apply to the next words of the clause, or, without any, to the words before (German and
    Turkish put the negation last). In text without spaces they apply to the whole clause.
    """
    cuts = [match.start() for match in _CLAUSE_END().finditer(text)]
    places = [
        (word.shown, word.start, word.end)
        for number, word in enumerate(words)
        if word.form in language.negations
        and not (number + 1 < len(words) and words[number + 1].form in _ONLY)
    ]
    inside = language.find_inner_negations(text)
    places += [(match[0].strip(), match.start(), match.end()) for match in inside]
    found: list[Negation] = []
    for shown, start, end in places:
        left = max((cut for cut in cuts if cut < start), default=-1)
        right = min((cut for cut in cuts if cut >= end), default=len(text))
        alone = not text[left + 1 : start].strip() and not text[end:right].strip()
        if alone and text[right : right + 1] == ",":
            continue  # "No, ..." answers; it does not negate what follows
        clause = tuple(
            number
            for number, word in enumerate(words)
            if left < word.start < right
            and word.form not in language.function_words
            and not (word.start < end and start < word.end)
        )
        after = tuple(number for number in clause if words[number].start >= end)[:SCOPE]
        before = tuple(number for number in clause if words[number].end <= start)[-SCOPE:]
        negated = clause if language.without_spaces else after or before
        found.append(Negation(shown, () if _is_harmless(text, start, end, language) else negated))
    return tuple(found)


def _is_harmless(text: str, start: int, end: int, language: Language) -> bool:
    """Return whether a negation only bounds, reminds, or corrects a figure: `172 g, not 180 g`."""
    following = _phrases(language.name, "not_negating")
    if following and following.match(text, start, start + _MAX_PHRASE):
        return True
    preceding = _phrases(language.name, "not_negating_after")
    if preceding and preceding.search(text[max(0, start - 20) : start]):
        return True
    return text[:start].rstrip().endswith((",", "(", "，")) and bool(_FIGURE.match(text, end))


@cache
def _phrases(language: str, name: str) -> re.Pattern[str] | None:
    found = phrases_of(language, name)
    return re.compile(found[0], re.IGNORECASE) if found else None
