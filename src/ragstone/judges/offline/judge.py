"""OfflineJudge: answers the questions that can be answered by comparing words."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cache
from hashlib import sha256
from math import exp
from typing import Annotated, ClassVar, TypeVar, cast

from pydantic import Field

from ragstone._internal.marks import remove_mentions
from ragstone._internal.sentences import split_sentences
from ragstone._internal.text import one_line
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.offline import matching, words
from ragstone.judges.offline.claims import extract_claims, is_refusal
from ragstone.judges.offline.matching import ClaimText, ContextIndex, Features, Match, is_data
from ragstone.judges.spec import JudgeOptions
from ragstone.types import questions
from ragstone.types.claim import Evidence, FoundAnswer, Grade, Label, Verdict
from ragstone.types.reply import Reply

T = TypeVar("T")

WEIGHTS = "weights.json"
MAX_MISSING_SHOWN = 5
DECIMALS = 4
NEARLY = 0.1  # a relevant context's support is at most this much below that of the best context
ANSWERS = 0.6  # the share of a query's weight that an answering context has; it is the confidence
MAX_CLAIM_SHOWN = 120


class OfflineSettings(JudgeOptions):
    """The options in the offline judge's name, such as `offline,threshold=0.6`."""

    judge: ClassVar[str] = "the offline judge"
    threshold: Annotated[float, Field(gt=0, lt=1)] = 0.5  # probability from which it is supported


DEFAULTS = OfflineSettings()


class OfflineJudge(Judge):
    """Compares words. It needs no model, key or network, and always gives the same answer."""

    name = "offline"
    settings = DEFAULTS
    kinds = frozenset(
        "extract_claims verify_claims grade_contexts detect_abstention find_answer".split()
    )

    def __init__(self, settings: OfflineSettings = DEFAULTS) -> None:
        self.settings = settings
        self.name = settings.judge_name(type(self).name)
        accuracy = read_weights()["balanced_accuracy"]
        self.description = (
            f"compares words, balanced accuracy {accuracy:.0%}; about as good as word overlap; "
            "find rows to look at with it, do not gate releases on it"
        )

    def setup(self, kind: str) -> str | None:
        del kind
        return f"{self.name} {sha256(words.read_file(WEIGHTS).encode()).hexdigest()[:12]}"

    async def answer(self, question: questions.Question[T]) -> Reply[T]:
        value, asked = None, cast("object", question)
        match asked:
            case questions.ExtractClaims():
                value = extract_claims(asked.response)
            case questions.DetectAbstention():
                value = abstains(asked.response)
            case questions.VerifyClaims():
                _refuse_data(asked.contexts)
                value = verify_claims(asked.claims, asked.contexts, self.settings)
            case questions.GradeContexts():
                value = grade_contexts(asked.answer, asked.contexts)
            case questions.FindAnswer():
                value = find_answer(asked.query, asked.contexts)
            case _:
                raise QuestionNotSupportedError(
                    f"the judge {self.name} compares words, which cannot answer {question.kind}: "
                    "name another judge"
                )
        return question.reply(value)


def _refuse_data(contexts: Sequence[str]) -> None:
    data = sum(map(is_data, contexts))
    if 2 * data > len(contexts):
        seen = f"{data} of {len(contexts)} contexts" if len(contexts) > 1 else "the context"
        raise JudgeError(
            Cause.REJECTED,
            f"not judged offline: JSON or a table is in {seen}, and comparing words there is "
            "little better than guessing; name a local or LLM judge with --judge",
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
        yield matching.read_claim(claim, language)


def _verdict(claim: ClaimText, index: ContextIndex, settings: OfflineSettings) -> Verdict:
    if not index.places:
        return Verdict(label=Label.NOT_ENOUGH_INFO, reason="there is no text", confidence=1.0)
    if not (claim.content or claim.figures):
        reason = "the claim has no content words"
        return Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason, confidence=0.5)
    match = matching.match_claim(claim, index)
    conflicts: Mapping[str, str] = matching.find_conflicts(claim, match, index) if match else {}
    likely = probability(matching.compute_features(claim, match), conflicts)
    evidence = (_evidence(match, index),) if match else ()
    if likely >= settings.threshold:
        sure = round(likely, DECIMALS)
        return Verdict(label=Label.SUPPORTED, confidence=sure, evidence=evidence)
    seen = "; ".join(filter(None, conflicts.values()))
    return Verdict(
        label=Label.NOT_ENOUGH_INFO,
        reason=f"possible conflict: {seen}" if seen else _missing_words(claim, match),
        confidence=round(1 - likely, DECIMALS),
        evidence=evidence,
    )


