"""ContextIndex: the sentences of a question's contexts, prepared once for all its claims."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from ragstone.judges.offline.figures import Figure, find_figures
from ragstone.judges.offline.languages import Language, guess_language
from ragstone.judges.offline.words import split_forms
from ragstone.sentences import split_sentences

LEAST, BEGINNING, ENDING = 3, 3, 4
"""Letters of a word that can have forms, and of the beginning or ending that those share."""
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
        texts: the contexts.
        languages: the language of each.
        places: where each sentence stands, in order.
        postings: folded word -> numbers of the sentences that have it, in order.
    """

    def __init__(self, contexts: Sequence[str]) -> None:
        """Read every context once."""
        self.texts = tuple(contexts)
        self.languages: list[Language] = []
        self.places: list[Place] = []
        self.postings: dict[str, list[int]] = {}
        for number, text in enumerate(self.texts):
            self._read(number, text)

    def _read(self, number: int, text: str) -> None:
        forms = split_forms(text)
        self.languages.append(guess_language(text, tuple(form for form, _ in forms)))
        sentences = split_sentences(text)
        first = len(self.places)
        self.places.extend(Place(number, sentence.start, sentence.end) for sentence in sentences)
        starts = [sentence.start for sentence in sentences]
        postings = self.postings
        for form, start in forms:
            place = first + bisect_right(starts, start) - 1
            numbers = postings.setdefault(form, [])
            if not numbers or numbers[-1] != place:
                numbers.append(place)

    @cached_property
    def figures(self) -> Mapping[int, Sequence[Figure]]:
        """Sentence number -> the dates and quantities in it, where it has any."""
        found: defaultdict[int, list[Figure]] = defaultdict(list)
        starts = [(place.context, place.start) for place in self.places]
        for number, text in enumerate(self.texts):
            for figure in find_figures(text, self.languages[number].name):
                found[bisect_right(starts, (number, figure.start)) - 1].append(figure)
        return found

    def words_near(self, form: str) -> frozenset[str]:
        """Return the contexts' words that begin or end as this one does."""
        if len(form) < LEAST:
            return frozenset()
        begins, ends = form[:BEGINNING], form[-ENDING:]
        near = [*self._by_part.get("^" + begins, ())[:MOST], *self._by_part.get(ends, ())[:MOST]]
        return frozenset(near) - {form}

    @cached_property
    def _by_part(self) -> Mapping[str, Sequence[str]]:
        found: defaultdict[str, list[str]] = defaultdict(list)
        for form in self.postings:
            if len(form) >= LEAST:
                found["^" + form[:BEGINNING]].append(form)
                if len(form) >= ENDING:
                    found[form[-ENDING:]].append(form)
        return found
