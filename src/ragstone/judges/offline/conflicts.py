"""Conflict: what a claim and a context say differently, in words that name both."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ragstone.judges.offline.dates import Date
from ragstone.judges.offline.index import Stretch
from ragstone.judges.offline.languages import Language
from ragstone.judges.offline.matching import Window
from ragstone.judges.offline.negation import Negation, opposites
from ragstone.judges.offline.terms import ClaimText, find_names
from ragstone.judges.offline.words import Word, lazy_pattern, likeness

NEAR = 4
"""How many words to each side of a word are its neighbours."""
ALIKE = 0.8
_AND = lazy_pattern(r"\s?[,/&]\s?|\s(?:and|or|und|oder|et|ou|y|e|o|en|of|og|och|eller|i|и|или)\s")
QUANTITY_NEEDS, DATE_NEEDS, NAME_NEEDS, NEGATION_NEEDS, OPPOSITE_NEEDS = 0.4, 0.6, 0.7, 0.6, 0.5
"""The share of a claim's other terms to be found, by kind of conflict; chosen on data."""
TURNED = 0.5
"""Share of the words that a negation turns which the other side has to have."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two things that cannot both hold; `reason` names what each side says.

    `kind` is what differs: "figure", "name", "negation" or "opposite". `needs` is the share of the
    claim's other terms that the window has to cover for this to be believed, and `weight` that of
    the term in conflict. `of_another` is whether the window may be on something else than the
    claim: it is then no conflict, and no support either.
    """

    kind: str
    reason: str
    needs: float
    weight: float = 0.0
    of_another: bool = False


def find_conflicts(claim: ClaimText, window: Window, stretch: Stretch) -> Iterator[Conflict]:
    """Yield what the window, read as a stretch, says differently from the claim.

    The surest kind comes first.
    """
    is_other = _is_of_another(claim, window)
    for conflict in _figures(claim, window):
        yield replace(conflict, of_another=is_other)
    negated, denied = claim.negations, stretch.negations
    turned = list(_opposites(claim, window, stretch))
    parity = bool(negated) != bool(denied)
    if turned and not parity:
        one, other, weight = turned[0]
        reason = f"the claim says {one!r}, the context {other!r}"
        yield Conflict("opposite", reason, OPPOSITE_NEEDS, weight)
    if not turned and parity:
        for conflict in _negations(claim, negated, stretch, denied):
            yield replace(conflict, of_another=is_other)
    yield from _names(claim, window, stretch)


def _figures(claim: ClaimText, window: Window) -> Iterator[Conflict]:
    for number, stated in sorted(window.rivals.items()):
        term = claim.terms[number]
        needs = DATE_NEEDS if isinstance(term.figure, Date) else QUANTITY_NEEDS
        reason = f"the claim says {term.shown}, the context {stated.shown}"
        yield Conflict("figure", reason, needs, term.weight)


def _is_of_another(claim: ClaimText, window: Window) -> bool:
    """Tell whether the window lacks a name of the claim, or its subject: its first word."""
    words = [number for number, term in enumerate(claim.terms) if term.word is not None]
    absent = [claim.terms[number] for number in words if number not in window.found]
    if not absent:
        return False
    first = claim.terms[words[0]]
    is_subject = absent[0] is first and not claim.words[first.word or 0].gram
    return is_subject or any(term.is_name for term in absent)


def _opposites(
    claim: ClaimText, window: Window, stretch: Stretch
) -> Iterator[tuple[str, str, float]]:
    """Yield the claim's words for which the context has the opposite, with that and its weight."""
    mine = {word.form for word in claim.words}
    places: dict[str, list[int]] = {}
    for there, other in enumerate(stretch.words):
        places.setdefault(other.form, []).append(there)
    terms = {term.word: number for number, term in enumerate(claim.terms)}
    for here, word in enumerate(claim.words):
        number = terms.get(here)
        if word.form in places or (number is not None and number in window.found):
            continue
        against, weight = opposites().get(word.form, frozenset()), 0.0
        if number is not None:
            against |= claim.terms[number].against
            weight = claim.terms[number].weight
        for opposite in sorted(against & places.keys() - mine):
            for there in places[opposite]:
                if _share_neighbours(claim.words, here, stretch.words, there, claim.language):
                    yield word.shown, stretch.words[there].shown, weight
                    break


