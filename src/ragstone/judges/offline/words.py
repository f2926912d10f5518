"""Words of a text, folded so that equal words compare equal; their stems, weights and lists."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple


def lazy_pattern(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Compile a pattern when first needed: importing the judge would take longer than a verdict."""
    return cache(lambda: re.compile(pattern, flags))


MAX_WORD = 64
JOINERS = "\u200c\u200d\u00ad"
_UNSPACED = (  # Han, kana, Thai, Lao, Khmer, Burmese: words are overlapping pairs of characters
    "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
)
# before an apostrophe inside a word: `l'eau` and `dell'acqua` are two words each
_ELIDED = r"(?<!\b[lLdDjJmMtTsSnNcC])(?<!\b[qQ]u)(?<!\bl)(?<!\b\wll)(?<!\b\w\wll)"
_MONTH = re.compile(r"May(?!\s(?:I|we|you|he|she|it|they|the|this|your|there)\b)")
MAY = "may-month"  # the form of the month, or of the name; the verb's is `may`
_PLAIN_WORD = re.compile("[a-z0-9]+")
_DROPPED = lazy_pattern(f"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670{JOINERS}]")
_EQUALS = str.maketrans("ىةıłøđ", "يهilod")


class Word(NamedTuple):
    """A word and its folded form; a `gram` is a piece of text without spaces instead."""

    form: str
    start: int
    shown: str
    gram: bool = False


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold().replace("’", "'")
    apart = _DROPPED().sub("", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", apart).translate(_EQUALS)


def split_forms(text: str) -> list[str]:
    if text.isascii() and "'" not in text and "May" not in text:  # fast, for most sentences
        plain: list[str] = _PLAIN_WORD.findall(text.lower())
        if not plain or len(max(plain, key=len)) <= MAX_WORD:
            return plain
    return [word.form for word in split_words(text)]


def split_words(text: str) -> tuple[Word, ...]:
    found: list[Word] = []
    for match in (_ASCII if text.isascii() else _any_word)().finditer(text):
        start, end = match.span()
        if match.lastgroup:
            for at in range(start, max(start + 1, end - 1)):
                piece = text[at : min(at + 2, end)]
                found.append(Word(fold(piece), at, piece, gram=True))
        elif form := fold(shown := match[0][:MAX_WORD]).removesuffix("'s"):
            is_month = form == "may" and _MONTH.match(text, start)
            found.append(Word(MAY if is_month else form, start, shown))
    return tuple(found)


_ASCII = lazy_pattern(rf"[A-Za-z0-9]++(?:(?='){_ELIDED}'[A-Za-z]++)*+")


@cache
def _any_word() -> re.Pattern[str]:
    signs = map(chr, range(0x300, 0x2000))
    marks = "".join(sign for sign in signs if unicodedata.category(sign)[0] == "M")
    letter = rf"[^\W_{_UNSPACED}]"
    return re.compile(
        rf"(?P<gram>[{_UNSPACED}]+)|{letter}(?:{letter}|[{marks}{JOINERS}])*+"
        rf"(?:(?=['’]){_ELIDED}['’](?:(?!\d){letter})++)*+"
    )


_SUFFIXES = ("ingly", "edly", "ings", "ing", "ied", "ies", "ed", "es", "ly", "s")  # English
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


def stems(text: str) -> list[str]:
    """Return the stems of a text's words in order; pairs of characters of text without spaces."""
    return [stem(form) for form in split_forms(text)]


def read_file(name: str) -> str:
    return files("ragstone.judges.offline").joinpath(name).read_text("utf-8")


@cache
def word_weights() -> Mapping[str, float]:
    """Return stem -> weight, by rarity in the training sentences; any other stem weighs 1."""
    lines = read_file("rarity.txt").splitlines()
    return {each: float(weight) for weight, *stems in map(str.split, lines) for each in stems}


@cache
def word_lists() -> Mapping[str, Any]:
    return tomllib.loads(read_file("words.toml"))


_SCRIPTS = {  # language -> its own characters, at least 5 % of a text; in order of tests
    "ja": "[\u3040-\u30ff]",
    "ko": "[\uac00-\ud7af]",
    "zh": "[\u3400-\u9fff]",
    "th": "[\u0e00-\u0e7f]",
    "vi": "[\u01a1\u01b0\u1ea0-\u1ef9]",
}
SAMPLE = 4000
MIN_SHARE = 0.1  # the share of a text's words that are function words of the guessed language
_ESCAPE = re.compile(r"(\\.)")


class Language(NamedTuple):
    name: str = ""  # its two-letter code; "" if it is unknown
    function_words: frozenset[str] = frozenset()  # without a topic: forms and stems
    negations: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()  # both


UNKNOWN = Language()


@cache
def languages() -> Mapping[str, Language]:
    """Return code -> language of those that are recognized."""
    found = {name: Language(name) for name in _SCRIPTS}
    for name, text in word_lists()["languages"].items():
        lists = [[*map(fold, part.split())] for part in text.split("/")]
        plain, negations = (frozenset(each).union(map(stem, each)) for each in lists)
        found[name] = Language(name, plain - negations, negations, plain | negations)
    return found


def guess_language(text: str, forms: Sequence[str]) -> Language:
    start = text[:SAMPLE]
    for name, own in () if start.isascii() else _SCRIPTS.items():
        if len(re.findall(own, start)) > MIN_SHARE / 2 * sum(map(str.isalpha, start)):
            return languages()[name]
    few = forms[: SAMPLE // 8]
    votes = [(sum(map(each.common.__contains__, few)), each) for each in languages().values()]
    most, best = max(votes, key=lambda vote: vote[0])
    return best if most >= max(1, MIN_SHARE * len(few)) else UNKNOWN


def phrase_pattern(kind: str, before: str = "", after: str = "") -> re.Pattern[str]:
    """Return a pattern of the phrases of a list, for folded text."""
    parts = _ESCAPE.split(f"{before}(?:{'|'.join(word_lists()[kind])}){after}")
    return re.compile("".join(part if part.startswith("\\") else fold(part) for part in parts))
