"""Matching: which sentences of the contexts have which terms of a claim."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from ragstone.judges.offline.dates import Date
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.quantities import Figure, covers, differs, is_like
from ragstone.judges.offline.terms import ClaimText

MAX_FIGURES = 40
"""How many figures of a sentence are examined that cover a figure, or differ from it."""
BEST = 6
"""How many sentences are examined with their neighbors."""


class FigureMatch(NamedTuple):
    """What a sentence states about the figures of a claim, by their numbers in the claim.

    Attributes:
        found: the figures that it states.
        conflicting: the figures in whose place it has another -> that other.
    """

    found: frozenset[int]
    conflicting: Mapping[int, Figure]


def match_figures(claimed: Mapping[int, Figure], stated: Sequence[Figure]) -> FigureMatch:
    """Compare the figures of a sentence with those of a claim.

    A number that the sentence states once matches one number of the claim if something else is in
    the place of the other, or if it may count another thing.
    """
    keys = {number: _meaning(figure) for number, figure in claimed.items()}
    by_meaning: dict[Hashable, tuple[int, ...]] = {}
    for number, figure in claimed.items():
        if keys[number] not in by_meaning:
            places = (place for place, other in enumerate(stated) if covers(other, figure))
            by_meaning[keys[number]] = tuple(islice(places, MAX_FIGURES))
    covering = {number: by_meaning[key] for number, key in keys.items()}
    pairs = [
        (not _same_word_before(figure, stated[place]), number, place)
        for number, figure in claimed.items()
        for place in covering[number]
        if is_like(stated[place], figure)
    ]
    partner: dict[int, int] = {}
    taken: set[int] = set()
    for _, number, place in sorted(pairs):  # the most certain pairs first
        if number not in partner and place not in taken:
            partner[number] = place
            taken.add(place)
    found = set(partner)
    conflicting: dict[int, Figure] = {}
    differing: dict[Hashable, tuple[int, ...]] = {}
    for number, figure in claimed.items():
        if number in partner:
            continue
        key = keys[number]
        if key not in differing:
            others = (place for place, other in enumerate(stated) if differs(other, figure))
            differing[key] = tuple(islice(others, MAX_FIGURES))
        other = next((stated[place] for place in differing[key] if place not in taken), None)
        seeming = [stated[place] for place in covering[number]]
        is_replaced = other is not None and (
            not any(is_like(each, figure) for each in seeming)
            or (not isinstance(figure, Date) and _same_word_before(other, figure))
        )
        if other is not None and is_replaced:
            conflicting[number] = other
        elif seeming:
            found.add(number)
    return FigureMatch(frozenset(found), conflicting)


def _meaning(figure: Figure) -> Hashable:
    """Return a key that is equal for figures with the same meaning: a claim may repeat one."""
    if isinstance(figure, Date):
        return figure.shown
    key = figure.shown, figure.before, figure.noun, figure.per, figure.bound
    return *key, figure.is_about, figure.is_code, figure.ends


def _same_word_before(one: Figure, other: Figure) -> bool:
    """Return whether the same word is before two quantities, or whether both are dates."""
    if isinstance(one, Date) or isinstance(other, Date):
        return isinstance(one, Date) and isinstance(other, Date)
    return one.before == other.before


@dataclass(frozen=True, slots=True)
class Window:
    """One or two neighboring sentences of a context.

    Attributes:
        first: the number of its first sentence in the index.
        last: the number of its last sentence.
        found: number of a claim's term -> how well the window matches it, in (0, 1].
        coverage: the weight of the terms found, as a share of all.
        conflicting: number of a figure of the claim that it does not have -> the one in its place.
    """

    first: int
    last: int
    found: Mapping[int, float]
    coverage: float
    conflicting: Mapping[int, Figure]


def find_sentences(claim: ClaimText, index: ContextIndex) -> dict[int, Window]:
    """Return the sentences that have any term of a claim, by their numbers in the index."""
    figures = {
        number: term.figure for number, term in enumerate(claim.terms) if term.figure is not None
    }
    matches = (
        {place: match_figures(figures, stated) for place, stated in index.figures.items()}
        if figures
        else {}
    )
    found: dict[int, dict[int, float]] = {
        place: dict.fromkeys(sorted(match.found), 1.0)
        for place, match in matches.items()
        if match.found
    }
    for number, term in enumerate(claim.terms):
        places: dict[int, float] = {}
        for form, value in term.matches.items():
            for place in index.postings.get(form, ()):
                if value > places.get(place, 0.0):
                    places[place] = value
        for place, value in places.items():
            found.setdefault(place, {})[number] = value
    return {
        place: Window(
            place,
            place,
            terms,
            coverage(claim, terms),
            matches[place].conflicting if place in matches else {},
        )
        for place, terms in found.items()
    }


def find_windows(
    claim: ClaimText, index: ContextIndex, sentences: Mapping[int, Window]
) -> list[Window]:
    """Return the sentences and pairs of neighbors that cover most of a claim, best first."""
    single = sorted(sentences.values(), key=lambda window: (-window.coverage, window.first))
    found = {(window.first, window.last): window for window in single[:BEST]}
    for window in single[:BEST]:
        for first, other in ((window.first - 1,) * 2, (window.first, window.first + 1)):
            if other not in sentences:
                continue
            if index.places[first].context != index.places[first + 1].context:
                continue
            parts = sentences[first], sentences[first + 1]
            terms = best_scores(parts)
            share = coverage(claim, terms)
            if share > window.coverage:
                conflicting = {
                    number: figure
                    for part in reversed(parts)
                    for number, figure in part.conflicting.items()
                    if number not in terms
                }
                found[first, first + 1] = Window(first, first + 1, terms, share, conflicting)
    return sorted(found.values(), key=lambda window: (-window.coverage, window.last))


def find_conflicting_sentence(
    claim: ClaimText, index: ContextIndex, sentences: Mapping[int, Window]
) -> Window | None:
    """Return a sentence with another figure that has all other terms of those with the figure.

    Those are then about something else: the weight of the bridge, not of the tower. But a sentence
    of the same context may continue it.
    """
    richest = sorted(sentences.values(), key=lambda window: -len(window.found))
    with_figure = {
        number: [window for window in richest if number in window.found]
        for number, term in enumerate(claim.terms)
        if term.figure is not None
    }
    for sentence in sentences.values():
        is_whole = len(sentence.found) == len(claim.terms) - 1
        context = index.places[sentence.first].context
        for number in sentence.conflicting:
            if with_figure[number] and all(
                other.found.keys() - {number} < sentence.found.keys()
                and (is_whole or index.places[other.first].context != context)
                for other in with_figure[number]
            ):
                return sentence
    return None


def coverage(claim: ClaimText, found: Mapping[int, float]) -> float:
    """Return the weight of the terms found, as a share of all terms' weight, in [0, 1]."""
    terms = claim.terms
    return sum([terms[number].weight * value for number, value in found.items()]) / claim.weight


def best_scores(windows: Sequence[Window]) -> dict[int, float]:
    """Return how well the best of the windows matches each term of a claim."""
    best: dict[int, float] = {}
    for window in windows:
        for number, value in window.found.items():
            best[number] = max(value, best.get(number, 0.0))
    return best
