"""Index of the sentences of a question's contexts, built once for all its claims."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.offline.figures import Figure, find_figures
from ragstone.judges.offline.languages import Language, guess_language
from ragstone.judges.offline.words import split_forms, stem

CACHE_SIZE = 64
"""How many passages are cached: response and reference are judged with the same contexts."""
MAX_CACHED = 20_000
"""Characters of the longest passage that is cached, to save memory."""
PIECE = 4
"""Characters of the pieces of words that are compared."""


@dataclass(frozen=True)
class Passage:
    """One context, split.

    Attributes:
        text: the context.
        language: its language.
        sentences: its sentences, in order.
        stems: the stems of the words of each sentence, in order.
    """

    text: str
    language: Language
    sentences: tuple[Sentence, ...]
    stems: tuple[Sequence[str], ...]

    @cached_property
    def figures(self) -> Mapping[int, Sequence[Figure]]:
        """Sentence number -> the dates and quantities in it, if any."""
        starts = [sentence.start for sentence in self.sentences]
        found: defaultdict[int, list[Figure]] = defaultdict(list)
        for figure in find_figures(self.text, self.language):
            found[bisect_right(starts, figure.start) - 1].append(figure)
        return found


def _read(text: str) -> Passage:
    sentences = split_sentences(text)
    forms = [split_forms(sentence.text) for sentence in sentences]
    language = guess_language(text, list(chain.from_iterable(forms)))
    return Passage(text, language, sentences, tuple(list(map(stem, each)) for each in forms))


_read_cached = lru_cache(maxsize=CACHE_SIZE)(_read)


class Place(NamedTuple):
    """Where a sentence is: the number of its context, and its characters there."""

    context: int
    start: int
    end: int


class ContextIndex:
    """The sentences of the contexts, and which of them has which word.

    Attributes:
        passages: the contexts, split.
        places: where each sentence is, in order.
        stems: the stems of each sentence, in order.
        postings: stem -> numbers of the sentences that have it, in order.
    """

    def __init__(self, contexts: Sequence[str]) -> None:
        self.passages = tuple(
            _read_cached(text) if len(text) <= MAX_CACHED else _read(text) for text in contexts
        )
        self.places = [
            Place(number, each.start, each.end)
            for number, passage in enumerate(self.passages)
            for each in passage.sentences
        ]
        self.stems = [stems for passage in self.passages for stems in passage.stems]
        self.postings: defaultdict[str, list[int]] = defaultdict(list)
        for place, stems in enumerate(self.stems):
            for each in set(stems):
                self.postings[each].append(place)

    def text(self, first: int, last: int) -> str:
        """Return the text from one sentence to another of the same context, by their numbers."""
        begin, end = self.places[first], self.places[last]
        return self.passages[begin.context].text[begin.start : end.end]

    @cached_property
    def figures(self) -> Mapping[int, Sequence[Figure]]:
        """Sentence number -> the dates and quantities in it, if any."""
        found: dict[int, Sequence[Figure]] = {}
        first = 0
        for passage in self.passages:
            found.update((first + within, those) for within, those in passage.figures.items())
            first += len(passage.sentences)
        return found

    def has_sequence(self, stems: Sequence[str]) -> bool:
        """Return whether words are next to each other in a context, in that order."""
        known = all(map(self.postings.__contains__, stems))
        return known and _joined(stems) in self._sequence

    @cached_property
    def _sequence(self) -> str:
        """The stems of the contexts in order, with a gap between two contexts."""
        passages = (chain.from_iterable(passage.stems) for passage in self.passages)
        return "\n".join(map(_joined, passages))

    def has_piece(self, piece: str) -> bool:
        """Return whether a word of the contexts has a piece that `pieces_of` cuts."""
        return piece in self._marked_words

    @cached_property
    def _marked_words(self) -> str:
        """The stems of the contexts, with beginnings and endings marked."""
        return f"^{'$^'.join(self.postings)}$"


@lru_cache(maxsize=1 << 14)
def pieces_of(form: str) -> tuple[str, ...]:
    """Return the overlapping pieces of a stem, with its beginning and ending marked."""
    marked = f"^{form}$"
    return tuple(marked[at : at + PIECE] for at in range(max(1, len(marked) - PIECE + 1)))


def _joined(stems: Iterable[str]) -> str:
    return "\n" + "\n".join(stems) + "\n"
