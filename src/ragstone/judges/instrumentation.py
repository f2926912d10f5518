"""Tracing: what watches an evaluation from outside, by wrapping whatever does the work."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from ragstone.judges.base import Judge
from ragstone.judges.llm.providers.base import Embedder, Model
from ragstone.types.config import Manifest
from ragstone.types.row import Row

Scorer: TypeAlias = Callable[[Row], Awaitable[Row]]
"""What scores a row."""


class Tracing:
    """Leaves all as it is; a subclass wraps what it wants to watch."""

    def scorer(self, score: Scorer, manifest: Manifest) -> Scorer:
        """Wrap what scores the rows of a run, where rows are scored one by one."""
        del manifest
        return score

    def judge(self, judge: Judge) -> Judge:
        """Wrap the judge of a run: whatever is asked goes through it."""
        return judge

    def model(self, model: Model) -> Model:
        """Wrap a model that a judge puts prompts to."""
        return model

    def embedder(self, embedder: Embedder) -> Embedder:
        """Wrap a model that makes embeddings."""
        return embedder


UNTRACED = Tracing()
"""Nobody watches."""
