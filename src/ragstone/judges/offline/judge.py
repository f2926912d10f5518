"""OfflineJudge: answers the questions that can be answered by comparing words."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from itertools import chain
from math import exp
from typing import Annotated, ClassVar, NamedTuple, TypeVar

from pydantic import Field

from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import one_line
from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.offline import words
from ragstone.judges.offline.claims import MAX_OPENING, extract_claims, remove_mentions
from ragstone.judges.offline.figures import LEEWAY
from ragstone.judges.offline.matching import (
    ClaimText,
    ContextIndex,
    Features,
    Match,
    Term,
    compute_features,
    match_claim,
    pieces_of,
    read_claim,
)
from ragstone.judges.offline.structured import ReadableContexts
from ragstone.judges.spec import JudgeOptions
from ragstone.types.claim import Evidence, FoundAnswer, Grade, Label, Verdict
from ragstone.types.questions import (
    DetectAbstention,
    ExtractClaims,
    FindAnswer,
    GradeContexts,
    Question,
    VerifyClaims,
)
from ragstone.types.reply import Reply

CONFLICTS = ("figure", "name", "negation", "opposite")
NEAR = 3
_BOUNDS = frozenset(map(words.stem, LEEWAY))


def find_conflicts(claim: ClaimText, match: Match, index: ContextIndex) -> Mapping[str, str]:
    """Return kind of conflict -> how claim and window differ; "" if no context has the word."""
    language = index.passages[index.places[match.first].context].language
    window = [each for place in range(match.first, match.last + 1) for each in index.stems[place]]
    found: dict[str, str] = {}
    if match.rival:
        number, stated = match.rival
        shown = claim.figures[number].shown
        found["figure"] = f"the claim says {shown}, but the text says {stated.shown}"
    else:
        for number, figure in enumerate(claim.figures):
            is_exact = figure.dimension or any(map(str.isdecimal, figure.shown))
            if is_exact and number not in match.anywhere:
                found["figure"] = ""
    # by pieces, because a context may have another form of the name: Vietnam for Vietnamese
    for pieces in map(pieces_of, claim.names - match.anywhere):
        if 2 * sum(piece in index.marked_words for piece in pieces) <= len(pieces):
            found["name"] = ""
    mine = _negated(claim.stems, claim.language)
    for place in range(match.first, match.last + 1):
        stems = index.stems[place]
        theirs = _negated(stems, language)
        side, other, spoken = (
            ("claim", stems, language) if mine else ("text", claim.stems, claim.language)
        )
        if bool(mine) != bool(theirs) and spoken.denial_stems.isdisjoint(other):
            for negated in sorted((mine | theirs) & {*stems} & {*claim.stems}):
                found["negation"] = f"only the {side} negates {claim.shown(negated)!r}"
    is_denied = bool(mine) != bool(_negated(window, language))
    for each in () if is_denied else _reversed(claim, match, window):
        found["opposite"] = f"the claim says {claim.shown(each)!r}, the text says the opposite"
    return found


class Contradiction(NamedTuple):
    """What the probability of contradiction depends on."""

    frame: float  # the share of the words around the claim's figure that the stated one has too
    is_year: float  # 1 for a year, because many events happen in several years


def find_contradiction(
    claim: ClaimText, match: Match, index: ContextIndex, conflicts: Iterable[str]
) -> Contradiction | None:
    # One sentence must have another figure in its place, no third one of that kind, and half of
    # the claim's other words; no name may be missing, and neither figure rounded or a bound.
    if not match.rival or match.first != match.last or "name" in conflicts:
        return None
    number, stated = match.rival
    figure = claim.figures[number]
    if (
        sum(each.is_like(figure) for each in index.figures(match.first)) > 1
        or any(figure.leeway + stated.leeway)
        or 2 * claim.weight_of(match.here & {*claim.content}) < claim.weight_of({*claim.content})
    ):
        return None
    return Contradiction(match.frame, float(figure.is_year))


def _negated(stems: Sequence[str], language: words.Language) -> set[str]:
    content = [n for n, each in enumerate(stems) if each not in language.function_stems]
    found: set[str] = set()
    for number, each in enumerate(stems):
        following = stems[number + 1] if number + 1 < len(stems) else ""
        is_bound = following in _BOUNDS or following in language.denial_stems
        if each in language.negation_stems and not is_bound:  # `no more than`, `not only`
            after = [place for place in content if place > number][:1]
            found.update(stems[place] for place in after or content[-1:])
    return found


def _reversed(claim: ClaimText, match: Match, window: Sequence[str]) -> Iterator[str]:
    mine = {*claim.stems}
    for here, each in enumerate(claim.stems):
        for other in words.opposites().get(each, ()) if each not in match.here else ():
            around = {*claim.stems[max(0, here - NEAR) : here + NEAR + 1]} & {*claim.content}
            places = [n for n, word in enumerate(window) if word == other and other not in mine]
            near = {word for n in places for word in window[max(0, n - NEAR) : n + NEAR + 1]}
            if around & near:
                yield each


T = TypeVar("T")

WEIGHTS = "weights.json"
MAX_MISSING_SHOWN = 5
DECIMALS = 4
CONTRADICTED = 0.5  # the probability of contradiction from which a claim is CONTRADICTED
NEARLY = 0.1  # a relevant context's support is at most this much below that of the best context
ANSWERS = 0.6  # the share of a query's weight that an answering context has; it is the confidence
MAX_CLAIM_SHOWN = 120
_COMMAS = str.maketrans("", "", ',、،*_>"“”')


class OfflineSettings(JudgeOptions):
    """The options in the offline judge's name, such as `offline,threshold=0.6`."""

    judge: ClassVar[str] = "the offline judge"

    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5  # probability from which it is supported


