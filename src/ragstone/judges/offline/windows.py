"""Window: a stretch of a context, and how much of a claim its words cover."""

from collections.abc import Mapping
from dataclasses import dataclass

from ragstone.judges.offline.figures import Figure
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.pairing import pair_figures
from ragstone.judges.offline.terms import ClaimText, Term

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
