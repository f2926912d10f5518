"""Matching: where the contexts have the words and figures of a claim."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain, islice
from typing import NamedTuple

from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.offline.figures import Figure, find_figures
from ragstone.judges.offline.words import (
    SAMPLE,
    Language,
    Word,
    guess_language,
    split_forms,
    split_words,
    stem,
    word_weights,
)

CACHE_SIZE = 64
MAX_CACHED = 20_000
PIECE = 4


@dataclass(frozen=True)
class Passage:
    text: str
    language: Language
    sentences: tuple[Sentence, ...]
    stems: tuple[Sequence[str], ...]
    _figures: dict[int, Sequence[Figure]] = field(default_factory=dict[int, Sequence[Figure]])

    def figures(self, start: int, end: int) -> Sequence[Figure]:
        if start not in self._figures:
            self._figures[start] = find_figures(self.text, self.language, start, end)
        return self._figures[start]


def _read(text: str) -> Passage:
    sentences = split_sentences(text)
    forms = [split_forms(sentence.text) for sentence in sentences]
    language = guess_language(text, list(islice(chain.from_iterable(forms), SAMPLE // 8)))
    return Passage(text, language, sentences, tuple(list(map(stem, each)) for each in forms))


_read_cached = lru_cache(maxsize=CACHE_SIZE)(_read)


class Place(NamedTuple):
    context: int
    start: int
    end: int


class ContextIndex:
    """The sentences of the contexts; `postings` is stem -> numbers of those that have it."""

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

    def figures(self, place: int) -> Sequence[Figure]:
        context, start, end = self.places[place]
        return self.passages[context].figures(start, end)

    @cached_property
    def marked_words(self) -> str:
        return f"^{'$^'.join(self.postings)}$"


@lru_cache(maxsize=1 << 14)
def pieces_of(form: str) -> tuple[str, ...]:
    marked = f"^{form}$"
    return tuple(marked[at : at + PIECE] for at in range(max(1, len(marked) - PIECE + 1)))


MAX_FIGURES = 40
BEST = 5
MAX_CLAIM = 4000  # characters of a claim that are read; a longer text is not a claim
FIGURE_WEIGHT, NAME_WEIGHT = 1.2, 1.3
FUNCTION_WEIGHT = 0.3
DECIMALS = 6  # decimals of a feature, so that the order of floating-point sums never matters
TITLE = 0.7  # the share of capitals from which a sentence is a title, whose capitals mark no names

Term = str | int  # the stem of a word of a claim, or the number of one of its figures


@dataclass(frozen=True, slots=True)
class ClaimText:
    """A claim, split; `content` has the stems of words with a topic, in order, outside figures."""

    language: Language
    words: tuple[Word, ...]
    stems: tuple[str, ...]
    figures: tuple[Figure, ...]
    terms: Mapping[Term, float]
    content: tuple[str, ...]
    names: Set[str]

    def weight_of(self, terms: Set[Term]) -> float:
        # in the claim's order: the order of a set varies between processes, and with it the sum
        return sum([weight for term, weight in self.terms.items() if term in terms])

    def shown(self, term: Term) -> str:
        if isinstance(term, int):
            return self.figures[term].shown
        return self.words[self.stems.index(term)].shown


def read_claim(text: str, language: Language) -> ClaimText:
    text = text[:MAX_CLAIM]
    words = split_words(text)
    stems = tuple(stem(word.form) for word in words)
    figures = find_figures(text, language)[:MAX_FIGURES]
    names = frozenset(stems[number] for number in find_names(words, language))
    weights = word_weights()
    terms: dict[Term, float] = dict.fromkeys(range(len(figures)), FIGURE_WEIGHT)
    places = [(figure.start, figure.end) for figure in figures]
    content: list[str] = []
    for word, each in zip(words, stems, strict=True):
        if each in terms or any(start <= word.start < end for start, end in places):
            continue
        weight = weights.get(each, 1.0)
        if word.form in language.function_words or word.form in language.negations:
            weight = min(weight, FUNCTION_WEIGHT)
        else:
            content.append(each)
        if word.gram and all("\u3040" <= letter <= "\u309f" for letter in word.form):
            weight = FUNCTION_WEIGHT  # hiragana: mostly endings
        terms[each] = weight * NAME_WEIGHT if each in names else weight
    names &= terms.keys()
    return ClaimText(language, words, stems, figures, terms, tuple(content), names)


def find_names(words: Sequence[Word], language: Language) -> list[int]:
    """Return the numbers of the words, after the first, that are names by their capitals."""
    plain = language.function_words | language.negations
    content = [
        number
        for number, word in enumerate(words)
        if number > 0 and not word.gram and word.form not in plain
    ]
    names = [number for number in content if words[number].shown[0].isupper()]
    is_title = len(names) > max(2, TITLE * len(content))
    return [] if language.nouns_have_capitals or is_title else names


@dataclass(frozen=True, slots=True)
class Match:
    """Where the contexts have the terms of a claim."""

    anywhere: Set[Term]  # that any context has; never empty
    first: int  # the number of the first sentence of the window
    last: int  # the same or the next one
    here: Set[Term]  # in the window
    coverage: float  # the weight of the terms `here`, as a share of all terms' weight
    rival: tuple[int, Figure] | None  # a figure that no context has, and the one in its place
    frame: float  # how similar the words around these two are, in [0, 1]; 0 without any


def match_claim(claim: ClaimText, index: ContextIndex) -> Match | None:
    weights: defaultdict[int, float] = defaultdict(float)
    figures: defaultdict[int, set[Term]] = defaultdict(set)
    topic = {place for term in claim.content for place in index.postings.get(term, ())}
    # a figure counts only in a sentence about the topic: another thing may have the same
    for number, figure in enumerate(claim.figures):
        for place in topic or range(len(index.places)):
            if any(map(figure.is_covered_by, index.figures(place))):
                figures[place].add(number)
                weights[place] += FIGURE_WEIGHT
    anywhere: set[Term] = {term for term in claim.terms if term in index.postings}
    anywhere.update(*figures.values())
    searched = anywhere.intersection(claim.content) or anywhere
    for term, weight in claim.terms.items():
        if term in searched and isinstance(term, str):
            for place in index.postings[term]:
                weights[place] += weight
    if not anywhere:
        return None
    best = sorted(weights, key=lambda place: (-weights[place], place))[:BEST]
    singles = {
        place: (claim.terms.keys() & set(index.stems[place])) | figures.get(place, set())
        for place in {near for place in best for near in (place - 1, place, place + 1)}
        if 0 <= place < len(index.places)
    }
    windows = [(place, place, singles[place]) for place in best]
    windows += [
        (first, first + 1, singles[first] | singles[first + 1])
        for first in sorted(singles)
        if first + 1 in singles and index.places[first].context == index.places[first + 1].context
    ]
    total = claim.weight_of(claim.terms.keys())
    shares = [claim.weight_of(here) / total for _, _, here in windows]
    coverage = max(shares)
    first, last, here = windows[shares.index(coverage)]
    rival, frame = None, 0.0
    for number, figure in enumerate(claim.figures):
        for place in range(first, last + 1):
            for stated in index.figures(place) if number not in anywhere else ():
                if (alike := stated.replaces(figure)) > frame:
                    rival, frame = (number, stated), alike
    return Match(anywhere, first, last, here, coverage, rival, frame)


class Features(NamedTuple):
    """What the probability of support depends on, beside conflicts.

    None depends on the language, so weights trained on English texts apply to other languages too.
    """

    coverage: float = 0.0  # the share of the weight of the claim's terms that the window has
    anywhere: float = 0.0  # the same of all contexts
    first_person: float = 0.0  # 1 if the claim speaks of `I` or `we`, as opinions do


def compute_features(claim: ClaimText, match: Match | None) -> Features:
    speaker = float(any(word.form in claim.language.first_person for word in claim.words))
    if match is None:
        return Features(first_person=speaker)
    anywhere = claim.weight_of(match.anywhere) / claim.weight_of(claim.terms.keys())
    return Features(round(match.coverage, DECIMALS), round(anywhere, DECIMALS), speaker)
