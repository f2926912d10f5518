"""Service: the demo's RAG system, a retriever and an answerer over the corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ragstone.demo.corpus import Line, Passage, corpus
from ragstone.demo.retriever import Found, Index, Retriever, Variant, content_words
from ragstone.errors import UnknownNameError, UsageError

# Answerer: composes an answer from the lines of the passages that were retrieved.

NOT_FOUND = "I could not find anything about that in the support guides."
WITHOUT_GUIDES = "Without the support guides I can only say that the answer depends on your model."

LEAST_SIMILARITY = 0.45
"""A best passage below this is taken to be about something else."""
MOST_PASSAGES = 3
MOST_LINES = 4
FEWEST_LINES = 2
NEAR_ENOUGH = 0.6
"""Lines below this share of the best line's score are left out."""
LINES_PER_PASSAGE = 100


class Answerer:
    """Answers with the lines that match a question; deterministic."""

    def __init__(self, passages: Sequence[Passage]) -> None:
        """Index every line of the passages, under its passage's title."""
        self._index = Index(
            (
                (passage.id * LINES_PER_PASSAGE + place, passage.title, line.text)
                for passage in passages
                for place, line in enumerate(passage.lines)
            ),
            title_weight=0.5,
        )

    def answer(self, query: str, found: Sequence[Found]) -> str:
        """Return two to four sentences from the best passages, or that nothing was found.

        A line scores its similarity to the query, weighed with that of its passage; the chosen
        lines keep the order of the passages and of the lines in them.
        """
        if not found or found[0].score < LEAST_SIMILARITY:
            return NOT_FOUND
        similarities = self._index.similarities(content_words(query))
        scored: list[tuple[float, Line]] = []
        for place in found[:MOST_PASSAGES]:
            first = place.passage.id * LINES_PER_PASSAGE
            scored.extend(
                (similarities.get(first + number, 0.0) * place.score, line)
                for number, line in enumerate(place.passage.lines)
            )
        return " ".join(line.spoken for line in _chosen(scored))


def _chosen(scored: Sequence[tuple[float, Line]]) -> list[Line]:
    """Return the matching lines, in the order given; ties go to the earlier line."""
    order = sorted(range(len(scored)), key=lambda place: -scored[place][0])[:MOST_LINES]
    mark = NEAR_ENOUGH * scored[order[0]][0]
    said = [
        place for rank, place in enumerate(order) if rank < FEWEST_LINES or scored[place][0] >= mark
    ]
    return [scored[place][1] for place in sorted(said)]


class Mode(StrEnum):
    """Whether an answer is composed from passages."""

    RAG = "rag"
    LLM_ONLY = "llm_only"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, and the passages it was composed from, best first."""

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
