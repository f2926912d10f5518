"""The wording of questions: near duplicates, words copied from the chunk, vague references."""

import re
from collections.abc import Iterable
from functools import lru_cache

from ragstone.judges.offline.words import (
    UNKNOWN,
    guess_language,
    lazy_pattern,
    split_forms,
    stem,
)
from ragstone.testsets.index import ChunkIndex, terms_of

ALIKE = 0.8
"""Share of the words with a topic of two near duplicates that both have, at least."""
RARE = 0.1
"""Share of the chunks that have a rare word, at most."""

_EN = "document|text|passage|excerpt|context|chunk|article|paragraph|section|snippet"
_DE = "dokument|text|abschnitt|auszug|kontext|passage|artikel|textstelle|absatz"
_FR = "document|texte|passage|extrait|contexte|article|paragraphe"
_ES = "documento|texto|pasaje|fragmento|contexto|artículo|párrafo"
_VAGUE = lazy_pattern(
    rf"\b(?:(?:this|these) (?:{_EN})s?"
    rf"|the (?:above|following|given|provided) (?:{_EN})s?|the (?:passage|excerpt|snippet|author)s?"
    rf"|(?:according to|based on) the (?:{_EN})s?"
    rf"|the (?:{_EN})s? (?:sa(?:y|ys)|states?|mentions?|describes?|explains?|recommends?|lists?)"
    r"|(?:mentioned|described|stated|listed|shown|discussed) (?:above|below|here)"
    rf"|dies\w* (?:{_DE})\w{{0,2}}|(?:laut|gemäß) (?:de[mrs]|die) (?:{_DE})\w{{0,2}}"
    rf"|(?:obige|vorliegende|folgende)[nmrs]? (?:{_DE})\w{{0,2}}"
    r"|(?:oben|unten) (?:genannt|erwähnt|beschrieben)\w*"
    rf"|(?:ce|cet|cette|ces) (?:{_FR})s?|(?:selon|d['’]après) l(?:e |a |es |['’])(?:{_FR})s?"
    r"|(?:mentionné|décrit|cité)e?s? ci-(?:dessus|dessous)"
    rf"|est(?:e|a|os|as) (?:{_ES})s?|según (?:el|la|los|las) (?:{_ES})s?"
    r"|mencionad[oa]s? (?:arriba|anteriormente))\b",
    re.IGNORECASE,
)
"""Wording that only a reader of the passage understands, in English, German, French and Spanish."""


@lru_cache(maxsize=1 << 12)
def topic_terms(text: str) -> frozenset[str]:
    """Return the stems of the words with a topic, and of negations."""
    forms = split_forms(text)
    language = guess_language(text, forms)
    plain = frozenset[str]() if language is UNKNOWN else language.function_words
    return frozenset(stem(form) for form in forms if form not in plain)


def near_duplicate(query: str, others: Iterable[str]) -> str | None:
    """Return the first of the others that asks nearly the same; None if none does.

    Both have the same figures, and most of their words with a topic. Whether other words have the
    same meaning is not known.
    """
    own = topic_terms(query)
    figures = {term for term in own if any(map(str.isdigit, term))}
    for other in others:
        terms = topic_terms(other)
        if figures != {term for term in terms if any(map(str.isdigit, term))}:
            continue
        every = own | terms
        if not every and query.split() == other.split():
            return other
        if every and len(own & terms) >= ALIKE * len(every):
            return other
    return None


def wording_leak(query: str, texts: Iterable[str], index: ChunkIndex) -> float | None:
    """Return the share of a query's rare words that the texts have; None if it has no rare word.

    A retriever that compares words finds these texts without understanding the question.
    """
    most = max(1, RARE * len(index.corpus.chunks))
    rare = {term for term in topic_terms(query) if index.frequency(term) <= most}
    if not rare:
        return None
    present = {term for text in texts for term in terms_of(text)}
    return len(rare & present) / len(rare)


def vague_wording(query: str) -> str | None:
    """Return the words by which a query refers to a text that its reader cannot know."""
    match = _VAGUE().search(query)
    return match[0] if match else None
