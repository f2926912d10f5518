"""What is known to be wrong in the demo's answers: the planted errors that an answer says."""

from dataclasses import dataclass
from functools import cache

from ragstone.demo.corpus import Flaw, corpus


@dataclass(frozen=True, slots=True)
class Planted:
    """A sentence that the service says although its passage does not."""

    sentence: str
    kind: Flaw
    passage_id: int
    truth: str
    """What the passage has in its place."""


@cache
def planted() -> tuple[Planted, ...]:
    """Return every planted error of the corpus, by passage."""
    return tuple(
        Planted(line.said, line.planted, passage.id, line.text)
        for passage in corpus()
        for line in passage.lines
        if line.planted is not None and line.said is not None
    )


def planted_in(response: str) -> tuple[Planted, ...]:
    """Return the planted errors that stand in an answer of the service, in their order there.

    Every other sentence of such an answer is backed by the passages it was composed from.
    """
    places = ((response.find(error.sentence), error) for error in planted())
    standing = sorted((place for place in places if place[0] >= 0), key=lambda place: place[0])
    return tuple(error for _, error in standing)
