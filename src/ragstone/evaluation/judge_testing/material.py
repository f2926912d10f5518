"""Material for changing claims, and what capital letters mean in the language of a text."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

from ragstone.judges.offline.languages import Language, guess_language
from ragstone.judges.offline.words import split_forms

T = TypeVar("T")

WORD = re.compile(r"[^\W\d_][\w'’-]*")
_LONG_WORD = re.compile(r"\w{4,}|\d+")
FOREIGN = 0.4
"""Contexts do not state a sentence if they contain less than this share of its longer words."""

_FIRST = re.compile(r"[.!?:;\n\"“”„«(*#|]\s*\Z")
"""What comes before the first word of a sentence, which is always capitalized."""
_LETTER = re.compile(r"\w")
_NEAR = 8
"""Characters before a word that are checked."""
LONG = 4
"""Minimum length of a counted word; in no language are many shorter words nouns."""
ENOUGH = 12
"""Minimum number of counted words."""
FEW, MANY = 0.3, 0.6
"""Shares of capitalized words. Below `FEW`, capitals mark names in any language (English has 0 to
0.3, German 0.4 to 0.6); above `MANY`, the text is a headline or a list."""


@dataclass(frozen=True)
class Capitals:
    """What capital letters mean in some texts.

    Attributes:
        mark_names: whether capitals mark names. False if the language capitalizes nouns (German),
            if nearly all words are capitalized, and if it is unknown.
        lowered: words that also occur in lower case and are therefore not names.
    """

    mark_names: bool
    lowered: frozenset[str]

    @classmethod
    def of(cls, *texts: str) -> "Capitals":
        """Examine texts of one language each; all of them must agree."""
        found = [_marks_names(text) for text in texts]
        lowered = (m[0] for text in texts for m in WORD.finditer(text) if m[0][0].islower())
        return cls(True in found and False not in found, frozenset(lowered))

    def is_name(self, word: str) -> bool:
        """Return whether a word within a sentence is a name or has inner capitals (USB)."""
        if not word[0].isupper() or word.casefold() in self.lowered:
            return is_code(word)
        alone = re.match(r"\w['’]", word)  # I'm, L'
        return is_code(word) or (self.mark_names and not alone)


@dataclass(frozen=True)
class Material:
    """What claims are changed with.

    Attributes:
        contexts: of the claims' sample; a change must not produce text that they contain.
        names, sentences: from other samples.
        distractor: a context of another sample.
        seed: makes all choices reproducible.
        claims: all claims of the sample, to detect the language and the spelling of words.
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
        """What capitals mean in the sample's texts."""
        return Capitals.of("\n".join(self.claims), "\n".join(self.contexts))

    def in_contexts(self, text: str) -> bool:
        """Return whether the contexts contain a text, ignoring case."""
        return text.casefold() in self._lowered

    def foreign_sentence(self, claim: str) -> str | None:
        """Return a sentence of another sample that the contexts do not state, if there is one."""
        for sentence in self.shuffle(self.sentences, claim):
            words = {word.casefold() for word in _LONG_WORD.findall(sentence)}
            stated = sum(map(self.in_contexts, words))
            if words and stated < FOREIGN * len(words) and sentence not in claim:
                return sentence
        return None

    def shuffle(self, items: Iterable[T], claim: str) -> list[T]:
        """Return items in a pseudo-random order that depends on the seed and the claim."""

        def position(item: T) -> bytes:
            text = f"{self.seed}{claim}\n{item}"
            return sha256(text.encode("utf-8", "surrogatepass")).digest()

        return sorted(items, key=position)


def is_code(word: str) -> bool:
    """Return whether a word has capitals that no language rule explains: USB, iPhone."""
    parts = re.split("['’-]", word)
    return all(any(letter.isupper() for letter in part[1:]) for part in parts if part)


def is_first(text: str, start: int) -> bool:
    """Return whether the word at `start` is the first of a sentence."""
    before = text[max(0, start - _NEAR) : start]
    begins = start <= _NEAR and not _LETTER.search(before)
    return begins or _FIRST.search(before) is not None


def detect_language(text: str) -> Language:
    """Return the most likely language of a text."""
    return guess_language(text, split_forms(text))


def _marks_names(text: str) -> bool | None:
    """Return whether capitals mark names in a text; None if it is too short to decide."""
    language = detect_language(text)
    if language.nouns_have_capitals:
        return False
    counted = [
        match[0][0].isupper()
        for match in WORD.finditer(text)
        if len(match[0]) >= LONG and not is_first(text, match.start())
    ]
    if len(counted) < ENOUGH:
        return True if language.name else None
    return sum(counted) / len(counted) < (MANY if language.name else FEW)