def _evidence(match: Match, index: ContextIndex) -> Evidence:
    (number, first), (_, last) = (index.places[match.window[at]] for at in (0, -1))
    start, end = first.start, last.end
    quote = index.contexts[number][start:end]
    return Evidence(context=number, start=start, end=end, quote=quote, verified=True)


def _missing_words(claim: ClaimText, match: Match | None) -> str:
    topical = {*claim.content, *range(len(claim.figures))} - (match.here if match else set())
    missing = [term for term in claim.terms if term in topical]
    missing.sort(key=lambda term: -claim.terms[term])
    if not missing:
        return "the claim's words are in the text, but not in the same order or sense"
    return f"no sentence covers: {', '.join(map(claim.shown, missing[:MAX_MISSING_SHOWN]))}"


def grade_contexts(answer: str, contexts: Sequence[str]) -> tuple[Grade, ...]:
    # A context is relevant if it supports a claim about as well as the best one: words that many
    # share would make all of them relevant. An answer too short to be a claim is one here.
    if abstains(answer):
        return (Grade(relevant=False, reason="the answer states nothing"),) * len(contexts)
    claims = tuple(claim.text for claim in extract_claims(answer)) or (answer,)
    verdicts = [verify_claims(claims, (context,)) for context in contexts]
    support = [
        [each.confidence or 0.0 if each.label is Label.SUPPORTED else 0.0 for each in those]
        for those in verdicts
    ]
    best = [max(values) for values in zip(*support, strict=True)]
    grades: list[Grade] = []
    for values in support:
        near = [n for n, value in enumerate(values) if value and value >= best[n] - NEARLY]
        shown = one_line(claims[(near or [0])[0]], MAX_CLAIM_SHOWN)
        other = "another context is closer" if any(values) else "it supports no claim of the answer"
        reason = f"it supports: {shown}" if near else other
        grades.append(Grade(relevant=bool(near), reason=reason))
    return tuple(grades)


def find_answer(query: str, contexts: Sequence[str]) -> FoundAnswer:
    """Find the context with most of the query's words, and all its figures and names."""
    (claim,) = read_claims([query])
    topical: Set[matching.Term] = {*claim.content, *range(len(claim.figures))}
    needed = {*claim.names, *range(len(claim.figures))}
    total = claim.weight_of(topical)
    best, answer = 0.0, FoundAnswer(found=False)
    for number, context in enumerate(contexts):
        index = ContextIndex((context,))
        match = matching.match_claim(claim, index)
        share = claim.weight_of(match.anywhere & topical) / total if match and total else 0.0
        if match and share > max(best, ANSWERS - 1e-9) and needed <= match.anywhere:
            best, sure = share, round(min(share, 1.0), DECIMALS)
            evidence = _evidence(match, index).model_copy(update={"context": number})
            answer = FoundAnswer(
                found=True, answer=evidence.quote, evidence=(evidence,), confidence=sure
            )
    return answer


def abstains(response: str) -> bool:
    return any(map(is_refusal, split_sentences(response))) and not extract_claims(response)


def probability(features: Features, conflicts: Iterable[str]) -> float:
    """Return the logistic function of the features, times the factors of the conflicts."""
    weights = read_weights()
    total = weights["offset"]
    for name, feature in zip(Features._fields, features, strict=True):
        total += weights[name] * feature  # in one order, so that every machine has the same bits
    found = 1 / (1 + exp(-total))
    for kind in conflicts:
        found *= weights[kind]
    return found


@cache
def read_weights() -> Mapping[str, float]:
    """Return what `training/offline_judge` learned, and the accuracy that it measured."""
    return json.loads(words.read_file(WEIGHTS))
