"""Conflicts: statements in which a claim and a context contradict each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragstone.judges.offline.dates import Date
from ragstone.judges.offline.index import Span
from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.matching import Window
from ragstone.judges.offline.negation import Negation
from ragstone.judges.offline.terms import ClaimText, find_names
from ragstone.judges.offline.words import Word, lazy_pattern, opposites, similarity

NEAR = 4
"""How many words on each side of a word are its neighbors."""
SIMILAR = 0.8
_AND = lazy_pattern(r"\s?[,/&]\s?|\s(?:and|or|und|oder|et|ou|y|e|o|en|of|og|och|eller|i|и|или)\s")
QUANTITY_NEEDS, DATE_NEEDS, NAME_NEEDS, NEGATION_NEEDS, OPPOSITE_NEEDS = 0.4, 0.6, 0.7, 0.6, 0.5
"""The share of a claim's other terms that must be found, by kind of conflict; chosen on data."""
NEGATED_SHARE = 0.5
"""The share of the negated words that the other side must have."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two statements that cannot both be true.

    Attributes:
        kind: what differs: "figure", "name", "negation" or "opposite".
        reason: what each side states.
        needs: the share of the claim's other terms that the window must cover.
        weight: the weight of the term in conflict.
        other_subject: whether the window may be about something else; then it neither contradicts
            nor supports the claim.
    """

    kind: str
    reason: str
    needs: float
    weight: float = 0.0
    other_subject: bool = False


def find_conflicts(claim: ClaimText, window: Window, span: Span) -> Iterator[Conflict]:
    """Yield the conflicts of a claim with a window, whose text is the span; most reliable first."""
    is_other = _has_other_subject(claim, window)
    for number, stated in sorted(window.conflicting.items()):
        term = claim.terms[number]
        needs = DATE_NEEDS if isinstance(term.figure, Date) else QUANTITY_NEEDS
        reason = f"the claim says {term.shown}, but the text says {stated.shown}"
        yield Conflict("figure", reason, needs, term.weight, is_other)
    opposite = next(_opposites(claim, window, span), None)
    one_is_negated = bool(claim.negations) != bool(span.negations)
    if opposite and not one_is_negated:
        yield opposite
    if one_is_negated and not opposite:
        for negated in _negated(claim.words, claim.negations, span.words, span.language):
            reason = f"the claim says {negated}, but the text does not"
            yield Conflict("negation", reason, NEGATION_NEEDS, 0.0, is_other)
        for negated in _negated(span.words, span.negations, claim.words, claim.language):
            reason = f"the text says {negated}, but the claim does not"
            yield Conflict("negation", reason, NEGATION_NEEDS, 0.0, is_other)
    yield from _names(claim, window, span)


def _has_other_subject(claim: ClaimText, window: Window) -> bool:
    """Return whether a name of the claim, or its subject (its first word), is not in the window."""
    words = [number for number, term in enumerate(claim.terms) if term.word is not None]
    absent = [claim.terms[number] for number in words if number not in window.found]
    if not absent:
        return False
    first = claim.terms[words[0]]
    is_subject = absent[0] is first and not claim.words[first.word or 0].gram
    return is_subject or any(term.is_name for term in absent)


def _opposites(claim: ClaimText, window: Window, span: Span) -> Iterator[Conflict]:
    """Yield the claim's words whose opposite is in the span, near a word that both have."""
    mine = {word.form for word in claim.words}
    places: dict[str, list[int]] = {}
    for there, other in enumerate(span.words):
        places.setdefault(other.form, []).append(there)
    terms = {term.word: number for number, term in enumerate(claim.terms)}
    for here, word in enumerate(claim.words):
        number = terms.get(here)
        if word.form in places or (number is not None and number in window.found):
            continue
        excluded, weight = opposites().get(word.form, frozenset()), 0.0
        if number is not None:
            excluded |= claim.terms[number].opposites
            weight = claim.terms[number].weight
        around = [
            near.form
            for near in claim.words[max(0, here - NEAR) : here + NEAR + 1]
            if near.form not in claim.language.function_words and near is not word
        ]
        for opposite in sorted(excluded & places.keys() - mine):
            for there in places[opposite]:
                near = [other.form for other in span.words[max(0, there - NEAR) : there + NEAR + 1]]
                if any(similarity(one, other) >= SIMILAR for one in around for other in near):
                    stated = span.words[there].shown
                    reason = f"the claim says {word.shown!r}, but the text says {stated!r}"
                    yield Conflict("opposite", reason, OPPOSITE_NEEDS, weight)
                    break


def _negated(
    words: Sequence[Word],
    negations: Sequence[Negation],
    others: Sequence[Word],
    other_language: Language,
) -> Iterator[str]:
    """Yield each negation of one side whose words the other side states without denying them."""
    forms = {word.form for word in words}
    stems, empty = other_language.negating_stems, other_language.function_words
    for word in others:
        is_denial = word.form in stems or (word.form.startswith(stems) and word.form not in empty)
        if is_denial and word.form not in forms:
            return
    for negation in negations:
        shared = [
            number
            for number in negation.negated
            if any(similarity(words[number].form, other.form) >= SIMILAR for other in others)
        ]
        if shared and len(shared) >= NEGATED_SHARE * len(negation.negated):
            yield f"{negation.shown!r} about {words[shared[0]].shown!r}"


def _names(claim: ClaimText, window: Window, span: Span) -> Iterator[Conflict]:
    """Yield the claim's names for which the span has another name in the same place."""
    mine = {word.form for word in claim.words}
    theirs = find_names(span.words, span.language)
    names = [
        there
        for there in theirs
        if span.words[there].form not in mine and not _is_listed(span, theirs, there)
    ]
    for number, term in enumerate(claim.terms):
        if not term.is_name or term.word is None or number in window.found:
            continue
        for there in names:
            left, right = (
                [
                    _same(claim.words, term.word + side * step, span.words, there + side * step)
                    for step in (1, 2)
                ]
                for side in (-1, 1)
            )
            if (left[0] and (left[1] or right[0])) or (right[0] and right[1]):
                reason = (
                    f"the claim names {term.shown}, but the text names {span.words[there].shown}"
                )
                yield Conflict("name", reason, NAME_NEEDS, term.weight)


def _is_listed(span: Span, names: Sequence[int], there: int) -> bool:
    """Return whether a name is one of several: Paris and London."""
    for other in names:
        if other != there and abs(other - there) <= 2:
            left, right = span.words[min(other, there)], span.words[max(other, there)]
            if _AND().fullmatch(span.text, left.end, right.start):
                return True
    return False


def _same(mine: Sequence[Word], here: int, theirs: Sequence[Word], there: int) -> bool:
    if not (0 <= here < len(mine) and 0 <= there < len(theirs)):
        return False
    return similarity(mine[here].form, theirs[there].form) >= SIMILAR
