"""EntailmentJudge: a model on this machine that tells whether contexts back a claim."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ragstone._internal.concurrency import in_thread
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError, UsageError
from ragstone.judges.base import Judge
from ragstone.judges.local.chunks import Pair, Pairs, Window, halves_of, stretches_of, windows_of
from ragstone.judges.local.files import ModelFiles
from ragstone.judges.local.heads import Head
from ragstone.judges.local.model import LocalModel, Reading
from ragstone.judges.local.settings import ASK, LENGTH, LocalSettings
from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.similarity import compare_texts
from ragstone.types.claim import Evidence, Label, Verdict
from ragstone.types.questions import ExtractClaims, Question, VerifyClaims
from ragstone.types.reply import NOTHING_SPENT, Reply, Usage

# Verdicts of a local model: what its readings of the windows come to for one claim.

CONTRADICTED = 0.5
"""The chance above which a window contradicts: more than all else together."""
DIGITS = 4
"""Digits of a confidence: how pairs are batched moves the ones behind them."""
FLAGS_SHOWN = 5

NO_CONTEXT = Verdict(label=Label.NOT_ENOUGH_INFO, reason="there is no context", confidence=1.0)


def verdict_of(
    claim: str,
    windows: Sequence[Window],
    readings: Sequence[Reading],
    *,
    contexts: Sequence[str],
    threshold: float,
) -> Verdict:
    """Return the verdict on a claim: supported in one window is supported.

    Else it is contradicted where a window says so with a chance above 0.5; else NOT_ENOUGH_INFO.
    """
    best = max(range(len(windows)), key=lambda n: readings[n].supported)
    worst = max(range(len(windows)), key=lambda n: readings[n].contradicted)
    yes, no = readings[best].supported, readings[worst].contradicted
    several = f" (the most of {len(windows)} windows)" if len(windows) > 1 else ""
    if yes >= threshold:
        label, sure, window, reason = Label.SUPPORTED, yes, best, None
    elif no > CONTRADICTED:
        label, sure, window = Label.CONTRADICTED, no, worst
        reason = f"P(contradicted) is {no:.2f}{several}"
    else:
        label, sure, window = Label.NOT_ENOUGH_INFO, 1 - max(yes, no), best
        reason = f"P(supported) is {yes:.2f}{several}, less than {threshold:g}"
    if reason and (flags := _flags(claim, readings[window])):
        reason = f"not backed: {flags}; {reason}"
    return Verdict(
        label=label,
        reason=reason,
        confidence=round(min(1.0, max(0.0, sure)), DIGITS),
        evidence=(_evidence(claim, windows[window], contexts),),
    )


def _flags(claim: str, reading: Reading) -> str:
    """Return the flagged words of a claim, quoted."""
    texts = [claim[start:end].strip() for start, end in reading.flagged]
    shown = [f"“{text}”" for text in texts if text]
    more = [f"{len(shown) - FLAGS_SHOWN} more"] if len(shown) > FLAGS_SHOWN else []
    return ", ".join([*shown[:FLAGS_SHOWN], *more])


def _evidence(claim: str, window: Window, contexts: Sequence[str]) -> Evidence:
    """Return the window's sentence that is most like the claim, by its characters.

    The model judges the window as a whole: it does not say by which sentence.
    """
    texts = [contexts[each.context][each.start : each.end] for each in window.stretches]
    likeness = compare_texts(claim, texts) if len(texts) > 1 else (1.0,)
    nearest = max(range(len(texts)), key=lambda n: likeness[n])
    place = window.stretches[nearest]
    return Evidence(
        context=place.context,
        start=place.start,
        end=place.end,
        quote=texts[nearest],
        verified=True,
    )


T = TypeVar("T")

READING = 2
"""Of how windows are made and outputs read: another number is another judge to the reply cache."""
BATCH = 16
"""Pairs in one run, where nothing else is said."""
MARGIN = 4
"""Tokens left free in a pair: texts joined take a few more or less than each by itself."""
STEP = 16
"""Claims whose lengths differ by less share their windows."""
KINDS = frozenset(kind.kind for kind in (ExtractClaims, VerifyClaims))


@dataclass(frozen=True)
class _Asked:
    """One claim, the windows it is held against, and a pair of each."""

    claim: str
    windows: Sequence[Window]
    pairs: Sequence[Pair]


class EntailmentJudge(Judge):
    """Verifies claims with an ONNX model: NLI, a cross-encoder or a token classifier.

    The claims of a response are its sentences. A claim is held against each window of the
    contexts: supported in one is supported, else contradicted in one is contradicted. The
    confidence is the model's own chance, which nobody has calibrated on your texts. What is asked
    at the same time goes through the model together; nothing leaves this machine.
    """

    kinds = KINDS

    def __init__(
        self, name: str, settings: LocalSettings | None = None, *, offline: bool = False
    ) -> None:
        """Find the model's files; it is loaded within `async with`.

        `name` is a folder, or `hf:owner/name` of the Hugging Face hub.

        Raises:
            UsageError: a file or the extra is missing, or what the outputs mean is not known.
        """
        settings = settings or LocalSettings()
        self._files = files = ModelFiles.find(name, file=settings.file, offline=offline)
        batch = settings.batch or (1 if files.scales_as_it_runs else BATCH)
        self._settings = settings = settings.model_copy(update={"batch": batch})
        self._length = _length(files, settings, name)
        template = _template(files, settings, name)
        head = Head.of(
            files.config if files.has_config else None,
            settings.labels,
            settings.head,
            name,
            chances_out=settings.chances,
        )
        self._pairs = Pairs(files.tokenizer, template, name)
        self._model = LocalModel(name, files, self._pairs, head, settings, length=self._length)
        self._shaped = [
            settings.threshold,
            settings.head,
            head.labels,
            template,
            self._length,
            READING,
        ]
        self._shaped += [settings.join, settings.output, settings.chances]
        self._shaped += [batch] if files.scales_as_it_runs else []
        self.name = settings.judge_name(name)
        self.description = (
            "a model on this machine that tells whether the contexts back a claim; claims by "
            "sentence; its confidence is the model's own chance, not calibrated on these texts"
        )
        self._parts = (self._model,)

    def identity(self, kind: str) -> str | None:
        """Name the model by its files' contents, and all that shapes what is read of it."""
        if kind != VerifyClaims.kind:
            return None
        return json.dumps(["local", self._files.fingerprint, *self._shaped])

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Answer one question.

        Raises:
            JudgeError: a claim takes more than half of what the model takes, or it cannot be run.
            QuestionNotSupportedError: such a model does not answer that kind of question.
        """
        value, usage = await self._answered(question)
        return question.reply(value, usage)

    async def _answered(self, question: object) -> tuple[object, Usage]:
        if isinstance(question, ExtractClaims):
            return extract_claims(question.response), NOTHING_SPENT
        if not isinstance(question, VerifyClaims):
            raise QuestionNotSupportedError(
                f"the judge {self.name} tells whether contexts back a claim, and answers nothing "
                "else: name another judge with --model or --judge"
            )
        asked = await in_thread(lambda: self._prepared(question.claims, question.contexts))
        pairs = [pair for each in asked for pair in each.pairs]
        readings = iter(await self._model.read(pairs))
        verdicts: list[Verdict] = []
        for each in asked:
            own = [next(readings) for _ in each.pairs]
            verdicts.append(self._verdict(each, question.contexts, own) if own else NO_CONTEXT)
        tokens = sum(len(pair.ids) for pair in pairs)
        return tuple(verdicts), Usage(local_calls=int(bool(pairs)), local_tokens=tokens)

    def _verdict(self, asked: _Asked, contexts: Sequence[str], own: Sequence[Reading]) -> Verdict:
        threshold = self._settings.threshold
        return verdict_of(asked.claim, asked.windows, own, contexts=contexts, threshold=threshold)

    def _prepared(self, claims: Sequence[str], contexts: Sequence[str]) -> list[_Asked]:
        """Cut the contexts to windows for each claim, and encode all pairs."""
        made: dict[int, list[Window]] = {}
        asked: list[_Asked] = []
        for claim in claims:
            room = self._room(claim)
            if room not in made:
                stretches = stretches_of(contexts, self._pairs.starts, room)
                made[room] = windows_of(contexts, stretches, room, join=self._settings.join)
            fitting = [both for w in made[room] for both in self._fitting(w, claim, contexts)]
            windows, pairs = [w for w, _ in fitting], [pair for _, pair in fitting]
            asked.append(_Asked(claim, windows, pairs))
        return asked

    def _fitting(
        self, window: Window, claim: str, contexts: Sequence[str]
    ) -> Iterator[tuple[Window, Pair]]:
        """Encode a pair; a window that takes more tokens than foreseen becomes two."""
        pair = self._pairs.pair(window.text, claim)
        if len(pair.ids) <= self._length:
            yield window, pair
            return
        halves = halves_of(contexts, window, self._pairs.starts)
        if not halves:
            raise self._too_long(claim, len(pair.ids))
        for half in halves:
            yield from self._fitting(half, claim, contexts)

    def _room(self, claim: str) -> int:
        """Return the tokens that a window may take beside a claim."""
        taken = len(self._pairs.pair("", claim).ids) + MARGIN
        if 2 * taken > self._length:
            raise self._too_long(claim, taken)
        return self._length - min(-(-taken // STEP) * STEP, self._length // 2)

    def _too_long(self, claim: str, taken: int) -> JudgeError:
        return JudgeError(
            Cause.TRUNCATED,
            f"the claim {claim!r:.80} takes {taken} tokens, more than half of the "
            f"{self._length} that the model gets; length= gives it more, if it takes more",
            tries=0,
        )


def _length(files: ModelFiles, settings: LocalSettings, name: str) -> int:
    longest, wanted = files.longest, settings.length
    if wanted and longest and wanted > longest:
        raise UsageError(f"local:{name}: the model takes {longest} tokens, and length={wanted}")
    return wanted or min(longest or LENGTH, LENGTH)


def _template(files: ModelFiles, settings: LocalSettings, name: str) -> str | None:
    path = files.folder / (settings.template or ASK)
    if path.is_file():
        return path.read_text(encoding="utf-8").rstrip("\n")
    if settings.template is None:
        return None
    raise UsageError(f"local:{name}: there is no file {path} for template=")
