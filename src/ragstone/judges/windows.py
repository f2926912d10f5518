"""Window: contexts, and pieces of those that are too long, that fit into one prompt together."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ragstone.judges.tokens import estimated_tokens
from ragstone.sentences import split_sentences


@dataclass(frozen=True)
class Piece:
    """A part of a context: its number and where in it the part begins."""

    text: str
    context: int
    start: int


def windows_of(contexts: Sequence[str], room: int, *, most: int | None = None) -> list[list[Piece]]:
    """Return the contexts, and pieces of those that are too long, in windows of `room` tokens.

    No window holds more than `most` of them.
    """
    windows: list[list[Piece]] = [[]]
    left = room
    for number, context in enumerate(contexts):
        for piece in pieces_of(context, number, room):
            size = estimated_tokens(piece.text)
            if windows[-1] and (size > left or len(windows[-1]) == most):
                windows.append([])
                left = room
            windows[-1].append(piece)
            left -= size
    return windows


def pieces_of(context: str, number: int, room: int) -> list[Piece]:
    """Cut a context between sentences; one sentence that is too long, between characters."""
    if estimated_tokens(context) <= room:
        return [Piece(context, number, 0)]
    begins = [sentence.start for sentence in split_sentences(context)[1:]]
    cuts, size = [0], 0
    for begin, end in pairwise([0, *begins, len(context)]):
        size += estimated_tokens(context[begin:end])
        while size > room:
            cuts.append(begin if begin > cuts[-1] else cuts[-1] + room)
            size = estimated_tokens(context[cuts[-1] : min(end, cuts[-1] + 4 * room + 1)])
    ends = [*cuts[1:], len(context)]
    return [Piece(context[a:b], number, a) for a, b in zip(cuts, ends, strict=True)]
