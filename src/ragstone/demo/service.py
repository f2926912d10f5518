"""Service: the demo's RAG system, a retriever and an answerer over the corpus."""

from dataclasses import dataclass
from enum import StrEnum

from ragstone.demo.answers import WITHOUT_GUIDES, Answerer
from ragstone.demo.corpus import corpus
from ragstone.demo.retriever import Found, Retriever, Variant
from ragstone.errors import UnknownNameError, UsageError


class Mode(StrEnum):
    """Whether an answer is composed from passages."""

    RAG = "rag"
    LLM_ONLY = "llm_only"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the service said, and the passages that it looked at for it, best first."""

    response: str
    found: tuple[Found, ...]


@dataclass(frozen=True, slots=True)
class Service:
    """A RAG system without state: the same call always gives the same answer."""

    retriever: Retriever
    answerer: Answerer

    def search(self, query: str, *, top_k: int, score_threshold: float) -> tuple[Found, ...]:
        """Return the passages for a query, best first."""
        return self.retriever.search(query, top_k=top_k, score_threshold=score_threshold)

    def chat(self, query: str, *, mode: Mode, top_k: int, score_threshold: float) -> Answer:
        """Return an answer from the passages that `search` finds, or from none in `llm_only`."""
        if mode is Mode.LLM_ONLY:
            return Answer(WITHOUT_GUIDES, ())
        found = self.search(query, top_k=top_k, score_threshold=score_threshold)
        return Answer(self.answerer.answer(query, found), found)


def make_service(retriever: str = "good", *, noise: float = 0.0, seed: int = 0) -> Service:
    """Return the service over the demo's corpus.

    Args:
        retriever: `good` or `worse`.
        noise: how far a similarity may be moved up or down, in [0, 1].
        seed: which noise.

    Raises:
        UsageError: there is no such retriever, or the noise is out of range.
    """
    variants = {variant.value: variant for variant in Variant}
    if retriever not in variants:
        raise UnknownNameError("retriever", retriever, variants)
    if not 0 <= noise <= 1:
        raise UsageError(f"noise is {noise}; it must be between 0 and 1")
    passages = corpus()
    found_by = Retriever(passages, variant=variants[retriever], noise=noise, seed=seed)
    return Service(found_by, Answerer(passages))
