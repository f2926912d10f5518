"""EmbeddingJudge: tells how alike texts are, by the vectors that a model makes of them."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.rate_limit import Budget
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.providers.base import Embedder, Vectors
from ragstone.judges.llm.providers.pricing import Price
from ragstone.types.questions import Question, TextSimilarity
from ragstone.types.reply import NOTHING_SPENT, Failure, JudgeFailureError, Reply, Usage

T = TypeVar("T")


class EmbeddingJudge(Judge):
    """Has all texts of a question embedded in one call, and answers with their cosines.

    The vectors are not kept: replies are cached and recorded as cosines.
    """

    kinds = frozenset({TextSimilarity.kind})

    def __init__(
        self, embedder: Embedder, *, price: Price | None = None, budget: Budget | None = None
    ) -> None:
        self.name = embedder.name
        place = f" at {embedder.place}" if embedder.place else ""
        self.description = f"cosines of embeddings{place}"
        self._embedder = embedder
        self._price = price
        self._budget = budget or Budget()
        self._identity = json.dumps([embedder.identity, "embeddings"])
        self._parts = (embedder,)

    def identity(self, kind: str) -> str | None:
        """Name the model, where it is, and its options."""
        return self._identity if self.takes(kind) else None

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Compare texts; nobody is asked where there is nothing to tell apart.

        Raises:
            CallError: the model did not answer.
            JudgeError: its answer holds no vectors that can be compared, or a text is blank.
            QuestionNotSupportedError: the question is another one.
            UsageError: the key was rejected, or the model does not exist.
        """
        value, usage = await self._compared(question)
        return question.reply(value, usage)

    async def _compared(self, question: object) -> tuple[tuple[float, ...], Usage]:
        if not isinstance(question, TextSimilarity):
            raise QuestionNotSupportedError(f"{self.name} makes embeddings: it only compares texts")
        texts = list(dict.fromkeys((question.text, *question.others)))
        if not all(map(str.strip, texts)):
            said = f"{question.kind}: one of the texts is blank, and has no embedding"
            raise JudgeError(Cause.MALFORMED, said, tries=0)
        if len(texts) == 1:
            return (1.0,) * len(question.others), NOTHING_SPENT
        vectors, told = await self._embedder.embed(texts)
        usage = self._priced(told, texts)
        self._budget.charge(usage.cost_usd)
        try:
            cosines = dict(zip(texts, _cosines(vectors), strict=True))
        except JudgeError as error:
            raise JudgeFailureError(replace(Failure.of(error), usage=usage)) from None
        return tuple(cosines[other] for other in question.others), usage

    def _priced(self, usage: Usage, texts: Sequence[str]) -> Usage:
        """Return the usage with its cost, by an estimate of the tokens where none are told."""
        if self._price is None:
            return replace(usage, cost_usd=None)
        tokens = usage.prompt_tokens or _tokens(texts)
        return replace(usage, cost_usd=self._price.cost(replace(usage, prompt_tokens=tokens)))


class DryRunEmbedder(Embedder):
    """Stands for a model that is never asked: makes any vectors, and tells what they may cost."""

    def __init__(self, name: str) -> None:
        self.name = self.identity = name

    async def embed(self, texts: Sequence[str]) -> tuple[Vectors, Usage]:
        """Return vectors that are all alike."""
        return ((1.0,),) * len(texts), Usage(calls=1, prompt_tokens=_tokens(texts))


def _tokens(texts: Sequence[str]) -> int:
    return sum(map(estimated_tokens, texts))


def _cosines(vectors: Vectors) -> list[float]:
    """Return the cosines of the first vector with each, 1 with itself."""
    lengths = sorted({len(vector) for vector in vectors})
    if len(lengths) > 1:
        said = f"embeddings of {' and '.join(map(str, lengths))} numbers cannot be compared"
        raise JudgeError(Cause.MALFORMED, said)
    rows: NDArray[np.float64] = np.array(vectors, dtype=np.float64)
    peaks = np.abs(rows).max(axis=1, keepdims=True)
    if not peaks.all():
        raise JudgeError(Cause.MALFORMED, "an embedding is all zeros: it has no direction")
    rows = rows / peaks  # squares of large or small numbers would overflow or vanish
    rows = rows / np.sqrt((rows * rows).sum(axis=1, keepdims=True))
    return [1.0, *(rows[1:] * rows[0]).sum(axis=1).clip(-1.0, 1.0).tolist()]
