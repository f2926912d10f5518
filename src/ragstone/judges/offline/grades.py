"""Grade of words: which contexts have the words that an answer's claims are made of."""

from collections.abc import Sequence

from ragstone.claims import Label
from ragstone.grades import Grade
from ragstone.judges.offline.abstention import abstains
from ragstone.judges.offline.extraction import extract_claims
from ragstone.judges.offline.verdicts import verify_claims
from ragstone.messages import one_line

NEARLY = 0.1
"""By how much a context may support a claim less surely than the best one does, and still count."""
SHOWN = 120
"""Characters of a claim that a reason shows."""


def grade_contexts(answer: str, contexts: Sequence[str]) -> tuple[Grade, ...]:
    """Return a grade for each context, in order.

    Relevant is what supports a claim of the answer, by itself and about as surely as the best of
    the contexts: words that many contexts share would let every one of them count. An answer that
    is too short to be a claim, such as a name or a year, is looked for as it is.
    """
    if abstains(answer):
        return (Grade(relevant=False, reason="the answer states nothing"),) * len(contexts)
    claims = tuple(claim.text for claim in extract_claims(answer)) or (answer,)
    support = [_support(claims, context) for context in contexts]
    best = tuple(max(sure) for sure in zip(*support, strict=True))
    return tuple(_grade(claims, sure, best) for sure in support)


def _support(claims: tuple[str, ...], context: str) -> tuple[float, ...]:
    """Return how surely a context supports each claim; 0 where it does not."""
    return tuple(
        (verdict.confidence or 0.0) if verdict.label is Label.SUPPORTED else 0.0
        for verdict in verify_claims(claims, (context,))
    )


def _grade(claims: Sequence[str], sure: Sequence[float], best: Sequence[float]) -> Grade:
    supported = [number for number, each in enumerate(sure) if each]
    for number in supported:
        if sure[number] >= best[number] - NEARLY:
            return Grade(relevant=True, reason=f"it supports: {one_line(claims[number], SHOWN)}")
    if supported:
        said = one_line(claims[supported[0]], SHOWN)
        return Grade(relevant=False, reason=f"another context is nearer to: {said}")
    return Grade(relevant=False, reason="it supports no claim of the answer")
