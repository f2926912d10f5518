"""Verdict of words: what the contexts' words say about a claim's words."""

import re
from collections.abc import Collection, Iterator, Sequence

from ragstone.claims import Evidence, Label, Verdict
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.languages import guess_language
from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.readings import Reading, read_contexts
from ragstone.judges.offline.stretches import Stretches
from ragstone.judges.offline.terms import ClaimText, read_claim
from ragstone.judges.offline.traits import digits_lacking, names_lacking, read_traits
from ragstone.judges.offline.weights import Weights, read_weights
from ragstone.judges.offline.words import split_forms

MISSING_SHOWN = 5
"""How many of the words that nothing covers are named."""
DIGITS = 4
"""Decimals of a confidence."""

_MARKS = lazy_pattern(
    r"\s?[\[【](?:\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*|[^\[\]\s]{1,40})[\]】](?!\()", re.ASCII
)
"""Citations such as `[1, 3]` and `[doc-7]`: they say where a claim comes from, not what it says."""


def verify_claims(claims: Sequence[str], contexts: Sequence[str]) -> tuple[Verdict, ...]:
    """Return a verdict on each claim, in order."""
    index = ContextIndex(contexts)
    stretches = Stretches(index)
    return tuple(_verdict(claim, index, stretches) for claim in read_claims(claims, index))


def read_claims(claims: Sequence[str], index: ContextIndex) -> Iterator[ClaimText]:
    """Yield each claim, taken apart in the language that they have together."""
    claims = [_MARKS().sub("", claim) for claim in claims]
    together = " ".join(claim[:1000] for claim in claims[:20])
    language = guess_language(together, split_forms(together))
    for claim in claims:
        yield read_claim(claim, language, index)


def support(reading: Reading, index: ContextIndex, weights: Weights) -> float:
    """Return how likely it is that the contexts support a claim, in (0, 1)."""
    likely = weights.probability(read_traits(reading, index))
    return min([likely, *(weights.ceilings[seen] for seen in seen_in(reading))])


def seen_in(reading: Reading) -> Iterator[str]:
    """Yield what lowers the probability, whatever else the claim's traits are."""
    if reading.conflict:
        yield "another" if reading.conflict.of_another else reading.conflict.kind
    if digits_lacking(reading.claim, reading.everywhere):
        yield "digits"
    if names_lacking(reading.claim, reading.everywhere):
        yield "unnamed"


def _verdict(claim: ClaimText, index: ContextIndex, stretches: Stretches) -> Verdict:
    if not any(context.strip() for context in index.texts):
        return _unknown("there is no context", 0.0)
    if not claim.terms:
        return _unknown("the claim has no word with content", 0.0)
    weights = read_weights()
    reading = read_contexts(claim, index, stretches)
    if reading is None:
        return _unknown(_missing(claim, {}), weights.ceilings["nothing"])
    likely = support(reading, index, weights)
    evidence = (_evidence(reading, index),)
    conflict = reading.conflict
    if conflict and conflict.of_another:
        return _unknown(f"{conflict.reason}, but perhaps of another subject", likely, evidence)
    if conflict:
        return Verdict(
            label=Label.CONTRADICTED,
            reason=conflict.reason,
            confidence=round(1 - likely, DIGITS),
            evidence=evidence,
        )
    if likely >= weights.mark:
        return Verdict(label=Label.SUPPORTED, confidence=round(likely, DIGITS), evidence=evidence)
    return _unknown(_missing(claim, reading.window.found), likely, evidence)


def _missing(claim: ClaimText, found: Collection[int]) -> str:
    missing = [term for number, term in enumerate(claim.terms) if number not in found]
    missing.sort(key=lambda term: -term.weight)
    if not missing:
        return "the claim's words stand in the contexts, but not close enough together"
    shown = ", ".join(term.shown for term in missing[:MISSING_SHOWN])
    return f"no context sentence covers: {shown}"


def _unknown(reason: str, likely: float, evidence: tuple[Evidence, ...] = ()) -> Verdict:
    sure = round(1 - likely, DIGITS)
    return Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason, confidence=sure, evidence=evidence)


def _evidence(reading: Reading, index: ContextIndex) -> Evidence:
    first, last = index.places[reading.window.first], index.places[reading.window.last]
    quote = index.texts[first.context][first.start : last.end]
    return Evidence(
        context=first.context, start=first.start, end=last.end, quote=quote, verified=True
    )
