"""Index of the sentences of a question's contexts, built once for all its claims."""

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.offline.languages import Language, guess_language
from ragstone.judges.offline.negation import Negation, find_negations
from ragstone.judges.offline.quantities import Figure, find_figures
from ragstone.judges.offline.words import Word, split_forms, split_words

CACHE_SIZE = 64
"""How many passages are cached: response and reference are judged with the same contexts."""
MAX_CACHED = 20_000
"""Characters of the longest passage that is cached, to save memory."""
MAX_SPAN = 4000
"""Characters of a span that are read."""
PIECE = 4
"""Characters of the pieces of words that are compared."""
MIN_WORD, BEGINNING, ENDING = 3, 3, 4
"""Letters of a word that can have other forms, and of the beginning or ending they share."""
MAX_NEAR = 400
"""How many words with the same beginning, and with the same ending, are compared."""
_AFTER_ALL = "\U0010ffff"
"""Sorts after every character of a word."""


@dataclass(frozen=True)
class Passage:
    """One context, split.

    Attributes:
        text: the context.
        language: its language.
        sentences: its sentences, in order.
        forms: the folded words of each sentence, in order.
    """

    text: str
    language: Language
    sentences: tuple[Sentence, ...]
    forms: tuple[Sequence[str], ...]

    @cached_property
    def figures(self) -> Mapping[int, Sequence[Figure]]:
        """Sentence number -> the dates and quantities in it, if any."""
        found: defaultdict[int, list[Figure]] = defaultdict(list)
        starts = [sentence.start for sentence in self.sentences]
        for figure in find_figures(self.text, self.language.name):
            found[bisect_right(starts, figure.start) - 1].append(figure)
        return found


def _read(text: str) -> Passage:
    sentences = split_sentences(text)
    forms = tuple(split_forms(sentence.text) for sentence in sentences)
    language = guess_language(text, list(chain.from_iterable(forms)))
    return Passage(text, language, sentences, forms)


_read_cached = lru_cache(maxsize=CACHE_SIZE)(_read)


@dataclass(frozen=True)
class Span:
    """The text of neighboring sentences of one context.

    Attributes:
        text: the sentences.
        language: the language of their context.
        words: their words, in order.
    """

    text: str
    language: Language
    words: tuple[Word, ...]

    @cached_property
    def negations(self) -> tuple[Negation, ...]:
        """Their negations."""
        return find_negations(self.text, self.words, self.language)


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
        postings: folded word -> numbers of the sentences that have it, in order.
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
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for place, forms in enumerate(forms for each in self.passages for forms in each.forms):
            for form in dict.fromkeys(forms):
                postings[form].append(place)
        self.postings: Mapping[str, Sequence[int]] = dict(postings)
        self._pieces: dict[str, bool] = {}
        self._spans: dict[tuple[int, int], Span] = {}

    def text(self, first: int, last: int) -> str:
        """Return the text from one sentence to another of the same context, by their numbers."""
        begin, end = self.places[first], self.places[last]
        return self.passages[begin.context].text[begin.start : end.end]

    def span(self, first: int, last: int) -> Span:
        """Return the span from one sentence to another, read once for all claims."""
        span = self._spans.get((first, last))
        if span is None:
            text = self.text(first, last)[:MAX_SPAN]
            language = self.passages[self.places[first].context].language
            span = self._spans[first, last] = Span(text, language, split_words(text))
        return span

    @cached_property
    def figures(self) -> Mapping[int, Sequence[Figure]]:
        """Sentence number -> the dates and quantities in it, if any."""
        found: dict[int, Sequence[Figure]] = {}
        first = 0
        for passage in self.passages:
            found.update((first + within, those) for within, those in passage.figures.items())
            first += len(passage.sentences)
        return found

    def has_sequence(self, forms: Sequence[str]) -> bool:
        """Return whether words are next to each other in a context, in that order."""
        return all(map(self.postings.__contains__, forms)) and _joined(forms) in self._sequence

    @cached_property
    def _sequence(self) -> str:
        """All words of the contexts in order, with a gap between two contexts."""
        return "".join(_joined(chain.from_iterable(each.forms)) + "\n" for each in self.passages)

    def has_piece(self, piece: str) -> bool:
        """Return whether a word of the contexts has a piece that `pieces_of` cuts."""
        known = self._pieces.get(piece)
        if known is None:
            known = self._pieces[piece] = piece in self._marked_words
        return known

    @cached_property
    def _marked_words(self) -> str:
        """The words of the contexts, with beginnings and endings marked."""
        return f"^{'$^'.join(self.postings)}$"

    def words_near(self, form: str) -> Sequence[str]:
        """Return the words of the contexts with the same beginning or ending, in a fixed order."""
        if len(form) < MIN_WORD:
            return ()
        words, reversed_words = self._sorted
        near = dict.fromkeys(_with_prefix(words, form[:BEGINNING]))
        if len(form) >= ENDING:
            ending = _with_prefix(reversed_words, form[: -ENDING - 1 : -1])
            near.update((word[::-1], None) for word in ending)
        near.pop(form, None)
        return tuple(near)

    @cached_property
    def _sorted(self) -> tuple[list[str], list[str]]:
        """The words that can have other forms, sorted; and the same words reversed."""
        words = [form for form in self.postings if len(form) >= MIN_WORD]
        return sorted(words), sorted(form[::-1] for form in words)


@lru_cache(maxsize=1 << 14)
def pieces_of(form: str) -> tuple[str, ...]:
    """Return the overlapping pieces of a folded word, with its beginning and ending marked."""
    marked = f"^{form}$"
    return tuple(marked[at : at + PIECE] for at in range(max(1, len(marked) - PIECE + 1)))


def _joined(forms: Iterable[str]) -> str:
    return "\n" + "\n".join(forms) + "\n"


def _with_prefix(words: Sequence[str], prefix: str) -> Sequence[str]:
    first = bisect_left(words, prefix)
    return words[first : min(bisect_left(words, prefix + _AFTER_ALL, first), first + MAX_NEAR)]
