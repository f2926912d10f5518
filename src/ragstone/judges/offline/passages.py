"""Passage: one context, read once for all the questions that it comes in."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain

from ragstone.judges.offline.figures import Figure, find_figures
from ragstone.judges.offline.languages import Language, guess_language
from ragstone.judges.offline.words import split_forms
from ragstone.sentences import Sentence, split_sentences

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
