"""Material: what a claim is changed with, and what must not stand in its contexts afterwards."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TypeAlias, TypeVar

from ragstone.judges.offline.languages import Language, guess_language
from ragstone.judges.offline.words import split_forms

# Capitals: whether a capital letter tells a name, in the language of some texts.

WORD = re.compile(r"[^\W\d_][\w'’-]*")
_FIRST = re.compile(r"[.!?:;\n\"“”„«(*#|]\s*\Z")
"""What stands before the first word of a sentence, which has a capital whatever it is."""
_LETTER = re.compile(r"\w")
_NEAR = 8
"""Characters before a word that are looked at."""

LONG = 4
"""Letters of a word that is counted: shorter ones are mostly no nouns in any language."""
ENOUGH = 12
"""Words from which their share tells something."""
FEW, MANY = 0.3, 0.6
"""Shares of words with a capital: under `FEW` they are names in whatever language (German has
0.4 to 0.6, English 0 to 0.3); over `MANY` it is a headline, or a list, in any."""

_Told: TypeAlias = bool | None


@dataclass(frozen=True)
class Capitals:
    """What a capital tells in some texts.

    Attributes:
        tell: whether a word with one is a name. False where nouns have them as well, as in
            German, where nearly all words do, and where it cannot be known.
        lowered: words that stand in the texts without one, and therefore are no names.
    """

    tell: bool
    lowered: frozenset[str]

    @classmethod
    def of(cls, *texts: str) -> "Capitals":
        """Look at texts, each of one language: all of them have to agree."""
        told = [_tell(text) for text in texts]
        lowered = (m[0] for text in texts for m in WORD.finditer(text) if m[0][0].islower())
        return cls(True in told and False not in told, frozenset(lowered))

    def is_name(self, word: str) -> bool:
        """Tell whether a word within a sentence is a name, or has capitals of its own (USB)."""
        if not word[0].isupper() or word.casefold() in self.lowered:
            return is_code(word)
        alone = re.match(r"\w['’]", word)  # I'm, L'
        return is_code(word) or (self.tell and not alone)


def is_code(word: str) -> bool:
    """Tell whether a word has capitals that no rule of a language gives it: USB, iPhone."""
    parts = re.split("['’-]", word)
    return all(any(letter.isupper() for letter in part[1:]) for part in parts if part)


def is_first(text: str, start: int) -> bool:
    """Tell whether what begins at `start` is the first word of a sentence."""
    before = text[max(0, start - _NEAR) : start]
    begins = start <= _NEAR and not _LETTER.search(before)
    return begins or _FIRST.search(before) is not None


def language_in(text: str) -> Language:
    """Return the language that a text seems to be in."""
    return guess_language(text, split_forms(text))


def _tell(text: str) -> _Told:
    """Tell whether capitals tell names in a text; None where it is too short to know."""
    language = language_in(text)
    if language.nouns_have_capitals:
        return False
    counted = list(_capitals(text))
    if len(counted) < ENOUGH:
        return True if language.name else None
    return sum(counted) / len(counted) < (MANY if language.name else FEW)


def _capitals(text: str) -> Iterator[bool]:
    """Yield for each longer word within a sentence whether it has a capital."""
    for match in WORD.finditer(text):
        if len(match[0]) >= LONG and not is_first(text, match.start()):
            yield match[0][0].isupper()


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