DEFAULTS = OfflineSettings()


class OfflineJudge(Judge):
    """Compares words. It needs no model, key or network, and always gives the same answer."""

    name = "offline"
    description = "compares words, without understanding"
    settings = DEFAULTS
    kinds = frozenset(
        kind.kind
        for kind in (ExtractClaims, VerifyClaims, GradeContexts, DetectAbstention, FindAnswer)
    )

    def __init__(self, settings: OfflineSettings = DEFAULTS) -> None:
        self.settings = settings
        self.name = settings.judge_name(type(self).name)

    def setup(self, kind: str) -> str | None:
        del kind
        return f"{self.name} {sha256(_weights().encode()).hexdigest()[:12]}"

    async def answer(self, question: Question[T]) -> Reply[T]:
        return question.reply(self._value(question))

    def _value(self, question: Question[T]) -> object:
        if isinstance(question, ExtractClaims):
            return extract_claims(question.response)
        if isinstance(question, DetectAbstention):
            return abstains(question.response)
        if isinstance(question, VerifyClaims | GradeContexts | FindAnswer):
            contexts = ReadableContexts.of(question.contexts)
            if isinstance(question, GradeContexts):
                return grade_contexts(question.answer, contexts.texts)
            if isinstance(question, FindAnswer):
                return contexts.restore(find_answer(question.query, contexts.texts))
            found = verify_claims(question.claims, contexts.texts, self.settings)
            return tuple(map(contexts.restore, found))
        raise QuestionNotSupportedError(
            f"the judge {self.name} compares words, which cannot answer {question.kind}: name "
            "another judge"
        )


def verify_claims(
    claims: Sequence[str], contexts: Sequence[str], settings: OfflineSettings = DEFAULTS
) -> tuple[Verdict, ...]:
    index = ContextIndex(contexts)
    return tuple(_verdict(claim, index, settings) for claim in read_claims(claims))


def read_claims(claims: Sequence[str]) -> Iterator[ClaimText]:
    claims = [*map(remove_mentions, claims)]
    sample = " ".join(claim[:1000] for claim in claims[:20])
    language = words.guess_language(sample, words.split_forms(sample))
    for claim in claims:
        yield read_claim(claim, language)


def _verdict(claim: ClaimText, index: ContextIndex, settings: OfflineSettings) -> Verdict:
    if not index.places:
        return Verdict(label=Label.NOT_ENOUGH_INFO, reason="there is no text", confidence=1.0)
    if not (claim.content or claim.figures):
        reason = "the claim has no content words"
        return Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason, confidence=0.5)
    match = match_claim(claim, index)
    conflicts: Mapping[str, str] = find_conflicts(claim, match, index) if match else {}
    probability = read_weights().probability(compute_features(claim, match), conflicts)
    label, reason = Label.SUPPORTED, None
    if probability < settings.threshold:
        label, reason = Label.NOT_ENOUGH_INFO, _missing_words(claim, match)
        found = find_contradiction(claim, match, index, conflicts) if match else None
        if found and read_weights().contradiction(found) >= CONTRADICTED:
            label, reason = Label.CONTRADICTED, conflicts["figure"]
        elif seen := "; ".join(filter(None, conflicts.values())):
            reason = f"possible conflict: {seen}"
    return Verdict(
        label=label,
        reason=reason,
        confidence=round(probability if label is Label.SUPPORTED else 1 - probability, DECIMALS),
        evidence=(_evidence(match, index),) if match else (),
    )


def _evidence(match: Match, index: ContextIndex) -> Evidence:
    number, start, _ = index.places[match.first]
    end = index.places[match.last].end
    quote = index.passages[number].text[start:end]
    return Evidence(context=number, start=start, end=end, quote=quote, verified=True)


