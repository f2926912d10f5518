"""Features: the numbers that describe how well the contexts support a claim.

No feature depends on the language, the length of the contexts or their order, so weights trained on
English texts apply to other languages too.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ragstone.judges.offline.conflicts import Conflict, find_conflicts
from ragstone.judges.offline.index import ContextIndex, pieces_of
from ragstone.judges.offline.matching import (
    Window,
    best_scores,
    coverage,
    find_conflicting_sentence,
    find_sentences,
    find_windows,
)
from ragstone.judges.offline.terms import ClaimText, Term

NEARLY = 0.1
"""A window without a conflict is preferred if its coverage is at most this much below the best."""
BEST_WINDOW = 0.7
"""The weight of the best window, compared with the contexts as a whole."""
MISSING = 0.2
"""The penalty for a figure that no context states, and for a name that no context has."""
MAX_COUNT = 10
"""The most that any count counts."""
DECIMALS = 6
"""Decimals of a feature, so that the order of floating-point sums never matters."""


@dataclass(frozen=True, slots=True)
class ClaimMatch:
    """A claim with terms, and where the contexts have them.

    Attributes:
        claim: the claim, split.
        sentences: number of a sentence that has any of its terms -> which it has; never empty.
        window: the sentences that cover most of it.
        scores: number of a term -> how well any context matches it, in (0, 1].
        conflict: what the window contradicts, if anything.
    """

    claim: ClaimText
    sentences: Mapping[int, Window]
    window: Window
    scores: Mapping[int, float]
    conflict: Conflict | None

    def missing_figures(self) -> list[Term]:
        """Return the figures in digits that no context states."""
        return [
            term
            for number, term in enumerate(self.claim.terms)
            if term.figure is not None
            and number not in self.scores
            and any(map(str.isdecimal, term.shown))
        ]

    def missing_names(self) -> list[Term]:
        """Return the names that no context has."""
        terms = enumerate(self.claim.terms)
        return [term for number, term in terms if term.is_name and number not in self.scores]

    def coverage(self) -> float:
        """Return how much of the claim the contexts cover, mostly in one place, in [0, 1]."""
        found = BEST_WINDOW * self.window.coverage
        found += (1 - BEST_WINDOW) * coverage(self.claim, self.scores)
        terms = enumerate(self.claim.terms)
        absent = [term for number, term in terms if number not in self.scores]
        found -= MISSING * any(term.figure is not None for term in absent)
        found -= MISSING * any(term.is_name for term in absent)
        return max(0.0, found)


def match_claim(claim: ClaimText, index: ContextIndex) -> ClaimMatch | None:
    """Return where the contexts have a claim's terms; None if they have none."""
    sentences = find_sentences(claim, index)
    if not sentences:
        return None
    windows = find_windows(claim, index, sentences)
    window, conflict = windows[0], None
    for each in windows:
        if each.coverage < windows[0].coverage - NEARLY:
            break
        found = _conflict(claim, each, index)
        if found is None:
            window, conflict = each, None
            break
        conflict = conflict or found
    other = None if conflict else find_conflicting_sentence(claim, index, sentences)
    if other and (conflict := _conflict(claim, other, index)):
        window = other
    return ClaimMatch(claim, sentences, window, best_scores([*sentences.values()]), conflict)


def _conflict(claim: ClaimText, window: Window, index: ContextIndex) -> Conflict | None:
    """Return the first conflict for which the window covers enough of the claim."""
    covered = window.coverage * claim.weight
    for conflict in find_conflicts(claim, window, index.span(window.first, window.last)):
        if covered >= conflict.needs * (claim.weight - conflict.weight):
            return conflict
    return None


class Features(NamedTuple):
    """The features of a claim; shares are in [0, 1], counts from 0 to MAX_COUNT.

    Shares of terms are weighted by the rarity of the terms in the contexts. "Here" is the window:
    the neighboring sentences that cover most of the claim.

    Attributes:
        coverage: share found, mostly here; less for a missing figure or name.
        second_sentence: share in the second-best single sentence.
        exact: share found letter by letter.
        missing_figures: dates and quantities that no context states.
        missing_digits: those of them written in digits.
        missing_names_here: names that are not here.
        names_found: share of the names that any context has; 1 without names.
        first_missing: 1 if no context has the first word that is a term, often the subject.
        last_missing: the same for the last word.
        triples: share of sequences of three words that a context has; for a claim of one or two
            words, whether a context has the whole sequence.
        pieces: share of the four-character pieces of its words that the contexts' words have.
        missing_function_words: words without content that no context has.
    """

    coverage: float
    second_sentence: float
    exact: float
    missing_figures: float
    missing_digits: float
    missing_names_here: float
    names_found: float
    first_missing: float
    last_missing: float
    triples: float
    pieces: float
    missing_function_words: float


def compute_features(match: ClaimMatch, index: ContextIndex) -> Features:
    """Return the features of a claim."""
    claim, here, anywhere = match.claim, match.window.found, match.scores
    coverages = sorted((window.coverage for window in match.sentences.values()), reverse=True)
    exact = {number: 1.0 for number, value in anywhere.items() if value == 1}
    terms = range(len(claim.terms))
    figures = [number for number in terms if claim.terms[number].figure is not None]
    names = [number for number in terms if claim.terms[number].is_name]
    words = [number for number in terms if claim.terms[number].word is not None]
    forms = [word.form for word in claim.words]
    absent = [form for form in forms if form not in index.postings]
    length = min(3, len(forms))
    sequences = [forms[at : at + length] for at in range(len(forms) - length + 1)] if forms else []
    content = [claim.words[term.word].form for term in claim.terms if term.word is not None]
    pieces = [piece for form in content for piece in pieces_of(form)]
    found = Features(
        coverage=match.coverage(),
        second_sentence=coverages[1] if len(coverages) > 1 else 0.0,
        exact=coverage(claim, exact),
        missing_figures=_count_missing(figures, anywhere),
        missing_digits=min(MAX_COUNT, len(match.missing_figures())),
        missing_names_here=_count_missing(names, here),
        names_found=sum(map(anywhere.__contains__, names)) / len(names) if names else 1.0,
        first_missing=float(bool(words) and words[0] not in anywhere),
        last_missing=float(bool(words) and words[-1] not in anywhere),
        triples=sum(map(index.has_sequence, sequences)) / len(sequences) if sequences else 0.0,
        pieces=sum(map(index.has_piece, pieces)) / len(pieces) if pieces else 0.0,
        missing_function_words=min(
            MAX_COUNT, sum(form in claim.language.function_words for form in absent)
        ),
    )
    return Features(*(round(value, DECIMALS) for value in found))


def _count_missing(numbers: Sequence[int], found: Collection[int]) -> int:
    return min(MAX_COUNT, sum(number not in found for number in numbers))
