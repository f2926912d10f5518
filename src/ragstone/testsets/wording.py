"""The wording of questions: near duplicates, copied words, vague references, answers in queries."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from importlib.resources import files
from tomllib import loads
from typing import Literal, NamedTuple

from ragstone.judges.offline.matching import find_names
from ragstone.judges.offline.words import (
    UNKNOWN,
    guess_language,
    lazy_pattern,
    split_forms,
    split_words,
    stem,
    stems,
)
from ragstone.testsets.documents import ChunkIndex
from ragstone.types.sample import Sample

ALIKE = 0.8  # share of the words with a topic of two near duplicates that both have, at least
RARE = 0.1  # share of the chunks that have a rare word, at most
MIN_TERMS = 3  # words with a topic of an answer that is understood without its question
MIN_COMMON = 5  # letters that related words have in common, such as `charge` and `charging`
TYPO = 0.8  # how similar the letters of two words must be to be the same with a typing error

_LISTS = loads(files("ragstone.testsets").joinpath("words.toml").read_text("utf-8"))
_ASKING, _WHO, _NUMBER, _YES_NO, _COURTEOUS, _POLAR, _CHOICE, _AND, _PRONOUNS = (
    frozenset(_LISTS[each].split())
    for each in "asking who number yes_no polite polar choice and pronouns".split()
)
_POLITE = frozenset(map(stem, _COURTEOUS))
_VAGUE = lazy_pattern(rf"\b(?:{'|'.join(_LISTS['vague'])})\b", re.IGNORECASE)
_OPEN = re.compile("|".join(_LISTS["open"]), re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def topic_terms(text: str) -> frozenset[str]:
    forms = split_forms(text)
    language = guess_language(text, forms)
    plain = frozenset[str]() if language is UNKNOWN else language.function_words
    return frozenset(stem(form) for form in forms if form not in plain)


def similarity(one: str, other: str, index: ChunkIndex | None = None) -> float:
    """Return the share of their words with a topic that two queries share, in [0, 1]."""
    first, second = _key_terms(one), _key_terms(other)
    if first.asking != second.asking or first.figures != second.figures:
        return 0.0
    left, right = first.terms - second.terms, second.terms - first.terms
    shared = len(first.terms & second.terms)
    # words with a typing error count as the same, but not two that the chunks of an index have
    real = {term for term in left | right if index and index.frequency(term)}
    for term in sorted(left):
        others = sorted(right - real if term in real else right)
        if misspelt := next((each for each in others if _is_typo(term, each)), None):
            left, right = left - {term}, right - {misspelt}
            shared += 1
    if not (first.names | second.names).isdisjoint(left | right):
        return 0.0
    every = len(first.terms) + len(second.terms) - shared
    return shared / every if every else float(one.split() == other.split())


class KeyTerms(NamedTuple):
    """Words of a query that must agree in duplicates; `which` and `what` are not `asking`."""

    terms: frozenset[str]
    figures: frozenset[str]
    names: frozenset[str]
    asking: frozenset[str]


@lru_cache(maxsize=1 << 12)
def _key_terms(query: str) -> KeyTerms:
    words = split_words(query)
    forms = [word.form for word in words]
    language = guess_language(query, forms)
    terms = topic_terms(query) - _POLITE
    figures = frozenset(term for term in terms if any(map(str.isdigit, term)))
    names = frozenset(stem(forms[number]) for number in find_names(words, language))
    return KeyTerms(terms, figures, names, _ASKING.intersection(forms))


def _is_typo(one: str, other: str) -> bool:
    if min(len(one), len(other)) < 4 or abs(len(one) - len(other)) > 1 or one[0] != other[0]:
        return False
    return SequenceMatcher(None, one, other).ratio() >= TYPO


def near_duplicate(
    query: str, others: Iterable[str], index: ChunkIndex | None = None
) -> str | None:
    return next((other for other in others if similarity(query, other, index) >= ALIKE), None)


def rarest_terms(query: str, frequency: Callable[[str], float]) -> Sequence[str]:
    """Return rare words of a query: near duplicates share one, unless misspelt."""
    terms = sorted(topic_terms(query), key=lambda term: (frequency(term), term))
    return terms[: len(terms) - math.ceil(ALIKE * len(terms)) + 2] or [""]


def duplicates(samples: Sequence[Sample], index: ChunkIndex) -> Mapping[int, tuple[str, bool]]:
    """Return the place of each row that repeats an earlier one -> its id, whether it is equal."""
    found: dict[int, tuple[str, bool]] = {}
    queries = [sample.query_with_history for sample in samples]
    frequency = Counter(term for query in queries for term in topic_terms(query))
    firsts: dict[str, int] = {}
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, query in enumerate(queries):
        if "variant_of" in samples[place].tags:  # it repeats another on purpose
            continue
        plain = " ".join(query.casefold().split()).rstrip(" ?!.？")
        if (first := firsts.setdefault(plain, place)) != place:
            found[place] = samples[first].id, True
            continue
        rarest = rarest_terms(query, frequency.__getitem__)
        near = {other for term in rarest for other in places[term]}
        alike = [(similarity(query, queries[other], index), -other) for other in near]
        if alike and (best := max(alike))[0] >= ALIKE:
            found[place] = samples[-best[1]].id, False
        for term in rarest:
            places[term].append(place)
    return found


def answer_in_query(query: str, reference: str) -> bool:
    """Return whether a query has all words of its answer; yes-no questions and choices may."""
    forms = split_forms(query)
    if not forms or forms[0] in _POLAR or not _CHOICE.isdisjoint(forms):
        return False
    answer = topic_terms(reference)
    if not answer or not answer <= topic_terms(query):
        return False
    words = split_words(query)
    names = {n: stem(word.form) for n, word in enumerate(words) if word.shown[:1].isupper()}

    def named(*places: int) -> set[str]:
        return {names[place] for place in places if place in names}

    # a choice is also between two names with an `and`, if the answer is one of them
    return not any(
        # an article may be between `and` and a name
        (before := named(place - 2, place - 1))
        and (after := named(place + 1, place + 2, place + 3))
        and (before <= answer) != (after <= answer)
        for place, word in enumerate(words)
        if word.form in _AND
    )


def off_topic(
    query: str, reference: str, texts: Sequence[str], index: ChunkIndex
) -> Literal["error", "warning"] | None:
    """Return how sure it is that a sentence does not answer; the `texts` are its chunks.

    They have no word of the query, and not the kind of answer that is asked for. Another chunk has
    most words of the query, or none has any. It is an error if the query asks for such a kind.
    """
    terms = topic_terms(query) - _ASKING - _POLITE
    forms, words = split_forms(query), split_words(reference)
    languages = {guess_language(query, forms), guess_language(reference, split_forms(reference))}
    if len(terms) < 2 or not is_sentence(reference) or len(languages) > 1 or UNKNOWN in languages:
        return None
    near = " ".join((reference, *texts)).casefold()
    if unclear_pronoun(query) or any(term[:MIN_COMMON] in near for term in terms):
        return None
    names = {w.form for w in words if w.shown[0].isupper()} - languages.pop().function_words
    kinds = (  # whether such an answer is asked for, and whether there is one
        (not _WHO.isdisjoint(forms), bool(names)),
        (not _NUMBER.isdisjoint(forms), any(map(str.isdigit, reference))),
        (forms[0] in _POLAR, words[0].form in _YES_NO),
    )
    asked = [given for is_asked, given in kinds if is_asked]
    if any(asked):
        return None
    best = "".join(chunk.shown for chunk in index.search(" ".join(terms), 1))
    if best and len(terms.intersection(stems(best))) < max(2, len(terms) / 2):
        return None
    return "error" if asked else "warning"


def is_sentence(reference: str) -> bool:
    """Return whether it has enough words to be read without its question."""
    return len(topic_terms(reference)) >= MIN_TERMS


def unclear_pronoun(query: str) -> str | None:
    found = _key_terms(query)
    if found.names or found.figures or len(found.terms) > 2:
        return None
    return next((form for form in split_forms(query) if form in _PRONOUNS), None)


def query_overlap(query: str, texts: Iterable[str], index: ChunkIndex) -> float | None:
    """Return the share of a query's rare words that the texts have; None if it has no rare word."""
    most = max(1, RARE * len(index.corpus.chunks))
    rare = {term for term in topic_terms(query) if index.frequency(term) <= most}
    if not rare:
        return None
    present = {term for text in texts for term in stems(text)}
    return len(rare & present) / len(rare)


def longest_copy(query: str, texts: Iterable[str]) -> float:
    terms = stems(query)
    if not terms:
        return 0.0
    matchers = [SequenceMatcher(None, terms, stems(text), autojunk=False) for text in texts]
    return max((each.find_longest_match().size for each in matchers), default=0) / len(terms)


def vague_wording(query: str) -> str | None:
    match = _VAGUE().search(query)
    return match[0] if match else None


def may_be_open(words: str) -> bool:
    return _OPEN.match(words) is not None
