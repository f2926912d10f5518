"""Window: a stretch of a context, and how much of a claim its words cover."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ragstone.judges.offline.dates import Date
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.quantities import Figure, covers, differs, is_like
from ragstone.judges.offline.terms import ClaimText, Term

# Pairing: which figures of a claim a sentence states, and which it states otherwise.

MOST = 40
"""How many figures of one sentence are looked at that cover a figure, or differ from it."""


class Pairing(NamedTuple):
    """What a sentence says of a claim's figures, each by its number in the claim.

    Attributes:
        held: the figures that it states.
        rivals: the figures in whose place it has another -> that other.
    """

    held: frozenset[int]
    rivals: Mapping[int, Figure]


def pair_figures(claimed: Mapping[int, Figure], stated: Sequence[Figure]) -> Pairing:
    """Return what a sentence's figures say of a claim's.

    A number that the sentence states once answers for one number of the claim, where something else
    stands in the place of the other; and so it does if it may count another thing.
    """
    covering = _covering(claimed, stated)
    partner = _partners(claimed, stated, covering)
    taken = frozenset(partner.values())
    held = set(partner)
    rivals: dict[int, Figure] = {}
    differing: dict[Hashable, tuple[int, ...]] = {}
    for number, figure in claimed.items():
        if number in partner:
            continue
        key = _meaning(figure)
        if key not in differing:
            others = (place for place, other in enumerate(stated) if differs(other, figure))
            differing[key] = tuple(islice(others, MOST))
        rival = next((stated[place] for place in differing[key] if place not in taken), None)
        seeming = [stated[place] for place in covering[number]]
        if rival and _stands_for(rival, figure, seeming):
            rivals[number] = rival
        elif seeming:
            held.add(number)
    return Pairing(frozenset(held), rivals)


def _covering(
    claimed: Mapping[int, Figure], stated: Sequence[Figure]
) -> Mapping[int, Sequence[int]]:
    """Return for each figure of the claim the places of those that may state it."""
    found: dict[Hashable, tuple[int, ...]] = {}
    for figure in claimed.values():
        key = _meaning(figure)
        if key not in found:
            places = (place for place, other in enumerate(stated) if covers(other, figure))
            found[key] = tuple(islice(places, MOST))
    return {number: found[_meaning(figure)] for number, figure in claimed.items()}


def _meaning(figure: Figure) -> Hashable:
    """Return what is the same of two figures that say the same: a claim may repeat one often."""
    if isinstance(figure, Date):
        return figure.shown
    said = figure.shown, figure.before, figure.noun, figure.per, figure.bound
    return *said, figure.is_about, figure.is_code, figure.ends


def _partners(
    claimed: Mapping[int, Figure], stated: Sequence[Figure], covering: Mapping[int, Sequence[int]]
) -> Mapping[int, int]:
    """Return which stated figure is the same as which claimed one, the surest pairs first."""
    pairs = [
        (not _stand_alike(figure, stated[place]), number, place)
        for number, figure in claimed.items()
        for place in covering[number]
        if is_like(stated[place], figure)
    ]
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for _, number, place in sorted(pairs):
        if number not in partner and place not in taken:
            partner[number] = place
            taken.add(place)
    return partner


def _stands_for(rival: Figure, figure: Figure, seeming: Sequence[Figure]) -> bool:
    """Tell whether another figure is in the place of one that others seem to state."""
    if not any(is_like(other, figure) for other in seeming):
        return True
    return not isinstance(figure, Date) and _stand_alike(rival, figure)


def _stand_alike(one: Figure, other: Figure) -> bool:
    """Tell whether the same word stands before both, where both are quantities."""
    if isinstance(one, Date) or isinstance(other, Date):
        return isinstance(one, Date) and isinstance(other, Date)
    return one.before == other.before


BEST = 6
"""How many sentences are looked at more closely."""


@dataclass(frozen=True, slots=True)
class Window:
    """Some neighbouring sentences of one context.

    Attributes:
        first: the number of its first sentence in the index.
        last: the number of its last sentence.
        found: number of a claim's term -> how surely the window has it, in (0, 1].
        coverage: the weight of the terms found, as a share of all.
        rivals: number of a figure of the claim that it has not -> the one in its place.
    """

    first: int
    last: int
    found: Mapping[int, float]
    coverage: float
    rivals: Mapping[int, Figure]


def find_sentences(claim: ClaimText, index: ContextIndex) -> dict[int, Window]:
    """Return the sentences that have anything of a claim, each by its number in the index."""
    figures = {
        number: term.figure for number, term in enumerate(claim.terms) if term.figure is not None
    }
    stating = index.figures.items() if figures else ()
    pairings = {place: pair_figures(figures, stated) for place, stated in stating}
    found: dict[int, dict[int, float]] = {}
    for place, pairing in pairings.items():
        if pairing.held:
            found[place] = dict.fromkeys(sorted(pairing.held), 1.0)
    for number, term in enumerate(claim.terms):
        for place, like in _places(term, index).items():
            found.setdefault(place, {})[number] = like
    return {
        place: Window(
            place,
            place,
            has,
            share(claim, has),
            pairings[place].rivals if place in pairings else {},
        )
        for place, has in found.items()
    }


def find_windows(
    claim: ClaimText, index: ContextIndex, sentences: Mapping[int, Window]
) -> list[Window]:
    """Return the sentences and pairs of neighbours that cover most of a claim, best first."""
    single = sorted(sentences.values(), key=lambda window: (-window.coverage, window.first))
    best = single[:BEST]
    pairs = [
        pair
        for window in best
        for first, other in ((window.first - 1,) * 2, (window.first, window.first + 1))
        if other in sentences
        and (pair := _pair(claim, index, sentences, first))
        and pair.coverage > window.coverage
    ]
    distinct = {(window.first, window.last): window for window in [*best, *pairs]}
    return sorted(distinct.values(), key=lambda window: (-window.coverage, window.last))


def find_rival(
    claim: ClaimText, index: ContextIndex, sentences: Mapping[int, Window]
) -> Window | None:
    """Return a sentence that says all that others say which have a figure, and has another figure.

    What holds the figure is then on something else: the weight of the bridge, not of the tower. But
    the sentence after it in its context may go on with it.
    """
    richest = sorted(sentences.values(), key=lambda window: -len(window.found))
    holding = {  # the richest first: it is the hardest to outdo
        number: [window for window in richest if number in window.found]
        for number, term in enumerate(claim.terms)
        if term.figure is not None
    }
    for rival in sentences.values():
        for number in rival.rivals:
            holders = holding[number]
            is_whole = len(rival.found) == len(claim.terms) - 1
            if holders and all(
                holder.found.keys() - {number} < rival.found.keys()
                and (is_whole or not _is_beside(rival, holder, index))
                for holder in holders
            ):
                return rival
    return None


def _is_beside(rival: Window, holder: Window, index: ContextIndex) -> bool:
    """Tell whether two sentences stand in one context, where one may go on with the other."""
    return index.places[rival.first].context == index.places[holder.first].context


def share(claim: ClaimText, found: Mapping[int, float]) -> float:
    """Return the weight of the terms found, as a share of all terms' weight, in [0, 1]."""
    terms = claim.terms
    return sum([terms[number].weight * like for number, like in found.items()]) / claim.weight


