"""Term: one thing a claim says that a context can have or lack: a word, or a figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.negation import Negation, find_negations
from ragstone.judges.offline.quantities import Figure, find_figures
from ragstone.judges.offline.words import Word, is_opposite_form, likeness, split_words

FIGURE_WEIGHT = 1.5
NAME_WEIGHT = 1.3
IDENTIFIER_WEIGHT = 1.5
GRAM_WEIGHT = 0.5
RARITY = 0.5
"""How much more a word that no sentence has weighs than one that every sentence has."""
TITLE = 0.7
"""The share of capitals from which a sentence is a title, whose capitals say nothing."""
LONGEST_CLAIM = 4000
"""Characters of a claim that are looked at; a longer text is no claim."""


@dataclass(frozen=True, slots=True)
class Term:
    """One word or figure of a claim.

    Attributes:
        shown: as the claim writes it.
        weight: what it counts; a function word is no term.
        alike: the contexts' words that may stand for it, with their likeness; empty for a figure.
        against: the contexts' words that are this one turned round, such as `unlocked`.
        figure: the date or quantity, where it is one.
        word: its number among the claim's words, where it is one.
        is_name: whether it has a capital that its place in the sentence does not explain.
    """

    shown: str
    weight: float
    alike: Mapping[str, float]
    against: frozenset[str]
    figure: Figure | None = None
    word: int | None = None
    is_name: bool = False


@dataclass(frozen=True)
class ClaimText:
    """A claim, taken apart: its words, its terms, and the language they are read in."""

    text: str
    language: Language
    words: tuple[Word, ...]
    terms: tuple[Term, ...]

    @cached_property
    def weight(self) -> float:
        """What all its terms count together."""
        return sum(term.weight for term in self.terms)

    @cached_property
    def negations(self) -> tuple[Negation, ...]:
        """What it denies."""
        return find_negations(self.text, self.words, self.language)


def read_claim(text: str, language: Language, index: ContextIndex) -> ClaimText:
    """Take a claim apart and weigh its terms by how rare they are in the contexts."""
    text = text[:LONGEST_CLAIM]
    words = split_words(text)
    figures = find_figures(text, language.name)
    names = frozenset(find_names(words, language))
    terms = [Term(figure.shown, FIGURE_WEIGHT, {}, frozenset(), figure) for figure in figures]
    turning = [match.span() for match in language.find_inside(text)] if words else []
    seen: set[str] = set()
    for number, word in enumerate(words):
        if word.form in seen or _is_empty(word, language):
            continue
        if any(figure.start <= word.start < figure.end for figure in figures):
            continue
        if word.gram and any(start < word.end and word.start < end for start, end in turning):
            continue
        seen.add(word.form)
        near = () if word.gram else index.words_near(word.form)
        alike = {other: like for other in near if (like := likeness(word.form, other))}
        alike[word.form] = 1.0
        weight = _weight(word, is_name=number in names) * _rarity(alike, index)
        against = frozenset(other for other in near if is_opposite_form(word.form, other))
        terms.append(Term(word.shown, weight, alike, against, None, number, number in names))
    return ClaimText(text, language, words, tuple(terms))


def _is_empty(word: Word, language: Language) -> bool:
    return word.form in language.function_words or word.form in language.negations


def _weight(word: Word, *, is_name: bool) -> float:
    if word.gram:
        kana = sum("\u3040" <= letter <= "\u309f" for letter in word.form)
        return GRAM_WEIGHT * (0.1 if kana == len(word.form) else 1)
    if word.is_identifier:
        return IDENTIFIER_WEIGHT
    if len(word.form) < 4 and not word.form.isdigit():  # short words are seldom what a text is on
        return 0.25 * len(word.form)
    return NAME_WEIGHT if is_name else 1.0


def _rarity(alike: Mapping[str, float], index: ContextIndex) -> float:
    count = len(index.places)
    having = sum(len(index.postings.get(form, ())) for form in alike)
    return 1 + RARITY * log((count + 1) / (min(having, count) + 1)) / log(count + 2)


def find_names(words: Sequence[Word], language: Language) -> list[int]:
    """Return the numbers of the words whose capital says that they are names.

    A first word's capital says nothing, nor do capitals where every noun has one or in a title.
    """
    lasting = [
        number
        for number, word in enumerate(words)
        if number > 0
        and not word.gram
        and word.form not in language.function_words
        and word.form not in language.negations
    ]
    names = [number for number in lasting if words[number].is_capital]
    is_title = len(names) > max(2, TITLE * len(lasting))
    return [] if language.nouns_have_capitals or is_title else names
