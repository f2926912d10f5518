"""Answerer: composes an answer from the lines of the passages that were retrieved."""

from collections.abc import Sequence

from ragstone.demo.corpus import Line, Passage
from ragstone.demo.index import Index, content_words
from ragstone.demo.retriever import Found

NOT_FOUND = "I could not find anything about that in the support guides."
WITHOUT_GUIDES = "Without the support guides I can only say that the answer depends on your model."

LEAST_SIMILARITY = 0.45
"""A best passage below this is taken to be about something else."""
MOST_PASSAGES = 3
MOST_LINES = 4
FEWEST_LINES = 2
NEAR_ENOUGH = 0.6
"""A line is said if it scores at least this share of the best line's score."""
LINES_PER_PASSAGE = 100


class Answerer:
    """Says the lines that fit a question; the same question and passages give the same answer."""

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
    """Return the lines to say, in the order given; of equal lines the earlier is preferred."""
    order = sorted(range(len(scored)), key=lambda place: -scored[place][0])[:MOST_LINES]
    mark = NEAR_ENOUGH * scored[order[0]][0]
    said = [
        place for rank, place in enumerate(order) if rank < FEWEST_LINES or scored[place][0] >= mark
    ]
    return [scored[place][1] for place in sorted(said)]
