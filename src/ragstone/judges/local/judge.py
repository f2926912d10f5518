"""EntailmentJudge: a model on this machine that checks whether contexts support a claim."""

import json
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple, TypeVar, cast

from ragstone._internal.concurrency import in_thread
from ragstone._internal.sentences import split_sentences
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.embeddings import compare_texts
from ragstone.judges.local.model import LocalModel, LocalSettings, Pair, PairScore
from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.spec import LOCAL
from ragstone.types.claim import Evidence, Label, Verdict
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import Reply, Usage

T = TypeVar("T")

MARGIN = 4  # tokens left free in a pair: joined texts take a few more or less than each by itself
STEP = 16  # claims whose lengths differ by less share their windows
CONTRADICTED = 0.5  # the probability above which a window contradicts a claim
DECIMALS = 4
MAX_FLAGS = 5
KINDS = frozenset(kind.kind for kind in (ExtractClaims, VerifyClaims))
OVERLAP = 4  # a window repeats the sentence before it if that takes at most a 4th of the room


class Span(NamedTuple):
    """A sentence of a context, or a part of one; `tokens` includes those before the next one."""

    context: int
    start: int
    end: int
    tokens: int


def by_context(spans: Iterable[Span]) -> list[list[Span]]:
    return [list(own) for _, own in groupby(spans, key=lambda each: each.context)]


class Window(NamedTuple):
    spans: tuple[Span, ...]
    text: str

    @classmethod
    def of(cls, contexts: Sequence[str], *spans: Span) -> "Window":
        """Join what lies between the first and the last span of each context, as lines."""
        ends = ((own[0], own[-1]) for own in by_context(spans))
        lines = (contexts[first.context][first.start : last.end] for first, last in ends)
        return cls(spans, "\n".join(lines))


def split_spans(
    contexts: Sequence[str], starts: Callable[[str], Sequence[int]], room: int
) -> list[Span]:
    """Cut contexts between sentences, and longer ones at the token `starts`, into `room` tokens."""
    found: list[Span] = []
    for number, context in enumerate(contexts):
        begins = starts(context)
        sentences = split_sentences(context)
        following = [*(each.start for each in sentences), len(context)][1:]
        for sentence, after in zip(sentences, following, strict=True):
            first, last = (bisect_left(begins, at) for at in (sentence.start, sentence.end))
            cuts = [sentence.start, *begins[first + room : last : room], sentence.end]
            tokens = bisect_left(begins, after) - first
            found += [
                Span(number, start, end, max(1, min(room, tokens - n * room)))
                for n, (start, end) in enumerate(pairwise(cuts))
            ]
    return found


def make_windows(
    contexts: Sequence[str], spans: Sequence[Span], room: int, *, join: bool
) -> list[Window]:
    """Join spans of one context, or with `join` of several, to windows with some overlap."""
    groups = [spans] if join else by_context(spans)
    return [Window.of(contexts, *part) for group in groups for part in _parts(group, room)]


