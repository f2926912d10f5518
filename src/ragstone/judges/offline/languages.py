"""Languages: their word lists, and a guess at the language of a text.

`languages.toml` has the lists, a section per language. No list of one language is applied to a text
in another. In a language without a section, negations are not detected.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from ragstone.judges.offline.words import (
    fold,
    lazy_pattern,
    phrases_of,
    stem,
    word_lists,
    words_of,
)

_SCRIPTS = {
    "ja": "\u3040-\u30ff",
    "ko": "\uac00-\ud7af",
    "zh": "\u3400-\u9fff",
    "th": "\u0e00-\u0e7f",
    "vi": "\u01a1\u01b0\u1ea0-\u1ef9",
}
"""Language -> the characters by which its texts are recognized, in the order of the tests."""
_SHARED_SCRIPT = frozenset(("ja", "vi"))
"""Written partly in characters that other languages use too."""
_SCRIPT_PATTERNS = {name: lazy_pattern(f"[{letters}]") for name, letters in _SCRIPTS.items()}
_ANY_SCRIPT = lazy_pattern(f"[{''.join(_SCRIPTS.values())}]")
_LETTERS = re.compile(r"[^\W\d_]")
_ESCAPE = re.compile(r"(\\.)")
SAMPLE = 4000
"""How many characters of a text are used to guess its language."""
MIN_SHARE = 0.1
"""The share of a text's words that must be function words of the guessed language."""
_BITS = SAMPLE.bit_length()


@dataclass(frozen=True, slots=True)
class Language:
    """What is needed to weigh and compare the words of a language.

    Attributes:
        name: the two-letter code; "" for an unknown language.
        function_words: words without a topic.
        negations: words that negate a clause.
        first_person: the words for the speaker.
        function_stems: the stems of both of these.
        negation_stems: the stems of the negations.
        denial_stems: the stems of other words that may deny.
        nouns_have_capitals: whether every noun has a capital, so that a capital marks no name.
    """

    name: str
    function_words: frozenset[str] = frozenset()
    negations: frozenset[str] = frozenset()
    first_person: frozenset[str] = frozenset()
    function_stems: frozenset[str] = frozenset()
    negation_stems: frozenset[str] = frozenset()
    denial_stems: frozenset[str] = frozenset()
    nouns_have_capitals: bool = False


UNKNOWN = Language("")


@cache
def language_of(name: str) -> Language:
    """Return a language by its two-letter code; `UNKNOWN` if it has no word lists."""
    if name not in word_lists():
        return UNKNOWN
    negations = frozenset(map(fold, words_of(name, "negations")))
    words = frozenset(map(fold, words_of(name, "function_words"))) - negations
    return Language(
        name,
        words,
        negations,
        frozenset(words_of(name, "first_person")),
        frozenset(map(stem, words | negations)),
        frozenset(map(stem, negations)),
        frozenset(map(stem, words_of(name, "denials"))),
        nouns_have_capitals=name == "de",
    )


@cache
def _function_words() -> tuple[list[str], Mapping[str, int]]:
    """Return the languages with function words, and folded word -> the languages that use it.

    Each language has `_BITS` bits, with a one if it uses the word: the sum over the words of a text
    contains the counts of all languages.
    """
    languages = [name for name, lists in word_lists().items() if "function_words" in lists]
    places: defaultdict[str, int] = defaultdict(int)
    for place, language in enumerate(map(language_of, languages)):
        for word in language.function_words | language.negations:
            places[word] += 1 << place * _BITS
    return languages, dict(places)


def guess_language(text: str, forms: Sequence[str]) -> Language:
    """Return the language whose script or function words the text has, or `UNKNOWN`.

    Args:
        text: the text; only its first `SAMPLE` characters count.
        forms: its folded words, in order.
    """
    start = text[:SAMPLE]
    if not start.isascii() and _ANY_SCRIPT().search(start):
        letters = len(_LETTERS.findall(start))
        for name, pattern in _SCRIPT_PATTERNS.items():
            share = 0.05 if name in _SHARED_SCRIPT else 0.4
            if len(pattern().findall(start)) > share * letters:
                return language_of(name)
    few = forms[: SAMPLE // 8]
    languages, places = _function_words()
    times = Counter(few)
    total = sum([times[form] * places[form] for form in times.keys() & places.keys()])
    if not total:
        return UNKNOWN
    counts = [total >> place * _BITS & (1 << _BITS) - 1 for place in range(len(languages))]
    most = max(counts)
    level = [name for name, count in zip(languages, counts, strict=True) if count == most]
    if most < max(1, MIN_SHARE * len(few)):
        return UNKNOWN
    return language_of(level[0])


def phrase_pattern(phrases: Iterable[str], before: str = "", after: str = "") -> re.Pattern[str]:
    """Return a pattern of the phrases, folded like the text; escapes are unchanged."""
    parts = _ESCAPE.split(f"{before}(?:{'|'.join(phrases)}){after}")
    return re.compile("".join(part if part.startswith("\\") else fold(part) for part in parts))


@cache
def sentence_pattern(language: str, kind: str) -> re.Pattern[str] | None:
    """Return how a sentence of a kind begins, in text without commas; None without phrases.

    The kinds are `refusals`, whose author does not know, and `openings`, which offer help.
    """
    softeners = "|".join(phrases_of("any", "softeners"))
    before = rf"(?:(?:{softeners})\s*)*" if kind == "refusals" else ""
    phrases = phrases_of(language, kind)
    return phrase_pattern(phrases, before) if phrases else None
