"""Judges of the similarity of texts: by embeddings, or offline by their characters."""

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import plain
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.model import Embedder, Price, Vectors, paid_call, priced
from ragstone.types.questions import BY_SPELLING, Question, TextSimilarity
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

T = TypeVar("T")


class EmbeddingJudge(Judge):
    """Embeds all texts of a question in one call, and answers with their cosines."""

    kinds = frozenset({TextSimilarity.kind})

    def __init__(
        self, embedder: Embedder, *, price: Price | None = None, budget: Budget | None = None
    ) -> None:
        self.name = embedder.name
        at = f" at {embedder.url}" if embedder.url else ""
        self.description = f"cosines of embeddings{at}"
        self._embedder = embedder
        self._price = price
        self._budget = budget or Budget()
        self._identity = json.dumps([embedder.identity, "embeddings"])
        self._parts = (embedder,)

    def identity(self, kind: str) -> str | None:
        return self._identity if self.takes(kind) else None

    async def answer(self, question: Question[T]) -> Reply[T]:
        if not isinstance(question, TextSimilarity):
            raise QuestionNotSupportedError(
                f"{self.name} is an embedding model: it only compares texts"
            )
        texts = list(dict.fromkeys((question.text, *question.others)))
        if not all(map(str.strip, texts)):
            message = f"{question.kind}: one of the texts is blank, so it has no embedding"
            raise JudgeError(Cause.MALFORMED, message, tries=0)
        if len(texts) == 1:
            return cast("Reply[T]", question.reply((1.0,) * len(question.others)))
        with paid_call(self._budget, self._price, texts) as call:
            vectors, usage = await self._embedder.embed(texts)
            usage = priced(usage, self._price, texts)
            call.charge(usage.cost_usd)
        try:
            cosines = dict(zip(texts, _cosines(vectors), strict=True))
        except JudgeError as error:
            raise JudgeFailureError(replace(Failure.of(error), usage=usage)) from None
        reply = question.reply(tuple(cosines[other] for other in question.others), usage)
        return cast("Reply[T]", reply)


class DryRunEmbedder(Embedder):
    """An embedder that is never called: it returns any vectors, and estimates the usage."""

    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        usage = Usage(calls=1, prompt_tokens=sum(map(estimated_tokens, texts)))
        return ((1.0,),) * len(texts), usage


def _cosines(vectors: Vectors) -> list[float]:
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) > 1:
        message = f"embeddings of {' and '.join(map(str, lengths))} numbers cannot be compared"
        raise JudgeError(Cause.MALFORMED, message)
    rows: NDArray[np.float64] = np.array(vectors, dtype=np.float64)
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    if not peaks.all():
        raise JudgeError(Cause.MALFORMED, "an embedding is all zeros, so it has no direction")
    rows = rows / peaks  # squares of large or small numbers would overflow or vanish
    rows = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return [1.0, *(rows[1:] * rows[0]).sum(axis=1).clip(-1.0, 1.0).tolist()]


_BETWEEN = re.compile(  # white space and punctuation, after NFKC has narrowed full-width characters
    r"[\s!-/:-@\[-`{-~\u00a1-\u00bf\u0589\u05be\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2010-\u205e\u3001-\u3020]+"
)
_MAX_GRAM = 5
_WIDE = 0x2E80  # the first character of scripts with words of one or two: Chinese, Japanese, Korean
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class SimilarityJudge(Judge):
    name = "offline"
    description = "hashed character n-grams, not meaning"
    kinds = frozenset({TextSimilarity.kind})

    async def answer(self, question: Question[T]) -> Reply[T]:
        if not isinstance(question, TextSimilarity):
            raise QuestionNotSupportedError("character n-grams only answer text_similarity")
        reply = question.reply(compare_texts(question.text, question.others))
        return cast("Reply[T]", replace(reply, notes=(BY_SPELLING,)))


def compare_texts(text: str, others: Sequence[str]) -> tuple[float, ...]:
    """Return the similarity of the text to each of the others: the cosine of their n-grams."""
    grams = _grams(text)
    return tuple(
        len(grams & other) / (math.sqrt(len(grams) * len(other)) or 1.0)
        for other in map(_grams, others)
    )


def _grams(text: str) -> frozenset[int]:
    # Hashes of 3 to 5 characters of the words, with one space between words and at both ends, and
    # of 1 to 3 in Chinese, Japanese and Korean. Case, width and punctuation do not matter.
    words = _BETWEEN.sub(" ", plain(text)).split() or plain(text).split()
    if not words:
        return frozenset()
    spaced = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(spaced, "<u4").astype(np.uint64)
    pairs = characters[:-1] * _FACTOR + characters[1:]
    wide = characters >= _WIDE
    found = [characters[wide], pairs[wide[:-1] & wide[1:]]]
    hashes, any_wide = pairs, wide[:-1] | wide[1:]
    for size in range(3, _MAX_GRAM + 1):
        hashes = hashes[:-1] * _FACTOR + characters[size - 1 :]
        any_wide = any_wide[:-1] | wide[size - 1 :]
        found.append(hashes if size == 3 else hashes[~any_wide])
    return frozenset(np.concatenate(found).tolist())
