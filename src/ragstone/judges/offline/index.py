"""ContextIndex: the sentences of a question's contexts, prepared once for all its claims."""

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

# Passage: one context, read once for all the questions that it comes in.

KEPT = 64
"""How many passages are kept: the same contexts come for the response and for the reference."""
LONGEST = 20_000
"""Characters of a passage that is kept; a longer one is read anew, so that memory stays small."""
GRAM = 4
"""Characters of the pieces of words that are compared."""


@dataclass(frozen=True)
class Passage:
    """One context, taken apart.

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
        """Sentence number -> the dates and quantities in it, where it has any."""
        found: defaultdict[int, list[Figure]] = defaultdict(list)
        starts = [sentence.start for sentence in self.sentences]
        for figure in find_figures(self.text, self.language.name):
            found[bisect_right(starts, figure.start) - 1].append(figure)
        return found


def read_passage(text: str) -> Passage:
    """Read a context, or return it as read before."""
    return _read_short(text) if len(text) <= LONGEST else _read(text)


@lru_cache(maxsize=1 << 14)
def pieces(form: str) -> tuple[str, ...]:
    """Return the runs of characters of a folded word, its beginning and its end marked."""
    marked = f"^{form}$"
    return tuple(marked[at : at + GRAM] for at in range(max(1, len(marked) - GRAM + 1)))


def _read(text: str) -> Passage:
    sentences = split_sentences(text)
    forms = tuple(split_forms(sentence.text) for sentence in sentences)
    language = guess_language(text, list(chain.from_iterable(forms)))
    return Passage(text, language, sentences, forms)


_read_short = lru_cache(maxsize=KEPT)(_read)


LEAST, BEGINNING, ENDING = 3, 3, 4
"""Letters of a word that can have forms, and of the beginning or ending that those share."""
LAST = "\U0010ffff"
"""A character that comes after all that words have."""
MOST = 400
"""How many words with the same beginning, and with the same ending, are looked at."""


class Place(NamedTuple):
    """Where a sentence stands: the context's number, and its characters there."""

    context: int
    start: int
    end: int


class ContextIndex:
    """The contexts' sentences, and which of them has which word.

    Attributes:
        passages: the contexts, read.
        texts: the contexts as they are.
        languages: the language of each.
        places: where each sentence stands, in order.
        postings: folded word -> numbers of the sentences that have it, in order.
    """

    def __init__(self, contexts: Sequence[str]) -> None:
        """Read every context once."""
        self.texts = tuple(contexts)
        self.passages: tuple[Passage, ...] = tuple(map(read_passage, contexts))
        self.languages: list[Language] = [passage.language for passage in self.passages]
        self.places = [
            Place(number, each.start, each.end)
            for number, passage in enumerate(self.passages)
            for each in passage.sentences
        ]
        self.postings: Mapping[str, Sequence[int]] = self._place_words()
        self._pieces: dict[str, bool] = {}

    def _place_words(self) -> Mapping[str, Sequence[int]]:
        postings: defaultdict[str, list[int]] = defaultdict(list)
        for place, forms in enumerate(forms for each in self.passages for forms in each.forms):
            for form in dict.fromkeys(forms):
                postings[form].append(place)
        return dict(postings)

    @cached_property
    def figures(self) -> Mapping[int, Sequence[Figure]]:
        """Sentence number -> the dates and quantities in it, where it has any."""
        found: dict[int, Sequence[Figure]] = {}
        first = 0
        for passage in self.passages:
            found.update((first + within, those) for within, those in passage.figures.items())
            first += len(passage.sentences)
        return found

    def has_row(self, forms: Sequence[str]) -> bool:
        """Tell whether words stand side by side in a context, in that order."""
        return all(map(self.postings.__contains__, forms)) and _row(forms) in self._rows

    @cached_property
    def _rows(self) -> str:
        """All words of the contexts in order; no row of words spans two contexts."""
        return "".join(_row(chain.from_iterable(each.forms)) + "\n" for each in self.passages)

    def has_piece(self, piece: str) -> bool:
        """Tell whether a word of the contexts has a piece, as `pieces` cuts them."""
        known = self._pieces.get(piece)
        if known is None:
            known = self._pieces[piece] = piece in self._marked
        return known

    @cached_property
    def _marked(self) -> str:
        """The contexts' words in a row, each beginning and end marked: no piece spans two."""
        return f"^{'$^'.join(self.postings)}$"

    def words_near(self, form: str) -> Sequence[str]:
        """Return the contexts' words that begin or end as this one does, in a fixed order."""
        if len(form) < LEAST:
            return ()
        words, turned = self._sorted
        near = dict.fromkeys(_beginning(words, form[:BEGINNING]))
        if len(form) >= ENDING:
            ending = _beginning(turned, form[: -ENDING - 1 : -1])
            near.update((word[::-1], None) for word in ending)
        near.pop(form, None)
        return tuple(near)

    @cached_property
    def _sorted(self) -> tuple[list[str], list[str]]:
        """The words long enough to have forms, in order; and the same from end to beginning."""
        words = [form for form in self.postings if len(form) >= LEAST]
        return sorted(words), sorted(form[::-1] for form in words)


def _row(forms: Iterable[str]) -> str:
    return "\n" + "\n".join(forms) + "\n"


def _beginning(words: Sequence[str], part: str) -> Sequence[str]:
    """Return the first words, of some in order, that begin so."""
    first = bisect_left(words, part)
    return words[first : min(bisect_left(words, part + LAST, first), first + MOST)]


# Stretch: the text of some neighbouring sentences, read for comparison with a claim.

STRETCHES_LONGEST = 4000
"""Characters of a stretch that are looked at."""


@dataclass(frozen=True)
class Stretch:
    """The sentences from one number in the index to another, both of the same context.

    Attributes:
        text: what they say.
        language: the language of their context.
        words: their words, in order.
    """

    text: str
    language: Language
    words: tuple[Word, ...]

    @cached_property
    def negations(self) -> tuple[Negation, ...]:
        """What they deny."""
        return find_negations(self.text, self.words, self.language)


class Stretches:
    """The stretches of an index, each read once for all claims."""

    def __init__(self, index: ContextIndex) -> None:
        """Read none yet."""
        self._index = index
        self._read: dict[tuple[int, int], Stretch] = {}

    def of(self, first: int, last: int) -> Stretch:
        """Return the stretch from one sentence to another, by their numbers in the index."""
        if (first, last) not in self._read:
            self._read[first, last] = self._cut(first, last)
        return self._read[first, last]

    def _cut(self, first: int, last: int) -> Stretch:
        begin, end = self._index.places[first], self._index.places[last]
        text = self._index.texts[begin.context][
            begin.start : min(end.end, begin.start + STRETCHES_LONGEST)
        ]
        return Stretch(text, self._index.languages[begin.context], split_words(text))