def _share_neighbours(
    mine: Sequence[Word], here: int, theirs: Sequence[Word], there: int, language: Language
) -> bool:
    around = [
        word.form
        for word in mine[max(0, here - NEAR) : here + NEAR + 1]
        if word.form not in language.function_words and word is not mine[here]
    ]
    near = [word.form for word in theirs[max(0, there - NEAR) : there + NEAR + 1]]
    return any(likeness(one, other) >= ALIKE for one in around for other in near)


def _negations(
    claim: ClaimText, negated: Sequence[Negation], stretch: Stretch, denied: Sequence[Negation]
) -> Iterator[Conflict]:
    """Yield the negations of one side that turn words which the other side says plainly."""
    if not _is_veiled(stretch.words, stretch.language, claim.words):
        for negation in negated:
            if said := _shared(negation, claim.words, stretch.words):
                reason = f"the claim says {negation.shown!r} of {said!r}, the context does not"
                yield Conflict("negation", reason, NEGATION_NEEDS)
    if not _is_veiled(claim.words, claim.language, stretch.words):
        for negation in denied:
            if said := _shared(negation, stretch.words, claim.words):
                reason = f"the context says {negation.shown!r} of {said!r}, the claim does not"
                yield Conflict("negation", reason, NEGATION_NEEDS)


def _is_veiled(words: Sequence[Word], language: Language, others: Sequence[Word]) -> bool:
    """Tell whether words that the other side lacks may deny without a negation."""
    theirs = {word.form for word in others}
    return any(
        word.form in language.veiled
        or (word.form.startswith(language.veiled) and word.form not in language.function_words)
        for word in words
        if word.form not in theirs
    )


def _shared(negation: Negation, words: Sequence[Word], others: Sequence[Word]) -> str:
    """Return the first word turned that the other side has too, if it has most; else nothing."""
    has = [
        any(likeness(words[number].form, other.form) >= ALIKE for other in others)
        for number in negation.turned
    ]
    if not has or sum(has) < TURNED * len(has):
        return ""
    return words[negation.turned[has.index(True)]].shown


def _names(claim: ClaimText, window: Window, stretch: Stretch) -> Iterator[Conflict]:
    """Yield the names for which the context has another in the same place."""
    mine = {word.form for word in claim.words}
    theirs = find_names(stretch.words, stretch.language)
    for number, term in enumerate(claim.terms):
        here = term.word
        if not term.is_name or here is None or number in window.found:
            continue
        for there in theirs:
            other = stretch.words[there]
            if _is_listed(stretch, theirs, there):
                continue
            if other.form not in mine and _same_place(claim.words, here, stretch.words, there):
                said = f"the claim names {term.shown}, the context {other.shown}"
                yield Conflict("name", said, NAME_NEEDS, term.weight)


def _is_listed(stretch: Stretch, names: Sequence[int], there: int) -> bool:
    """Tell whether a name is one of several: Paris and London."""
    words = stretch.words
    for other in names:
        if other == there or abs(other - there) > 2:
            continue
        left, right = words[min(other, there)], words[max(other, there)]
        if _AND().fullmatch(stretch.text, left.end, right.start):
            return True
    return False


def _same_place(mine: Sequence[Word], here: int, theirs: Sequence[Word], there: int) -> bool:
    """Tell whether the words on both sides, or two on one side, are the same."""
    left = [_same(mine, here - step, theirs, there - step) for step in (1, 2)]
    right = [_same(mine, here + step, theirs, there + step) for step in (1, 2)]
    return (left[0] and (left[1] or right[0])) or (right[0] and right[1])


def _same(mine: Sequence[Word], here: int, theirs: Sequence[Word], there: int) -> bool:
    if not (0 <= here < len(mine) and 0 <= there < len(theirs)):
        return False
    return likeness(mine[here].form, theirs[there].form) >= ALIKE
