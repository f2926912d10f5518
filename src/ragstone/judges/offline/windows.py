"""Window: a stretch of a context, and how much of a claim its words cover."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass

from ragstone.judges.offline.figures import covers
from ragstone.judges.offline.index import ContextIndex
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
    """

    first: int
    last: int
    found: Mapping[int, float]
    coverage: float


def find_windows(claim: ClaimText, index: ContextIndex) -> list[Window]:
    """Return the sentences and pairs of neighbours that cover most of a claim, best first."""
    found = _found(claim, index)
    single = [Window(place, place, has, share(claim, has)) for place, has in found.items()]
    single.sort(key=lambda window: (-window.coverage, window.first))
    best = single[:BEST]
    pairs = [
        pair
        for window in best
        for first in (window.first - 1, window.first)
        if (pair := _pair(claim, index, found, first)) and pair.coverage > window.coverage
    ]
    distinct = {(window.first, window.last): window for window in [*best, *pairs]}
    return sorted(distinct.values(), key=lambda window: (-window.coverage, window.last))


def share(claim: ClaimText, found: Mapping[int, float]) -> float:
    """Return the weight of the terms found, as a share of all terms' weight, in [0, 1]."""
    whole = sum(term.weight for term in claim.terms)
    return sum(claim.terms[number].weight * like for number, like in found.items()) / whole


def union(claim: ClaimText, index: ContextIndex) -> dict[int, float]:
    """Return how surely each term stands anywhere in the contexts."""
    everywhere: dict[int, float] = {}
    for number, term in enumerate(claim.terms):
        if like := max(_places(term, index).values(), default=0.0):
            everywhere[number] = like
    return everywhere


def _found(claim: ClaimText, index: ContextIndex) -> dict[int, dict[int, float]]:
    found: defaultdict[int, dict[int, float]] = defaultdict(dict)
    for number, term in enumerate(claim.terms):
        for place, like in _places(term, index).items():
            found[place][number] = like
    return found


def _places(term: Term, index: ContextIndex) -> dict[int, float]:
    """Return the sentences that have a term, with how surely they do."""
    places: dict[int, float] = {}
    if term.figure is not None:
        for place, figures in index.figures.items():
            if any(covers(figure, term.figure) for figure in figures):
                places[place] = 1.0
        return places
    for form, like in term.alike.items():
        for place in index.postings.get(form, ()):
            if like > places.get(place, 0.0):
                places[place] = like
    return places


def _pair(
    claim: ClaimText, index: ContextIndex, found: Mapping[int, Mapping[int, float]], first: int
) -> Window | None:
    if first < 0 or first + 1 >= len(index.places):
        return None
    if index.places[first].context != index.places[first + 1].context:
        return None
    both = dict(found.get(first, {}))
    for number, like in found.get(first + 1, {}).items():
        both[number] = max(like, both.get(number, 0.0))
    return Window(first, first + 1, both, share(claim, both))
