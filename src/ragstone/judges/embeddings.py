"""EmbeddingJudge: the similarity of texts, as cosines of their embeddings."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.rate_limit import Budget
from ragstone.errors import Cause, JudgeError, QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.judges.batching import estimated_tokens
from ragstone.judges.llm.providers.base import Embedder, Vectors
from ragstone.judges.llm.providers.pricing import Price
from ragstone.types.questions import Question, TextSimilarity
from ragstone.types.reply import Failure, JudgeFailureError, Reply, Usage

T = TypeVar("T")


class EmbeddingJudge(Judge):
    """Embeds all texts of a question in one call, and answers with their cosines.

    The vectors are not stored: replies are cached and recorded as cosines.
    """

    kinds = frozenset({TextSimilarity.kind})

    def __init__(
        self, embedder: Embedder, *, price: Price | None = None, budget: Budget | None = None
    ) -> None:
        self.name = embedder.name
        place = f" at {embedder.url}" if embedder.url else ""
        self.description = f"cosines of embeddings{place}"
        self._embedder = embedder
        self._price = price
        self._budget = budget or Budget()
        self._identity = json.dumps([embedder.identity, "embeddings"])
        self._parts = (embedder,)

    def identity(self, kind: str) -> str | None:
        """Return the model, its URL and its options."""
        return self._identity if self.takes(kind) else None

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Compare texts; if all are equal, no call is made."""
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
        vectors, usage = await self._embedder.embed(texts)
        cost = None
        if self._price is not None:  # of an estimate, if the server reports no tokens
            tokens = usage.prompt_tokens or sum(map(estimated_tokens, texts))
            cost = self._price.cost(replace(usage, prompt_tokens=tokens))
        usage = replace(usage, cost_usd=cost)
        self._budget.charge(cost)
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
        """Return equal vectors."""
        usage = Usage(calls=1, prompt_tokens=sum(map(estimated_tokens, texts)))
        return ((1.0,),) * len(texts), usage


def _cosines(vectors: Vectors) -> list[float]:
    """Return the cosines of the first vector with each, 1 with itself."""
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