def split_window(
    contexts: Sequence[str], window: Window, starts: Callable[[str], Sequence[int]]
) -> list[Window]:
    """Cut a window before its last span, or a single span in its middle; empty if impossible."""
    *before, last = window.spans
    if before:
        room = sum(each.tokens for each in window.spans)
        again = len(before) > 1 and _is_repeated(before[-1], last, room)
        after = [before[-1], last] if again else [last]
        return [Window.of(contexts, *before), Window.of(contexts, *after)]
    begins = starts(window.text)
    middle = last.start + (begins[len(begins) // 2] if begins else 0)
    if not last.start < middle < last.end:
        return []
    tokens = -(-last.tokens // 2)
    halves = (last._replace(end=middle, tokens=tokens), last._replace(start=middle, tokens=tokens))
    return [Window.of(contexts, half) for half in halves]


def _parts(spans: Sequence[Span], room: int) -> Iterator[Sequence[Span]]:
    part: list[Span] = []
    taken = 0
    for span in spans:
        line = int(bool(part) and part[-1].context != span.context)  # a new line between contexts
        if part and taken + line + span.tokens > room:
            yield part
            part = [part[-1]] if _is_repeated(part[-1], span, room) else []
            taken, line = sum(each.tokens for each in part), 0  # what is repeated has its context
        taken += line + span.tokens
        part = [*part, span]
    if part:
        yield part


def _is_repeated(last: Span, span: Span, room: int) -> bool:
    is_short = last.tokens <= room // OVERLAP and last.tokens + span.tokens <= room
    return is_short and last.context == span.context


class EntailmentJudge(Judge):
    """Verifies claims with an ONNX model: NLI, a cross-encoder or a token classifier."""

    kinds = KINDS

    def __init__(
        self, name: str, settings: LocalSettings | None = None, *, download: bool = True
    ) -> None:
        """Find a folder, or `hf:owner/name` of the Hugging Face hub; `async with` loads it."""
        self._settings = settings or LocalSettings()
        self._model = LocalModel(name, self._settings, download=download)
        self.name = self._settings.judge_name(f"{LOCAL}:{name}")
        self.description = (
            "a model on this machine that checks whether the contexts support a claim; claims are "
            "sentences; confidence is the model's probability, not calibrated on these texts"
        )
        self._parts = (self._model,)

    def identity(self, kind: str) -> str | None:
        if kind != VerifyClaims.kind:
            return None
        return json.dumps(["local", *self._model.identity])

    async def answer(self, question: Question[T]) -> Reply[T]:
        if isinstance(question, ExtractClaims):
            return cast("Reply[T]", question.reply(extract_claims(question.response)))
        if not isinstance(question, VerifyClaims):
            raise QuestionNotSupportedError(
                f"the judge {self.name} only checks whether contexts support a claim: name another "
                "judge"
            )
        contexts = question.contexts
        prepared = await in_thread(lambda: self._prepared(question.claims, contexts))
        pairs = [pair for fitting in prepared for _, pair in fitting]
        scores = iter(await self._model.score(pairs))
        verdicts = (
            self._verdict(claim, contexts, [(w, next(scores)) for w, _ in fitting])
            for claim, fitting in zip(question.claims, prepared, strict=True)
        )
        tokens = sum(len(pair.ids) for pair in pairs)
        usage = Usage(local_calls=int(bool(pairs)), local_tokens=tokens)
        return cast("Reply[T]", question.reply(tuple(verdicts), usage))

    def _prepared(
        self, claims: Sequence[str], contexts: Sequence[str]
    ) -> list[list[tuple[Window, Pair]]]:
        windows: dict[int, list[Window]] = {}
        prepared: list[list[tuple[Window, Pair]]] = []
        for claim in claims:
            taken = len(self._model.pair("", claim).ids) + MARGIN
            if 2 * taken > self._model.length:
                raise self._too_long(claim, taken)
            room = self._model.length - min(-(-taken // STEP) * STEP, self._model.length // 2)
            if room not in windows:
                spans = split_spans(contexts, self._model.starts, room)
                windows[room] = make_windows(contexts, spans, room, join=self._settings.join)
            prepared.append(
                [both for w in windows[room] for both in self._encode(w, claim, contexts)]
            )
        return prepared

    def _encode(
        self, window: Window, claim: str, contexts: Sequence[str]
    ) -> Iterator[tuple[Window, Pair]]:
        pair = self._model.pair(window.text, claim)
        if len(pair.ids) <= self._model.length:
            yield window, pair
            return
        halves = split_window(contexts, window, self._model.starts)
        if not halves:
            raise self._too_long(claim, len(pair.ids))
        for half in halves:
            yield from self._encode(half, claim, contexts)

    def _too_long(self, claim: str, taken: int) -> JudgeError:
        return JudgeError(
            Cause.TRUNCATED,
            f"the claim {claim!r:.80} takes {taken} tokens, more than half of the "
            f"{self._model.length} of a pair; increase length= if the model takes more",
            tries=0,
        )

    def _verdict(
        self, claim: str, contexts: Sequence[str], scored: Sequence[tuple[Window, PairScore]]
    ) -> Verdict:
        threshold = self._settings.threshold
        if not scored:
            reason = "there is no text"
            return Verdict(label=Label.NOT_ENOUGH_INFO, reason=reason, confidence=1.0)
        # one window that supports the claim is enough; otherwise one that contradicts it is
        best = max(scored, key=lambda both: both[1].supported)
        worst = max(scored, key=lambda both: both[1].contradicted)
        yes, no = best[1].supported, worst[1].contradicted
        several = f" (the highest of {len(scored)} windows)" if len(scored) > 1 else ""
        if yes >= threshold:
            label, confidence, (window, score), reason = Label.SUPPORTED, yes, best, None
        elif no > CONTRADICTED:
            label, confidence, (window, score) = Label.CONTRADICTED, no, worst
            reason = f"P(contradicted) is {no:.2f}{several}"
        else:
            label, confidence, (window, score) = Label.NOT_ENOUGH_INFO, 1 - max(yes, no), best
            reason = f"P(supported) is {yes:.2f}{several}, below {threshold:g}"
        flagged = [claim[start:end].strip() for start, end in score.flagged]
        shown = [f"“{text}”" for text in flagged if text]
        if reason and shown:
            shown[MAX_FLAGS:] = [f"{n} more"] if (n := len(shown) - MAX_FLAGS) > 0 else []
            reason = f"unsupported: {', '.join(shown)}; {reason}"
        # the model judges the window as a whole: the most similar sentence is the evidence
        texts = [contexts[number][start:end] for number, start, end, _ in window.spans]
        values = compare_texts(claim, texts) if len(texts) > 1 else (1.0,)
        nearest = values.index(max(values))
        number, start, end, _ = window.spans[nearest]
        evidence = Evidence(
            context=number, start=start, end=end, quote=texts[nearest], verified=True
        )
        return Verdict(
            label=label,
            reason=reason,
            confidence=round(min(1.0, max(0.0, confidence)), DECIMALS),
            evidence=(evidence,),
        )
