"""Index of the sentences of a question's contexts, built once for all its claims."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import accumulate, chain, islice
from typing import NamedTuple

from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.offline.figures import Figure, find_figures
from ragstone.judges.offline.languages import SAMPLE, Language, guess_language
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
    _figures: dict[int, Sequence[Figure]] = field(default_factory=dict[int, Sequence[Figure]])

    def figures(self, number: int) -> Sequence[Figure]:
        """Return the numbers in a sentence."""
        if number not in self._figures:
            start, end = self.sentences[number].start, self.sentences[number].end
            self._figures[number] = find_figures(self.text, self.language, start, end)
        return self._figures[number]


def _read(text: str) -> Passage:
    sentences = split_sentences(text)
    forms = [split_forms(sentence.text) for sentence in sentences]
    language = guess_language(text, list(islice(chain.from_iterable(forms), SAMPLE // 8)))
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
        counts = (len(passage.sentences) for passage in self.passages)
        self._firsts = list(accumulate(counts, initial=0))
        self.stems = [stems for passage in self.passages for stems in passage.stems]
        self.postings: defaultdict[str, list[int]] = defaultdict(list)
        for place, stems in enumerate(self.stems):
            for each in set(stems):
                self.postings[each].append(place)

    def text(self, first: int, last: int) -> str:
        """Return the text from one sentence to another of the same context, by their numbers."""
        begin, end = self.places[first], self.places[last]
        return self.passages[begin.context].text[begin.start : end.end]

    def figures(self, place: int) -> Sequence[Figure]:
        """Return the numbers in a sentence, by its number."""
        context = self.places[place].context
        return self.passages[context].figures(place - self._firsts[context])

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
