"""Material: what a claim is changed with, and what must not stand in its contexts afterwards."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

from ragstone.judge_test.capitals import Capitals

T = TypeVar("T")

_LONG_WORD = re.compile(r"\w{4,}|\d+")
FOREIGN = 0.4
"""The share of a sentence's longer words below which contexts do not state it."""


@dataclass(frozen=True)
class Material:
    """What a claim is changed with.

    Attributes:
        contexts: those that the claim is held against: nothing new may stand in them.
        names: that stand in other samples.
        sentences: that other samples claim.
        distractor: a context of another sample; None if there is none.
        seed: makes every choice the same each time.
        claims: all that the sample claims: what language it is in, and how words are written.
    """

    contexts: Sequence[str]
    names: Sequence[str]
    sentences: Sequence[str]
    seed: str
    distractor: str | None = None
    claims: Sequence[str] = ()

    @cached_property
    def _lowered(self) -> str:
        return "\n".join(self.contexts).casefold()

    @cached_property
    def capitals(self) -> Capitals:
        """What a capital tells in the sample's texts."""
        return Capitals.of("\n".join(self.claims), "\n".join(self.contexts))

    def knows(self, text: str) -> bool:
        """Tell whether a text stands in the contexts, whatever its case."""
        return text.casefold() in self._lowered

    def foreign_sentence(self, claim: str) -> str | None:
        """Return a sentence of another sample that the contexts do not state; None if all may."""
        for sentence in _shuffled(self.sentences, self.seed + claim):
            words = {word.casefold() for word in _LONG_WORD.findall(sentence)}
            stated = sum(map(self.knows, words))
            if words and stated < FOREIGN * len(words) and sentence not in claim:
                return sentence
        return None

    def choices(self, items: Iterable[T], claim: str) -> list[T]:
        """Return items in an order that looks like chance, and is the same each time."""
        return _shuffled(items, self.seed + claim)


def _shuffled(items: Iterable[T], seed: str) -> list[T]:
    def place(item: T) -> bytes:
        return sha256(f"{seed}\n{item}".encode("utf-8", "surrogatepass")).digest()

    return sorted(items, key=place)
