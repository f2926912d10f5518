"""Features: the numbers that describe how well the contexts support a claim.

No feature depends on the language, the length of the contexts or their order, so weights trained on
English texts apply to other languages too.
"""

from typing import NamedTuple

from ragstone.judges.offline.index import ContextIndex, pieces_of
from ragstone.judges.offline.matching import ClaimText, Match

MAX_COUNT = 10
"""The most that any count counts."""
DECIMALS = 6
"""Decimals of a feature, so that the order of floating-point sums never matters."""


class Features(NamedTuple):
    """The features of a claim; shares are in [0, 1], counts from 0 to MAX_COUNT.

    Shares are weighted by the rarity of the words. "Here" is the window: the sentence, or two
    neighboring ones, that cover most of the claim.

    Attributes:
        coverage: share of the claim found here.
        anywhere: share found in any context.
        second_sentence: share found in the second-best single sentence.
        triples: share of sequences of three words that a context has; for a claim of one or two
            words, whether a context has the whole sequence.
        pieces: share of the four-character pieces of its words that the contexts' words have.
        missing_names: names that no context has.
        missing_figures: dates and quantities that no context states.
        first_missing: 1 if no context has the first word with content, often the subject.
        last_missing: the same for the last word.
        missing_function_words: share of the words without content that no context has.
    """

    coverage: float
    anywhere: float
    second_sentence: float
    triples: float
    pieces: float
    missing_names: float
    missing_figures: float
    first_missing: float
    last_missing: float
    missing_function_words: float


def compute_features(claim: ClaimText, match: Match, index: ContextIndex) -> Features:
    """Return the features of a claim."""
    content = claim.content
    absent = [term for term in content if term not in match.anywhere]
    figures = [number for number in range(len(claim.figures)) if number not in match.anywhere]
    length = min(3, len(claim.stems))
    sequences = [*zip(*(claim.stems[at:] for at in range(length)), strict=False)]
    missing_pieces = sum(
        claim.terms[term] * sum(not index.has_piece(piece) for piece in pieces) / len(pieces)
        for term in absent
        for pieces in [pieces_of(term)]
    )
    weight = sum([claim.terms[term] for term in content])
    empty = [
        each
        for word, each in zip(claim.words, claim.stems, strict=True)
        if word.form in claim.language.function_words
    ]
    found = Features(
        coverage=match.coverage,
        anywhere=sum([weight for term, weight in claim.terms.items() if term in match.anywhere])
        / claim.weight,
        second_sentence=match.second,
        triples=sum(map(index.has_sequence, sequences)) / len(sequences) if sequences else 0.0,
        pieces=1 - missing_pieces / weight if weight else 0.0,
        missing_names=min(MAX_COUNT, sum(name not in match.anywhere for name in claim.names)),
        missing_figures=min(MAX_COUNT, len(figures)),
        first_missing=float(bool(absent) and absent[0] == content[0]),
        last_missing=float(bool(absent) and absent[-1] == content[-1]),
        missing_function_words=sum(each not in index.postings for each in empty)
        / max(1, len(empty)),
    )
    return Features(*(round(value, DECIMALS) for value in found))
