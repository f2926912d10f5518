"""Trait: one number that tells how far the contexts hold a claim; a claim has all of them.

No trait knows a language, how long the contexts are or in what order they stand, so what is learned
of them on English texts has a meaning on others too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.judges.offline.conflicts import Conflict, find_conflicts
from ragstone.judges.offline.index import ContextIndex, Stretch, Stretches, pieces
from ragstone.judges.offline.matching import (
    Window,
    find_rival,
    find_sentences,
    find_windows,
    share,
    union,
)
from ragstone.judges.offline.terms import ClaimText, Term

# Reading: what the contexts hold of one claim, found once for the verdict and for its measure.

NEARLY = 0.1
"""A window this much weaker than the best still counts, where it has no conflict."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A claim with terms, and where the contexts have them.

    Attributes:
        claim: the claim, taken apart.
        sentences: number of a sentence that has any of its terms -> which it has; never empty.
        window: the sentences that say most of it.
        stretch: their text.
        everywhere: number of a term -> how surely it stands anywhere in the contexts.
        conflict: what the window says otherwise, if anything.
    """

    claim: ClaimText
    sentences: Mapping[int, Window]
    window: Window
    stretch: Stretch
    everywhere: Mapping[int, float]
    conflict: Conflict | None


def read_contexts(claim: ClaimText, index: ContextIndex, stretches: Stretches) -> Reading | None:
    """Return what the contexts hold of a claim; None where they have no term of it."""
    sentences = find_sentences(claim, index)
    if not sentences:
        return None
    window, conflict = _choose(claim, find_windows(claim, index, sentences), stretches)
    if conflict is None and (rival := find_rival(claim, index, sentences)):
        conflict = _conflict(claim, rival, stretches)
        window = rival if conflict else window
    stretch, everywhere = stretches.of(window.first, window.last), union(sentences)
    return Reading(claim, sentences, window, stretch, everywhere, conflict)


def _choose(
    claim: ClaimText, windows: Sequence[Window], stretches: Stretches
) -> tuple[Window, Conflict | None]:
    """Return the best window without a conflict among those near the best, else the best."""
    first: Conflict | None = None
    for window in windows:
        if window.coverage < windows[0].coverage - NEARLY:
            break
        conflict = _conflict(claim, window, stretches)
        if conflict is None:
            return window, None
        first = first or conflict
    return windows[0], first


def _conflict(claim: ClaimText, window: Window, stretches: Stretches) -> Conflict | None:
    covered = window.coverage * claim.weight
    stretch = stretches.of(window.first, window.last)
    for conflict in find_conflicts(claim, window, stretch):
        if covered >= conflict.needs * (claim.weight - conflict.weight):
            return conflict
    return None


IN_ONE_PLACE = 0.7
"""What the best window counts against the contexts as a whole."""
UNTOLD = 0.2
"""What a figure that no context states costs, and a name that none has."""
MANY = 10
"""The most that counts of anything counted."""
DECIMALS = 6
"""Decimals of a trait: the order in which weights are summed must not decide anything."""


class Traits(NamedTuple):
    """What a claim's words come to; shares are in [0, 1], counts from 0 to MANY.

    Shares of terms are weighed by how rare the terms are in the contexts. "Here" is the window:
    the neighbouring sentences that hold most of the claim.

    Attributes:
        held: most of it here, some of it anywhere, less for a figure or a name that none has.
        second: share in the sentence that is second best alone.
        exact: share that stands anywhere, letter by letter.
        figures_lacking: dates and quantities that no context states.
        digits_lacking: those written in digits that no context states.
        names_lacking_here: names that are not here.
        names_held: share of the names that any context has; 1 without names.
        first_lacking: 1 if no context has the first term in words, which is often the subject.
        last_lacking: the same of the last.
        triples: share of the words three in a row that a context has in a row; of a claim of two
            words or one, whether a context has them so.
        pieces: share of the pieces of its words that the contexts' words have.
        function_words_lacking: words without content that no context has.
    """

    held: float
    second: float
    exact: float
    figures_lacking: float
    digits_lacking: float
    names_lacking_here: float
    names_held: float
    first_lacking: float
    last_lacking: float
    triples: float
    pieces: float
    function_words_lacking: float


def read_traits(reading: Reading, index: ContextIndex) -> Traits:
    """Return the traits of a claim."""
    found = _shares(reading) | _lacks(reading, index) | _rows(reading, index)
    return Traits(**{name: round(value, DECIMALS) for name, value in found.items()})


def _shares(reading: Reading) -> dict[str, float]:
    """Return how much of the terms' weight stands where."""
    claim, sentences = reading.claim, reading.sentences.values()
    coverages = sorted((window.coverage for window in sentences), reverse=True)
    exact = {number: 1.0 for number, like in reading.everywhere.items() if like == 1}
    return {
        "held": strength(reading),
        "second": coverages[1] if len(coverages) > 1 else 0.0,
        "exact": share(claim, exact),
    }


