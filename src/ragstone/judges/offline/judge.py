"""OfflineJudge: answers the questions that comparing words can answer, about as well as it can."""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp
from typing import TypeVar

from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import one_line
from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.features import (
    Reading,
    Traits,
    digits_lacking,
    names_lacking,
    read_contexts,
    read_traits,
)
from ragstone.judges.offline.index import ContextIndex, Stretches
from ragstone.judges.offline.languages import REFUSAL_PATTERNS, guess_language
from ragstone.judges.offline.terms import ClaimText, read_claim
from ragstone.judges.offline.words import fold, lazy_pattern, split_forms
from ragstone.types.claim import Evidence, Grade, Label, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    ExtractClaims,
    GradeContexts,
    Question,
    VerifyClaims,
)
from ragstone.types.reply import Reply

# Abstention: a response that says, in so many words, that it does not know, and nothing else.

OPENING = 400
"""Characters of a sentence that are looked at."""
_COMMAS = str.maketrans("", "", ',、،*_>"“”')


def abstains(response: str) -> bool:
    """Tell whether a response refuses, in any of the languages known, and claims nothing."""
    sentences = split_sentences(response)
    return any(_refuses(each.text) for each in sentences) and not extract_claims(response)


def _refuses(sentence: str) -> bool:
    plain = fold(sentence[:OPENING]).translate(_COMMAS).strip()
    return any(pattern.match(plain) for pattern in REFUSAL_PATTERNS.values())


# Weights: what each trait of a claim counts, learned of people's labels.

FILE = "weights.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learned.

    Attributes:
        traits: name of a trait -> what one of it counts, in the order of `Traits`.
        offset: what counts whatever the traits are.
        mark: the probability from which a claim counts as supported.
        ceilings: what is seen in a claim -> the highest probability that it then has: the share of
            such claims that people called supported. The keys are the kinds of conflict, "another"
            for one on another subject, "digits" for a figure in digits that no context states,
            "unnamed" for a name that none has, and "nothing" where none has any word of it.
    """

    traits: Mapping[str, float]
    offset: float
    mark: float
    ceilings: Mapping[str, float]

    def probability(self, traits: Traits) -> float:
        """Return how likely it is that a claim with these traits is supported, in (0, 1).

        It is 1 / (1 + e^-s), where s is the offset and each trait times its weight.
        """
        total = self.offset
        for weight, trait in zip(self.traits.values(), traits, strict=True):
            total += weight * trait
        return 1 / (1 + exp(-total))

    @classmethod
    def of(cls, text: str) -> "Weights":
        """Read a file of weights.

        Raises:
            ValueError: the file was made for other traits.
        """
        stored = json.loads(text)
        if tuple(stored["traits"]) != Traits._fields:
            raise ValueError("the weights of the offline judge are of other traits: train it anew")
        return cls(**stored)


@cache
def read_weights() -> Weights:
    """Return the weights that come with the package."""
    return Weights.of(files("ragstone.judges.offline").joinpath(FILE).read_text("utf-8"))


# Verdict of words: what the contexts' words say about a claim's words.

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


# Grade of words: which contexts have the words that an answer's claims are made of.

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


T = TypeVar("T")


class OfflineJudge(Judge):
    """Compares words; needs no model, key or network, and the same question has one answer.

    A claim is CONTRADICTED where a number, date, negation, opposite or name differs in a context,
    SUPPORTED where what its words come to there is likely to be support, else NOT_ENOUGH_INFO. How
    likely was learned of claims that people labelled (`training/offline_judge`). The confidence is
    that probability, or one minus it: where half of the claims are supported, 0.9 is right some
    nine times in ten, on English texts. A conflict that it names may be none (said of another
    subject, or the same in other words). What has the same meaning in other words is missed, and
    another meaning in the same words passes.
    A context is relevant where it supports a claim of the answer; a response abstains where it has
    a phrase for that and claims nothing. How alike texts are it does not tell: a SimilarityJudge
    beside it does.
    """

    name = "offline"
    description = (
        "word-level: it compares words, numbers, dates, negations and names with the contexts, "
        "weighed as people's labels taught it; not a reader; it misses paraphrase and inference, "
        "and its confidence is calibrated on English texts of which 70 % of the claims hold"
    )
    kinds = frozenset(
        kind.kind for kind in (ExtractClaims, VerifyClaims, GradeContexts, DetectAbstention)
    )

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question at once, without waiting.

        Raises:
            QuestionNotSupportedError: words alone do not answer that kind of question.
        """
        return question.reply(self._value(question))

    def _value(self, question: Question[T]) -> object:
        if isinstance(question, ExtractClaims):
            return extract_claims(question.response)
        if isinstance(question, VerifyClaims):
            return verify_claims(question.claims, question.contexts)
        if isinstance(question, GradeContexts):
            return grade_contexts(question.answer, question.contexts)
        if isinstance(question, DetectAbstention):
            return abstains(question.response)
        raise QuestionNotSupportedError(
            f"the judge {self.name} compares words, and they do not answer {question.kind}: name "
            "another judge with --model or --judge"
        )
