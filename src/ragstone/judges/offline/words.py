"""Words of a text, folded so that equal words compare equal; their stems and weights; word lists.

Runs of characters of scripts without spaces become overlapping pairs (Han, kana) or triples (Thai,
Lao, Khmer, Burmese).
"""

import re
import tomllib
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple


def lazy_pattern(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Compile a pattern when first needed: importing the judge would take longer than a verdict."""

    @cache
    def compiled() -> re.Pattern[str]:
        return re.compile(pattern, flags)

    return compiled


MAX_MATCHES = 20_000  # figures of each kind read in a text, so that a table of a million ends soon
MAX_WORD = 64
JOINERS = "\u200c\u200d\u00ad"
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々"
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = lazy_pattern(f"[{_HAN}{_THAI}]")
_ELIDED = r"(?<!\b[lLdDjJmMtTsSnNcC])(?<!\b[qQ]u)(?<!\bl)(?<!\b\wll)(?<!\b\w\wll)"
"""Before an apostrophe inside a word: `l'eau` and `dell'acqua` are two words each."""
_PLAIN_WORD = re.compile("[a-z0-9]+")
_DROPPED = lazy_pattern(f"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670{JOINERS}]")
_APOSTROPHES = str.maketrans("’", "'")
_EQUALS = str.maketrans("ىةıłøđ", "يهilod")


class Word(NamedTuple):
    """A word and its folded form; a `gram` is a piece of text without spaces instead."""

    form: str
    start: int
    end: int
    shown: str
    gram: bool = False


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    apart = _DROPPED().sub("", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", apart).translate(_EQUALS)


def is_spaced(text: str) -> bool:
    return text.isascii() or _UNSPACED().search(text) is None


def split_words(text: str) -> tuple[Word, ...]:
    return tuple(_words(text))


def split_forms(text: str) -> list[str]:
    if not is_spaced(text):
        return [word.form for word in _words(text)]
    if not text.isascii():
        words = _word_pattern("spaced").findall(text)
        folded = [fold(word[:MAX_WORD]).removesuffix("'s") for word in words]
        return [form for form in folded if form]
    if "'" not in text:
        plain: list[str] = _PLAIN_WORD.findall(text.lower())
        if not plain or len(max(plain, key=len)) <= MAX_WORD:
            return plain
    forms: list[str] = _word_pattern("ascii").findall(text.lower())
    return [form[:MAX_WORD].removesuffix("'s") for form in forms]


def _words(text: str) -> Iterator[Word]:
    kind = "ascii" if text.isascii() else "spaced" if is_spaced(text) else "mixed"
    for match in _word_pattern(kind).finditer(text):
        start, end = match.span()
        if match.lastgroup:
            size = 2 if match.lastgroup == "han" else 3
            for at in range(start, max(start + 1, end - size + 1)):
                to = min(at + size, end)
                yield Word(fold(text[at:to]), at, to, text[at:to], gram=True)
        elif form := fold(shown := match[0][:MAX_WORD]).removesuffix("'s"):
            yield Word(form, start, end, shown)


@cache
def combining_marks() -> str:
    signs = map(chr, range(0x300, 0x2000))
    return "".join(sign for sign in signs if unicodedata.category(sign)[0] == "M")


@cache
def _word_pattern(kind: str) -> re.Pattern[str]:
    if kind == "ascii":
        return re.compile(rf"[A-Za-z0-9]++(?:(?='){_ELIDED}'[A-Za-z]++)*+")
    inner = f"[{combining_marks()}{JOINERS}]"
    if kind == "spaced":
        return re.compile(rf"[^\W_](?:[^\W_]|{inner})*+(?:(?=['’]){_ELIDED}['’][^\W\d_]++)*+")
    own = f"(?![{_HAN}{_THAI}])"
    return re.compile(
        rf"(?P<han>[{_HAN}]+)|(?P<thai>[{_THAI}]+)|(?:{own}[^\W_])(?:{own}[^\W_]|{inner})*+"
        rf"(?:(?=['’]){_ELIDED}['’](?:{own}[^\W\d_])++)*+"
    )


_SUFFIXES = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "ly", "s")
"""English endings; words of other languages in Latin letters may lose one too."""
MAX_STEM = 8  # characters of a stem: other endings of long words do not count


@lru_cache(maxsize=1 << 16)
def stem(form: str) -> str:
    if len(form) < 4 or not form.isalpha():
        return form.removesuffix("'s")
    for suffix in _SUFFIXES:
        if form.endswith(suffix) and len(form) >= len(suffix) + 3:
            form = form[: -len(suffix)]
            if suffix in ("ied", "ies"):
                form += "y"
            elif len(form) > 3 and form[-1] == form[-2] and form[-1] not in "ls":
                form = form[:-1]
            break
    return form.removesuffix("e")[:MAX_STEM] if len(form) > 3 else form


@cache
def word_weights() -> Mapping[str, float]:
    """Return stem -> weight, by rarity in the training sentences; any other stem weighs 1."""
    lines = files("ragstone.judges.offline").joinpath("rarity.txt").read_text("utf-8").splitlines()
    return {each: float(weight) for weight, *stems in map(str.split, lines) for each in stems}


def _read(file: str) -> Mapping[str, Any]:
    return tomllib.loads(files("ragstone.judges.offline").joinpath(file).read_text("utf-8"))


FIGURE_WORDS = _read("figures.toml")


@cache
def word_lists() -> Mapping[str, Mapping[str, str | Sequence[str]]]:
    return _read("languages.toml")


def phrases_of(language: str, name: str) -> Sequence[str]:
    found = word_lists().get(language, {}).get(name, ())
    return (found,) if isinstance(found, str) else found


def words_of(language: str, name: str) -> list[str]:
    return " ".join(phrases_of(language, name)).split()


@cache
def opposites() -> Mapping[str, Set[str]]:
    found: defaultdict[str, set[str]] = defaultdict(set)
    for pair in words_of("en", "opposites"):
        one, other = map(stem, pair.split("/"))
        found[one].add(other)
        found[other].add(one)
    return found


_SCRIPTS = {  # language -> its own characters, and their least share of a text; in order of tests
    "ja": ("\u3040-\u30ff", 0.05),
    "ko": ("\uac00-\ud7af", 0.4),
    "zh": ("\u3400-\u9fff", 0.4),
    "th": ("\u0e00-\u0e7f", 0.4),
    "vi": ("\u01a1\u01b0\u1ea0-\u1ef9", 0.05),
}
_ANY_SCRIPT = lazy_pattern(f"[{''.join(own for own, _ in _SCRIPTS.values())}]")
_LETTERS = re.compile(r"[^\W\d_]")
_ESCAPE = re.compile(r"(\\.)")
SAMPLE = 4000
MIN_SHARE = 0.1  # the share of a text's words that must be function words of the guessed language
_BITS = SAMPLE.bit_length()


@dataclass(frozen=True, slots=True)
class Language:
    name: str  # its two-letter code; "" if it is unknown
    function_words: frozenset[str] = frozenset()  # without a topic
    negations: frozenset[str] = frozenset()
    first_person: frozenset[str] = frozenset()
    function_stems: frozenset[str] = frozenset()  # with those of the negations
    negation_stems: frozenset[str] = frozenset()
    denial_stems: frozenset[str] = frozenset()
    nouns_have_capitals: bool = False


UNKNOWN = Language("")


@cache
def language_of(name: str) -> Language:
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
    # Each language has `_BITS` bits of a word's number, with a one if it uses the word: the sum
    # over the words of a text contains the counts of all languages.
    languages = [name for name, lists in word_lists().items() if "function_words" in lists]
    places: defaultdict[str, int] = defaultdict(int)
    for place, language in enumerate(map(language_of, languages)):
        for word in language.function_words | language.negations:
            places[word] += 1 << place * _BITS
    return languages, dict(places)


def guess_language(text: str, forms: Sequence[str]) -> Language:
    start = text[:SAMPLE]
    if not start.isascii() and _ANY_SCRIPT().search(start):
        letters = len(_LETTERS.findall(start))
        for name, (own, share) in _SCRIPTS.items():
            if len(re.findall(f"[{own}]", start)) > share * letters:
                return language_of(name)
    few = forms[: SAMPLE // 8]
    languages, places = _function_words()
    times = Counter(few)
    total = sum([times[form] * places[form] for form in times.keys() & places.keys()])
    if not total:
        return UNKNOWN
    counts = [total >> place * _BITS & (1 << _BITS) - 1 for place in range(len(languages))]
    if max(counts) < max(1, MIN_SHARE * len(few)):
        return UNKNOWN
    return language_of(languages[counts.index(max(counts))])


def phrase_pattern(phrases: Iterable[str], before: str = "", after: str = "") -> re.Pattern[str]:
    parts = _ESCAPE.split(f"{before}(?:{'|'.join(phrases)}){after}")
    return re.compile("".join(part if part.startswith("\\") else fold(part) for part in parts))


@cache
def sentence_pattern(language: str, kind: str) -> re.Pattern[str] | None:
    """Return how `refusals` or `openings` that offer help begin, in text without commas."""
    softeners = "|".join(phrases_of("any", "softeners"))
    before = rf"(?:(?:{softeners})\s*)*" if kind == "refusals" else ""
    phrases = phrases_of(language, kind)
    return phrase_pattern(phrases, before) if phrases else None