def _missing_words(claim: ClaimText, match: Match | None) -> str:
    found: Set[Term] = match.here if match else frozenset()
    topical = {*claim.content, *range(len(claim.figures))}
    missing = [term for term in claim.terms if term in topical - found]
    missing.sort(key=lambda term: -claim.terms[term])
    if not missing:
        return "the claim's words are in the text, but not in the same order or sense"
    shown = ", ".join(map(claim.shown, missing[:MAX_MISSING_SHOWN]))
    return f"no sentence covers: {shown}"


def grade_contexts(answer: str, contexts: Sequence[str]) -> tuple[Grade, ...]:
    # A context is relevant if by itself it supports a claim of the answer about as well as the best
    # context: words that many contexts share would make all of them relevant. An answer too short
    # to be a claim, such as a name or a year, is looked up as it is.
    if abstains(answer):
        return (Grade(relevant=False, reason="the answer states nothing"),) * len(contexts)
    claims = tuple(claim.text for claim in extract_claims(answer)) or (answer,)
    support = [
        [
            (verdict.confidence or 0.0) if verdict.label is Label.SUPPORTED else 0.0
            for verdict in verify_claims(claims, (context,))
        ]
        for context in contexts
    ]
    best = [max(values) for values in zip(*support, strict=True)]
    grades: list[Grade] = []
    for values in support:
        supported = [number for number, value in enumerate(values) if value]
        near = [number for number in supported if values[number] >= best[number] - NEARLY]
        shown = one_line(claims[(near or supported or [0])[0]], MAX_CLAIM_SHOWN)
        reason = "it supports no claim of the answer"
        if near:
            reason = f"it supports: {shown}"
        elif supported:
            reason = f"another context is closer to: {shown}"
        grades.append(Grade(relevant=bool(near), reason=reason))
    return tuple(grades)


def find_answer(query: str, contexts: Sequence[str]) -> FoundAnswer:
    """Find the context with most of the query's words, and all its figures and names."""
    (claim,) = read_claims([query])
    topical = {*claim.content, *range(len(claim.figures))}
    needed = {*claim.names, *range(len(claim.figures))}
    total = claim.weight_of(topical)
    index = ContextIndex(contexts)
    best, where = 0.0, -1
    for number, passage in enumerate(index.passages):
        found: set[Term] = topical & {*chain.from_iterable(passage.stems)}
        if claim.figures:
            sentences = (passage.figures(start, end) for _, start, end in passage.sentences)
            stated = [*chain.from_iterable(sentences)]
            figures = enumerate(claim.figures)
            found |= {n for n, each in figures if any(map(each.is_covered_by, stated))}
        share = claim.weight_of(found) / total if total else 0.0
        if share > best and needed <= found:
            best, where = share, number
    if best < ANSWERS:
        return FoundAnswer(found=False)
    index = ContextIndex((contexts[where],))
    match = match_claim(claim, index)
    assert match is not None, "a passage with words of the query matches it"
    evidence = _evidence(match, index).model_copy(update={"context": where})
    sure = round(min(best, 1.0), DECIMALS)
    return FoundAnswer(found=True, answer=evidence.quote, evidence=(evidence,), confidence=sure)


def abstains(response: str) -> bool:
    patterns = [words.sentence_pattern(language, "refusals") for language in words.word_lists()]
    sentences = (sentence.text[:MAX_OPENING] for sentence in split_sentences(response))
    plain = [words.fold(text).translate(_COMMAS).strip() for text in sentences]
    refusals = any(pattern.match(text) for text in plain for pattern in patterns if pattern)
    return refusals and not extract_claims(response)


@dataclass(frozen=True, slots=True)
class Weights:
    """What `training/offline_judge` learned: a logistic regression, and factors of conflicts."""

    features: Mapping[str, float]  # in the order of `Features`
    offset: float
    factors: Mapping[str, float]  # kind of conflict -> what multiplies the probability; below 0.5
    evidence: Mapping[str, float]  # of a contradiction, in its order; the constant term is last

    def probability(self, features: Features, conflicts: Iterable[str] = ()) -> float:
        # Sums have one order, so that every machine returns the same bits.
        total = self.offset
        for weight, feature in zip(self.features.values(), features, strict=True):
            total += weight * feature
        found = 1 / (1 + exp(-total))
        for kind in conflicts:
            found *= self.factors[kind]
        return found

    def contradiction(self, found: Contradiction) -> float:
        *weights, total = self.evidence.values()
        for weight, feature in zip(weights, found, strict=True):
            total += weight * feature
        return 1 / (1 + exp(-total))

    @classmethod
    def of(cls, text: str) -> "Weights":
        stored = json.loads(text)
        if tuple(stored["features"]) != Features._fields:
            raise ValueError("the offline judge's weights are for different features: retrain it")
        return cls(**stored)


@cache
def read_weights() -> Weights:
    return Weights.of(_weights())


@cache
def _weights() -> str:
    return files("ragstone.judges.offline").joinpath(WEIGHTS).read_text("utf-8")
