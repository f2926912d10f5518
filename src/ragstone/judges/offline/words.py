"""Word: one word of a text, folded so that its writings are equal, and how like two words are.

Text in scripts without spaces has no words to be found without a dictionary; runs of such letters
become overlapping pairs (Han, kana) or threes (Thai, Lao, Khmer, Burmese) of characters.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

MARKS = "".join(
    chr(code) for code in range(0x300, 0x2000) if unicodedata.category(chr(code))[0] == "M"
)
"""Combining marks, for use in a character class: they belong to words, and `\\w` misses them."""
_JOINERS = "\u200c\u200d\u00ad"
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々"
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_WORD = re.compile(
    rf"(?P<han>[{_HAN}]+)|(?P<thai>[{_THAI}]+)"
    rf"|(?:(?![{_HAN}{_THAI}])[^\W_])(?:(?![{_HAN}{_THAI}])[^\W_]|[{MARKS}{_JOINERS}])*+"
    rf"(?:(?<!\b[lLdDjJmMtTsSnNcC])(?<!\b[qQ]u)(?<!\bl)(?<!\b\wll)(?<!\b\w\wll)"
    rf"['’](?:(?![{_HAN}{_THAI}])[^\W\d_])++)*+"
)
_DROPPED = re.compile(f"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670{_JOINERS}]")
_APOSTROPHES = str.maketrans("’", "'")
_DIGIT = re.compile(r"\d")
_EQUALS = str.maketrans("ىةıłøđ", "يهilod")
LONGEST = 64
"""Characters of a word that count; what is longer is no word but a run."""


class Word(NamedTuple):
    """One word, or one run of characters, and its place in its text.

    Attributes:
        form: the folded writing, by which words are compared.
        start: where it begins, in characters.
        end: where it ends; exclusive.
        shown: as the text writes it.
        gram: whether it is a piece of text written without spaces rather than a word.
    """

    form: str
    start: int
    end: int
    shown: str
    gram: bool = False

    @property
    def is_capital(self) -> bool:
        """Whether it begins with a capital letter."""
        return self.shown[0].isupper()

    @property
    def is_identifier(self) -> bool:
        """Whether it mixes letters and digits, as model and part numbers do."""
        return not self.form.isalpha() and any(map(str.isdigit, self.form)) and not self.gram


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """Return the text without case, accents and compatibility forms; equal words become equal."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    apart = _DROPPED.sub("", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", apart).translate(_EQUALS)


def split_words(text: str) -> tuple[Word, ...]:
    """Return the words of a text in order; digits alone are words too."""
    found: list[Word] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        if match.lastgroup:
            found.extend(_grams(text, start, end, 2 if match.lastgroup == "han" else 3))
        else:
            shown = match[0][:LONGEST]
            if form := fold(shown).removesuffix("'s"):
                found.append(Word(form, start, end, shown))
    return tuple(found)


def _grams(text: str, start: int, end: int, size: int) -> list[Word]:
    ends = ((at, min(at + size, end)) for at in range(start, max(start + 1, end - size + 1)))
    return [Word(fold(text[at:to]), at, to, text[at:to], gram=True) for at, to in ends]


def split_forms(text: str) -> list[tuple[str, int]]:
    """Return the folded form and the start of each word: `split_words` for large texts."""
    found: list[tuple[str, int]] = []
    for match in _WORD.finditer(text):
        start, end = match.span()
        if match.lastgroup:
            size = 2 if match.lastgroup == "han" else 3
            last = max(start + 1, end - size + 1)
            found.extend((fold(text[at : min(at + size, end)]), at) for at in range(start, last))
        else:
            found.append((fold(match[0][:LONGEST]).removesuffix("'s"), start))
    return found


def trigrams(form: str) -> set[str]:
    """Return the runs of three characters of a word, with its beginning marked."""
    marked = "^" + form
    return {marked[at : at + 3] for at in range(len(marked) - 2)}


_TURNING = tuple("un in im ir il dis des non not anti ent miss не без ni nie niet on".split())
_LACKING = ("less", "los", "lose", "loos", "free", "frei")


def is_opposite_form(one: str, other: str) -> bool:
    """Tell whether one word is the other turned round: `connect` and `disconnect`, `wireless`."""
    short, long = sorted((one, other), key=len)
    if len(short) < 4 or len(long) == len(short):
        return False
    for prefix in _TURNING:
        if long.startswith(prefix) and not short.startswith(prefix):
            rest = long[len(prefix) :]
            if rest == short or (len(short) > 5 and _common(rest, short) >= len(short) - 2):
                return len(rest) >= 4
    return any(long == short + ending for ending in _LACKING)


def _common(one: str, other: str) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


@lru_cache(maxsize=1 << 16)
def likeness(one: str, other: str) -> float:
    """Return how surely two folded words are forms of one word, in [0, 1].

    1 for equal words; below that for a common beginning with different endings (inflection), for a
    word inside a longer one (compounds, articles written together) and for a slip of the pen.
    Neither dictionary nor language is asked, so `contract` and `contracts` are as like as
    `planet` and `plane`.
    """
    if one == other:
        return 1.0
    like = _likeness(one, other)
    return 0.0 if like and is_opposite_form(one, other) else like


def _likeness(one: str, other: str) -> float:
    short, long = (one, other) if len(one) < len(other) else (other, one)
    if len(short) < 3 or _DIGIT.search(one) or _DIGIT.search(other):
        return 0.0
    common = _common(one, other)
    rest = len(long) - common
    if common >= 3 and rest <= 5 and 2 * common / (len(one) + len(other)) >= 0.62:
        return 0.95 if rest <= 3 else 0.85
    if len(short) >= 4 and len(short) >= 0.45 * len(long) and short in long:
        return 0.8
    if len(short) >= 6 and (common >= 2 or one[-3:] == other[-3:]):
        mine, theirs = trigrams(one), trigrams(other)
        if 2 * len(mine & theirs) / (len(mine) + len(theirs)) >= 0.6:
            return 0.75
    return 0.0
