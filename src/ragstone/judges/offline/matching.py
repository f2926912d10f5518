"""Matching: where the contexts have the words and figures of a claim, and where they differ."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from functools import cache, lru_cache
from typing import NamedTuple

from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.offline import words
from ragstone.judges.offline.figures import Figure, find_figures
from ragstone.judges.offline.words import Language, Word, stem

MAX_CACHED = 20_000
BEGINNING = 4  # letters in which two forms of a name agree
BEST = 5  # sentences that are compared in whole
MAX_CLAIM, MAX_FIGURES = 4000, 40  # characters and figures of a claim that are read
FIGURE_WEIGHT, NAME_WEIGHT, FUNCTION_WEIGHT = 1.2, 1.3, 0.3
DECIMALS = 6  # decimals of a feature, so that the order of floating-point sums never matters
_JSON = re.compile(r"\s*+[\[{][\s\[{]*+([\"'])[^\"'\n]{1,80}\1\s*:")

Term = str | int  # the stem of a word of a claim, or the number of one of its figures


def is_data(text: str) -> bool:
    """Return whether a text is JSON, or mostly rows of a table, whose words show little."""
    if _JSON.match(text) or text.count("\n") < 2:
        return _JSON.match(text) is not None
    lines = [line for line in text.splitlines() if line.strip()]
    cells = [max(map(line.count, "|,;\t")) for line in lines if not line.endswith(".")]
    most = max(cells, key=cells.count, default=0)  # as many cells in most lines
    return len(lines) > 2 and most > 1 and cells.count(most) > 0.7 * len(lines)


def _read(text: str) -> Sequence[tuple[Sentence, Sequence[str]]]:
    return [(each, words.stems(each.text)) for each in split_sentences(text)]


_read_cached = lru_cache(maxsize=64)(_read)


class ContextIndex:
    """The sentences of the contexts; `postings` is stem -> numbers of those that have it."""

    def __init__(self, contexts: Sequence[str]) -> None:
        self.contexts = contexts
        self.places: list[tuple[int, Sentence]] = []
        self.stems: list[Sequence[str]] = []
        self.postings: defaultdict[str, list[int]] = defaultdict(list)
        for number, text in enumerate(contexts):
            for sentence, stems in (_read_cached if len(text) <= MAX_CACHED else _read)(text):
                for each in set(stems):
                    self.postings[each].append(len(self.places))
                self.places.append((number, sentence))
                self.stems.append(stems)
        self.beginnings = {each[:BEGINNING] for each in self.postings}

    def figures(self, place: int) -> Sequence[Figure]:
        return find_figures(self.places[place][1].text)


class ClaimText(NamedTuple):
    """A claim, split; `content` has the stems of words with a topic, in order, outside figures."""

    language: Language
    words: Sequence[Word]
    stems: Sequence[str]
    figures: Sequence[Figure]
    terms: Mapping[Term, float]
    content: Sequence[str]
    names: Set[str]

    def weight_of(self, terms: Set[Term]) -> float:
        # in the claim's order: the order of a set varies between processes, and with it the sum
        return sum([weight for term, weight in self.terms.items() if term in terms])

    def shown(self, term: Term) -> str:
        is_figure = isinstance(term, int)
        return self.figures[term].shown if is_figure else self.words[self.stems.index(term)].shown


def read_claim(text: str, language: Language) -> ClaimText:
    text = text[:MAX_CLAIM]
    split, weights = words.split_words(text), words.word_weights()
    stems = [stem(word.form) for word in split]
    figures = find_figures(text)[:MAX_FIGURES]
    names = {stems[number] for number in find_names(split, language)}
    terms: dict[Term, float] = dict.fromkeys(range(len(figures)), FIGURE_WEIGHT)
    content: list[str] = []
    for word, each in zip(split, stems, strict=True):
        if each in terms or any(part.start <= word.start < part.end for part in figures):
            continue
        terms[each] = weights.get(each, 1.0) * (NAME_WEIGHT if each in names else 1.0)
        is_ending = word.gram and all("\u3040" <= letter <= "\u309f" for letter in word.form)
        if word.form in language.common or is_ending:  # hiragana: mostly endings
            terms[each] = min(terms[each], FUNCTION_WEIGHT)
        if word.form not in language.common:
            content.append(each)
    return ClaimText(language, split, stems, figures, terms, content, names & terms.keys())


def find_names(split: Sequence[Word], language: Language) -> list[int]:
    """Return the numbers of the words, after the first, that are names by their capitals."""
    if language.name == "de":  # nouns have capitals
        return []
    later = [(n, word) for n, word in enumerate(split) if n or word.form == words.MAY]
    return [n for n, word in later if word.shown[0].isupper() and word.form not in language.common]


class Match(NamedTuple):
    """Where the contexts have the terms of a claim."""

    anywhere: Set[Term]  # that any context has; never empty
    window: range  # the number of the sentence with most of them, or of two adjacent ones
    here: Set[Term]  # in the window


def match_claim(claim: ClaimText, index: ContextIndex) -> Match | None:
    weights: defaultdict[int, float] = defaultdict(float)
    found: defaultdict[int, set[Term]] = defaultdict(set)
    topic = {place for term in claim.content for place in index.postings.get(term, ())}
    # a figure counts only in a sentence about the topic: another thing may have the same
    for number, figure in enumerate(claim.figures):
        for place in topic or range(len(index.places)):
            if any(map(figure.is_stated_by, index.figures(place))):
                found[place].add(number)
                weights[place] += FIGURE_WEIGHT
    anywhere = {term for term in claim.terms if term in index.postings}.union(*found.values())
    searched = anywhere.intersection(claim.content) or anywhere
    for term in [term for term in claim.terms if term in searched and isinstance(term, str)]:
        for place in index.postings[term]:
            weights[place] += claim.terms[term]
    best = sorted(weights, key=lambda place: (-weights[place], place))[:BEST]
    near = {n for at in best for n in (at - 1, at, at + 1) if 0 <= n < len(index.places)}
    seen = {n: claim.terms.keys() & set(index.stems[n]) | found[n] for n in near}
    windows = [(range(n, n + 1), seen[n]) for n in best]
    windows += [
        (range(n, n + 2), seen[n] | seen[n + 1])
        for n in sorted(near)
        if n + 1 in near and index.places[n][0] == index.places[n + 1][0]
    ]
    shares = [claim.weight_of(here) for _, here in windows]
    return Match(anywhere, *windows[shares.index(max(shares))]) if anywhere else None


CONFLICTS = ("figure", "name", "negation")


def find_conflicts(claim: ClaimText, match: Match, index: ContextIndex) -> Mapping[str, str]:
    """Return kind of conflict -> how claim and window differ; "" if no context has the word."""
    found: dict[str, str] = {}
    missing = [figure for n, figure in enumerate(claim.figures) if n not in match.anywhere]
    stated = [each for place in match.window for each in index.figures(place)] if missing else []
    for figure in missing:
        if rival := next((each for each in stated if each.replaces(figure)), None):
            found["figure"] = f"the claim says {figure.shown}, but the text says {rival.shown}"
        elif figure.dimension or any(map(str.isdecimal, figure.shown)):
            found.setdefault("figure", "")
    # by its beginning, because a context may have another form of it: Vietnam for Vietnamese
    if any(name[:BEGINNING] not in index.beginnings for name in claim.names - match.anywhere):
        found["name"] = ""
    mine, denials = _negated(claim.stems, claim.language), _stems_of("denials")
    for stems in [index.stems[n] for n in match.window]:
        theirs = _negated(stems, claim.language)
        if bool(mine) != bool(theirs) and denials.isdisjoint(stems if mine else claim.stems):
            for negated in sorted((mine | theirs) & {*stems} & {*claim.stems}):
                side = "claim" if mine else "text"
                found["negation"] = f"only the {side} negates {claim.shown(negated)!r}"
    return found


@cache
def _stems_of(kind: str) -> Set[str]:
    return frozenset(map(stem, words.word_lists()[kind].split()))


def _negated(stems: Sequence[str], language: Language) -> Set[str]:
    content = [number for number, each in enumerate(stems) if each not in language.common]
    found: set[str] = set()
    for number in [number for number, each in enumerate(stems) if each in language.negations]:
        if _stems_of("bounds").isdisjoint(stems[number + 1 : number + 2]):
            after = [place for place in content if place > number][:1]
            found.update(stems[place] for place in after or content[-1:])
    return found


class Features(NamedTuple):
    """What the probability of support depends on, beside conflicts, in all languages."""

    coverage: float = 0.0  # the share of the weight of the claim's terms that the window has
    anywhere: float = 0.0  # the same of all contexts
    first_person: float = 0.0  # 1 if the claim speaks of `I` or `we`, as opinions do


def compute_features(claim: ClaimText, match: Match | None) -> Features:
    forms = {word.form for word in claim.words} if claim.language.name == "en" else set[str]()
    speaker = float(not forms.isdisjoint(words.word_lists()["first_person"].split()))
    total = claim.weight_of(claim.terms.keys())
    both = (match.here, match.anywhere) if match else (set[Term](), set[Term]())
    here, anywhere = (round(claim.weight_of(each) / total, DECIMALS) for each in both)
    return Features(here, anywhere, speaker)
