"""Terms of a claim: the words and figures that a context can have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log

from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.negation import Negation, find_negations
from ragstone.judges.offline.quantities import Figure, find_figures
from ragstone.judges.offline.words import Word, is_opposite_form, similarity, split_words

FIGURE_WEIGHT = 1.5
NAME_WEIGHT = 1.3
IDENTIFIER_WEIGHT = 1.5
GRAM_WEIGHT = 0.5
RARITY = 0.5
"""How much more a word weighs that no sentence has than one that every sentence has."""
TITLE = 0.7
"""The share of capitals from which a sentence is a title, whose capitals mark no names."""
MAX_CLAIM = 4000
"""Characters of a claim that are read; a longer text is not a claim."""


@dataclass(frozen=True, slots=True)
class Term:
    """One content word or figure of a claim.

    Attributes:
        shown: as the claim writes it.
        weight: its weight.
        matches: the words of the contexts that match it, with their similarity; empty for a figure.
        opposites: the words of the contexts that reverse it with a prefix, such as `unlocked`.
        figure: the date or quantity, if it is one.
        word: its number among the claim's words, if it is one.
        is_name: whether it has a capital that its place in the sentence does not explain.
    """

    shown: str
    weight: float
    matches: Mapping[str, float]
    opposites: frozenset[str]
    figure: Figure | None = None
    word: int | None = None
    is_name: bool = False


@dataclass(frozen=True)
class ClaimText:
    """A claim, split into words and terms."""

    text: str
    language: Language
    words: tuple[Word, ...]
    terms: tuple[Term, ...]

    @cached_property
    def weight(self) -> float:
        """The weight of all its terms."""
        return sum(term.weight for term in self.terms)

    @cached_property
    def negations(self) -> tuple[Negation, ...]:
        """Its negations."""
        return find_negations(self.text, self.words, self.language)


def read_claim(text: str, language: Language, index: ContextIndex) -> ClaimText:
    """Split a claim and weight its terms by their rarity in the contexts."""
    text = text[:MAX_CLAIM]
    words = split_words(text)
    figures = find_figures(text, language.name)
    names = frozenset(find_names(words, language))
    terms = [Term(figure.shown, FIGURE_WEIGHT, {}, frozenset(), figure) for figure in figures]
    negating = [match.span() for match in language.find_inner_negations(text)] if words else []
    empty = language.function_words | language.negations
    seen: set[str] = set()
    for number, word in enumerate(words):
        if word.form in seen or word.form in empty:
            continue
        if any(figure.start <= word.start < figure.end for figure in figures):
            continue
        if word.gram and any(start < word.end and word.start < end for start, end in negating):
            continue
        seen.add(word.form)
        near = () if word.gram else index.words_near(word.form)
        matches = {other: value for other in near if (value := similarity(word.form, other))}
        matches[word.form] = 1.0
        count = len(index.places)
        having = sum(len(index.postings.get(form, ())) for form in matches)
        rarity = 1 + RARITY * log((count + 1) / (min(having, count) + 1)) / log(count + 2)
        weight = _weight(word, is_name=number in names) * rarity
        opposites = frozenset(other for other in near if is_opposite_form(word.form, other))
        terms.append(Term(word.shown, weight, matches, opposites, None, number, number in names))
    return ClaimText(text, language, words, tuple(terms))


def _weight(word: Word, *, is_name: bool) -> float:
    if word.gram:
        kana = sum("\u3040" <= letter <= "\u309f" for letter in word.form)
        return GRAM_WEIGHT * (0.1 if kana == len(word.form) else 1)
    if word.is_identifier:
        return IDENTIFIER_WEIGHT
    if len(word.form) < 4 and not word.form.isdigit():  # short words seldom name the topic
        return 0.25 * len(word.form)
    return NAME_WEIGHT if is_name else 1.0


def find_names(words: Sequence[Word], language: Language) -> list[int]:
    """Return the numbers of the words that are names by their capitals.

    The first word does not count, nor do titles, nor languages in which every noun has a capital.
    """
    content = [
        number
        for number, word in enumerate(words)
        if number > 0
        and not word.gram
        and word.form not in language.function_words
        and word.form not in language.negations
    ]
    names = [number for number in content if words[number].shown[0].isupper()]
    is_title = len(names) > max(2, TITLE * len(content))
    return [] if language.nouns_have_capitals or is_title else names
