"""Word: one word of a text, folded so that its writings are equal, and how like two words are.

Text in scripts without spaces has no words to be found without a dictionary; runs of such letters
become overlapping pairs (Han, kana) or threes (Thai, Lao, Khmer, Burmese) of characters.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from typing import NamedTuple

# Lazy pattern: a regular expression that is compiled when it is first used.


def lazy_pattern(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that returns the pattern, compiled once."""

    @cache
    def compiled() -> re.Pattern[str]:
        return re.compile(pattern, flags)

    return compiled


# Word pattern: what a word of a text is, by the scripts that the text is in.

JOINERS = "\u200c\u200d\u00ad"
"""Characters inside words that are not seen."""
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々"
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = lazy_pattern(f"[{_HAN}{_THAI}]")
_ELIDED = r"(?<!\b[lLdDjJmMtTsSnNcC])(?<!\b[qQ]u)(?<!\bl)(?<!\b\wll)(?<!\b\w\wll)"
"""What stands before an apostrophe that ends a word: `l'eau` is two, `dell'acqua` is too."""


@cache
def marks() -> str:
    r"""Return the combining marks, for a character class: words have them, and `\w` does not."""
    signs = map(chr, range(0x300, 0x2000))
    return "".join(sign for sign in signs if unicodedata.category(sign)[0] == "M")


def is_spaced(text: str) -> bool:
    """Tell whether all words of a text have spaces between them."""
    return text.isascii() or _UNSPACED().search(text) is None


def word_of(text: str) -> re.Pattern[str]:
    """Return what a word of a text is."""
    if text.isascii():
        return _apostrophes()
    return _spaced() if is_spaced(text) else _mixed()


@cache
def plain_word() -> re.Pattern[str]:
    """Return what a word is in ASCII without apostrophes, which is found the quickest."""
    return re.compile("[A-Za-z0-9]+")


@cache
def _apostrophes() -> re.Pattern[str]:
    """Return what a word is in ASCII."""
    return re.compile(rf"[A-Za-z0-9]++(?:(?='){_ELIDED}'[A-Za-z]++)*+")


@cache
def _spaced() -> re.Pattern[str]:
    """Return what a word is where all words have spaces between them."""
    return re.compile(
        rf"[^\W_](?:[^\W_]|[{marks()}{JOINERS}])*+(?:(?=['’]){_ELIDED}['’][^\W\d_]++)*+"
    )


@cache
def _mixed() -> re.Pattern[str]:
    """Return what a word is, or a run of letters without spaces."""
    own = f"(?![{_HAN}{_THAI}])"
    return re.compile(
        rf"(?P<han>[{_HAN}]+)|(?P<thai>[{_THAI}]+)"
        rf"|(?:{own}[^\W_])(?:{own}[^\W_]|[{marks()}{JOINERS}])*+"
        rf"(?:(?=['’]){_ELIDED}['’](?:{own}[^\W\d_])++)*+"
    )


_DROPPED = lazy_pattern(f"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670{JOINERS}]")
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
    apart = _DROPPED().sub("", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", apart).translate(_EQUALS)


def split_words(text: str) -> tuple[Word, ...]:
    """Return the words of a text in order; digits alone are words too."""
    return tuple(
        Word(form, start, end, text[start : min(end, start + LONGEST)], gram)
        for form, start, end, gram in _pieces(text)
    )


def split_forms(text: str) -> list[str]:
    """Return the folded words of a text in order: all that large texts need, and quicker."""
    if not is_spaced(text):
        return [form for form, _, _, _ in _pieces(text)]
    if not text.isascii():
        folded = [fold(word[:LONGEST]).removesuffix("'s") for word in word_of(text).findall(text)]
        return [form for form in folded if form]
    words: list[str] = (word_of(text) if "'" in text else plain_word()).findall(text)
    forms = "\n".join(words).lower().split("\n") if words else []
    if "'" in text or len(max(forms, key=len, default="")) > LONGEST:
        return [form[:LONGEST].removesuffix("'s") for form in forms]
    return forms


def _pieces(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """Yield the folded form, the start, the end of each word, and whether it is a gram."""
    for match in word_of(text).finditer(text):
        start, end = match.span()
        if match.lastgroup:
            size = 2 if match.lastgroup == "han" else 3
            for at in range(start, max(start + 1, end - size + 1)):
                to = min(at + size, end)
                yield fold(text[at:to]), at, to, True
        elif form := fold(match[0][:LONGEST]).removesuffix("'s"):
            yield form, start, end, False


def trigrams(form: str) -> set[str]:
    """Return the runs of three characters of a word, with its beginning marked."""
    marked = "^" + form
    return {marked[at : at + 3] for at in range(len(marked) - 2)}


SHORTEST = 5
"""Letters that a word needs for a prefix to turn it: `less` and `unless` are no opposites."""
_SHORT = frozenset("like load lock pack paid plug read safe seal used wrap".split())
_SAFE = ("un", "non", "не")
_LISTED = ("dis", "des", "in", "im", "ir", "il")
_PREFIXED = tuple(
    fold(prefix + stem)
    for prefix, stems in {
        "dis": "able agree allow appear approv arm assembl connect continu courag honest honor "
        "honour like loyal obey order organi please qualif respect satisf similar trust",
        "des": "activ agrad aparec apareci aprob bloque carg conect cargad embal hacer habilit "
        "inscri instal monta ocup obed organiz activad conectad",
        "in": "access accura active adequate appropriate capable complete correct credible direct "
        "effective eligible evitable expensive finite flexible formal frequent secure sensitive "
        "sufficient tolerant valid valu variable visible voluntary",
        "im": "balance matur measur mobile moral mortal patient perfect permeabl polite possib "
        "practical precise probable proper pure",
        "ir": "rational regular relevan replaceab responsib reversib",
        "il": "legal legitim legib literate logical",
    }.items()
    for stem in stems.split()
)


def is_opposite_form(one: str, other: str) -> bool:
    """Tell whether one word is the other turned round: `connect` and `disconnect`.

    Prefixes that mostly mean something else (`display`, `import`, `inside`) count only before the
    stems listed.
    """
    short, long = sorted((one, other), key=len)
    if len(short) < 4 or len(long) == len(short):
        return False
    if len(short) < SHORTEST and short not in _SHORT:
        return False
    for prefix in (*_SAFE, *_LISTED):
        if not long.startswith(prefix) or short.startswith(prefix):
            continue
        if (prefix in _SAFE or long.startswith(_PREFIXED)) and _is_same_stem(
            long[len(prefix) :], short
        ):
            return True
    return False


def _is_same_stem(rest: str, short: str) -> bool:
    least = min(len(rest), len(short))
    return rest == short or (
        len(short) > 5 and least >= 4 and _common(rest, short) >= len(short) - 2
    )


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