def union(sentences: Mapping[int, Window]) -> dict[int, float]:
    """Return how surely each term of a claim stands anywhere in the contexts."""
    everywhere: dict[int, float] = {}
    for window in sentences.values():
        for number, like in window.found.items():
            everywhere[number] = max(like, everywhere.get(number, 0.0))
    return everywhere


def _places(term: Term, index: ContextIndex) -> dict[int, float]:
    """Return the sentences that have a word, with how surely they do."""
    places: dict[int, float] = {}
    for form, like in term.alike.items():
        for place in index.postings.get(form, ()):
            if like > places.get(place, 0.0):
                places[place] = like
    return places


def _pair(
    claim: ClaimText, index: ContextIndex, sentences: Mapping[int, Window], first: int
) -> Window | None:
    if first < 0 or first + 1 >= len(index.places):
        return None
    if index.places[first].context != index.places[first + 1].context:
        return None
    parts = [sentences[place] for place in (first, first + 1) if place in sentences]
    both: dict[int, float] = {}
    rivals: dict[int, Figure] = {}
    for part in parts:
        for number, like in part.found.items():
            both[number] = max(like, both.get(number, 0.0))
    for part in parts:
        for number, rival in part.rivals.items():
            if number not in both:
                rivals.setdefault(number, rival)
    return Window(first, first + 1, both, share(claim, both), rivals)
