"""Tracing: hooks that wrap the parts of an evaluation."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ragstone.judges.base import Judge
from ragstone.judges.llm.providers.base import Embedder, Model
from ragstone.types.config import Manifest
from ragstone.types.row import Row

RowScorer: TypeAlias = Callable[[Row], Awaitable[Row]]
"""A function that scores a row."""


class Tracing:
    """Wraps nothing; a subclass wraps the parts that it traces."""

    def scorer(self, score: RowScorer, manifest: Manifest) -> RowScorer:
        del manifest
        return score

    def judge(self, judge: Judge) -> Judge:
        return judge

    def model(self, model: Model) -> Model:
        return model

    def embedder(self, embedder: Embedder) -> Embedder:
        return embedder


UNTRACED = Tracing()