def _lacks(reading: Reading, index: ContextIndex) -> dict[str, float]:
    """Return what the contexts, or the window, have not."""
    claim, here, anywhere = reading.claim, reading.window.found, reading.everywhere
    terms = range(len(claim.terms))
    figures = [number for number in terms if claim.terms[number].figure is not None]
    names = [number for number in terms if claim.terms[number].is_name]
    words = [number for number in terms if claim.terms[number].word is not None]
    absent = [word.form for word in claim.words if word.form not in index.postings]
    function_words = sum(form in claim.language.function_words for form in absent)
    return {
        "figures_lacking": _lacking(figures, anywhere),
        "digits_lacking": min(MANY, len(digits_lacking(claim, anywhere))),
        "names_lacking_here": _lacking(names, here),
        "names_held": _share(names, anywhere, 1.0),
        "first_lacking": float(bool(words) and words[0] not in anywhere),
        "last_lacking": float(bool(words) and words[-1] not in anywhere),
        "function_words_lacking": min(MANY, function_words),
    }


def _rows(reading: Reading, index: ContextIndex) -> dict[str, float]:
    """Return how the words, and the characters of the words, stand together."""
    claim = reading.claim
    forms = [word.form for word in claim.words]
    contents = [claim.words[term.word].form for term in claim.terms if term.word is not None]
    cut = [piece for form in contents for piece in pieces(form)]
    return {
        "triples": _triples(forms, index),
        "pieces": sum(map(index.has_piece, cut)) / len(cut) if cut else 0.0,
    }


def _triples(forms: Sequence[str], index: ContextIndex) -> float:
    if not forms:
        return 0.0
    length = min(3, len(forms))
    rows = [forms[at : at + length] for at in range(len(forms) - length + 1)]
    return sum(map(index.has_row, rows)) / len(rows)


def strength(reading: Reading) -> float:
    """Return how much of a claim the contexts hold, in [0, 1], most of it in one place."""
    claim, everywhere = reading.claim, reading.everywhere
    held = IN_ONE_PLACE * reading.window.coverage + (1 - IN_ONE_PLACE) * share(claim, everywhere)
    absent = [term for number, term in enumerate(claim.terms) if number not in everywhere]
    held -= UNTOLD * any(term.figure is not None for term in absent)
    held -= UNTOLD * any(term.is_name for term in absent)
    return max(0.0, held)


def digits_lacking(claim: ClaimText, everywhere: Collection[int]) -> list[Term]:
    """Return the figures in digits that no context states."""
    return [
        term
        for number, term in enumerate(claim.terms)
        if term.figure is not None
        and number not in everywhere
        and any(map(str.isdecimal, term.shown))
    ]


def names_lacking(claim: ClaimText, everywhere: Collection[int]) -> list[Term]:
    """Return the names that no context has."""
    return [
        term for number, term in enumerate(claim.terms) if term.is_name and number not in everywhere
    ]


def _lacking(numbers: Sequence[int], found: Collection[int]) -> float:
    return min(MANY, sum(number not in found for number in numbers))


def _share(things: Sequence[object], found: Collection[object], without: float = 0.0) -> float:
    return sum(map(found.__contains__, things)) / len(things) if things else without
