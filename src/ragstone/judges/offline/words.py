"""Words of a text, folded so that equal words compare equal; their similarity; and word lists.

Scripts without spaces have no words that can be found without a dictionary. Runs of such characters
become overlapping pairs (Han, kana) or triples (Thai, Lao, Khmer, Burmese).
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any, NamedTuple


def lazy_pattern(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that compiles the pattern when first called.

    Otherwise importing the judge would take longer than its first verdict.
    """

    @cache
    def compiled() -> re.Pattern[str]:
        return re.compile(pattern, flags)

    return compiled


MAX_MATCHES = 20_000
"""Figures of each kind that are read in one text, so that a table of a million ends soon."""
MAX_WORD = 64
"""Characters of a word that count; anything longer is not a word."""
MIN_STEM = 5
"""Letters a word needs for a prefix to reverse it: `less` and `unless` are not opposites."""
JOINERS = "\u200c\u200d\u00ad"
"""Invisible characters inside words."""
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff々"
_THAI = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"
_UNSPACED = lazy_pattern(f"[{_HAN}{_THAI}]")
_ELIDED = r"(?<!\b[lLdDjJmMtTsSnNcC])(?<!\b[qQ]u)(?<!\bl)(?<!\b\wll)(?<!\b\w\wll)"
"""Before an apostrophe inside a word: `l'eau` and `dell'acqua` are two words each."""
_PLAIN_WORD = re.compile("[A-Za-z0-9]+")
_DROPPED = lazy_pattern(f"[\u0300-\u036f\u0591-\u05c7\u0640\u064b-\u065f\u0670{JOINERS}]")
_APOSTROPHES = str.maketrans("’", "'")
_DIGIT = re.compile(r"\d")
_EQUALS = str.maketrans("ىةıłøđ", "يهilod")


class Word(NamedTuple):
    """One word, or one run of characters, and its place in its text.

    Attributes:
        form: the folded word, used for comparison.
        start: the first character.
        end: the end; exclusive.
        shown: as the text writes it.
        gram: whether it is a piece of text without spaces instead of a word.
    """

    form: str
    start: int
    end: int
    shown: str
    gram: bool = False

    @property
    def is_identifier(self) -> bool:
        """Whether it mixes letters and digits, like a model or part number."""
        return not self.form.isalpha() and any(map(str.isdigit, self.form)) and not self.gram


@lru_cache(maxsize=1 << 16)
def fold(text: str) -> str:
    """Return the text without case, accents and compatibility forms."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKC", text).casefold().translate(_APOSTROPHES)
    apart = _DROPPED().sub("", unicodedata.normalize("NFD", plain))
    return unicodedata.normalize("NFC", apart).translate(_EQUALS)


def is_spaced(text: str) -> bool:
    """Return whether all words of a text have spaces between them."""
    return text.isascii() or _UNSPACED().search(text) is None


def split_words(text: str) -> tuple[Word, ...]:
    """Return the words of a text in order; digits alone are words too."""
    return tuple(
        Word(form, start, end, text[start : min(end, start + MAX_WORD)], gram)
        for form, start, end, gram in _pieces(text)
    )


def split_forms(text: str) -> list[str]:
    """Return the folded words of a text in order; faster than `split_words`."""
    if not is_spaced(text):
        return [form for form, _, _, _ in _pieces(text)]
    if not text.isascii():
        words = _word_pattern("spaced").findall(text)
        folded = [fold(word[:MAX_WORD]).removesuffix("'s") for word in words]
        return [form for form in folded if form]
    pattern = _word_pattern("ascii") if "'" in text else _PLAIN_WORD
    found: list[str] = pattern.findall(text)
    forms = "\n".join(found).lower().split("\n")
    if "'" in text or len(max(forms, key=len)) > MAX_WORD:
        forms = [form[:MAX_WORD].removesuffix("'s") for form in forms]
    return forms if forms != [""] else []


def _pieces(text: str) -> Iterator[tuple[str, int, int, bool]]:
    """Yield the folded form, the start and end of each word, and whether it is a gram."""
    kind = "ascii" if text.isascii() else "spaced" if is_spaced(text) else "mixed"
    for match in _word_pattern(kind).finditer(text):
        start, end = match.span()
        if match.lastgroup:
            size = 2 if match.lastgroup == "han" else 3
            for at in range(start, max(start + 1, end - size + 1)):
                to = min(at + size, end)
                yield fold(text[at:to]), at, to, True
        elif form := fold(match[0][:MAX_WORD]).removesuffix("'s"):
            yield form, start, end, False


@cache
def combining_marks() -> str:
    r"""Return the combining marks, for a character class: words contain them, `\w` does not."""
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
"""Prefixes that mostly mean something else (`display`, `import`), with the stems they reverse."""


def is_opposite_form(one: str, other: str) -> bool:
    """Return whether one word is the other with a reversing prefix: `connect`, `disconnect`."""
    short, long = sorted((one, other), key=len)
    if len(short) < 4 or len(long) == len(short):
        return False
    if len(short) < MIN_STEM and short not in _SHORT:
        return False
    for prefix in (*_SAFE, *_LISTED):
        if not long.startswith(prefix) or short.startswith(prefix):
            continue
        if prefix not in _SAFE and not long.startswith(_PREFIXED):
            continue
        rest = long[len(prefix) :]
        is_long_stem = len(short) > 5 and min(len(rest), len(short)) >= 4
        if rest == short or (is_long_stem and _common_prefix(rest, short) >= len(short) - 2):
            return True
    return False


@lru_cache(maxsize=1 << 16)
def similarity(one: str, other: str) -> float:
    """Return how likely two folded words are forms of one word, in [0, 1].

    1 for equal words; less for a common beginning with different endings (inflection), for a word
    inside a longer one (compounds, attached articles) and for a typo. It uses neither a dictionary
    nor the language, so `planet` and `plane` are as similar as `contracts` and `contract`.
    """
    if one == other:
        return 1.0
    short, long = (one, other) if len(one) < len(other) else (other, one)
    if len(short) < 3 or _DIGIT.search(one) or _DIGIT.search(other):
        return 0.0
    common = _common_prefix(one, other)
    rest = len(long) - common
    found = 0.0
    if common >= 3 and rest <= 5 and 2 * common / (len(one) + len(other)) >= 0.62:
        found = 0.95 if rest <= 3 else 0.85
    elif len(short) >= 4 and len(short) >= 0.45 * len(long) and short in long:
        found = 0.8
    elif len(short) >= 6 and (common >= 2 or one[-3:] == other[-3:]):
        mine, theirs = _trigrams(one), _trigrams(other)
        found = 0.75 * (2 * len(mine & theirs) / (len(mine) + len(theirs)) >= 0.6)
    return 0.0 if found and is_opposite_form(one, other) else found


def _trigrams(form: str) -> set[str]:
    marked = "^" + form
    return {marked[at : at + 3] for at in range(len(marked) - 2)}


def _common_prefix(one: str, other: str) -> int:
    count = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        count += 1
    return count


def _read(file: str) -> Mapping[str, Any]:
    return tomllib.loads(files("ragstone.judges.offline").joinpath(file).read_text("utf-8"))


FIGURE_WORDS = _read("figures.toml")
"""The months, factors, bounds and units of all languages."""


@cache
def word_lists() -> Mapping[str, Mapping[str, str | Sequence[str]]]:
    """Return the sections of `languages.toml`: one per language, and `any` for all of them."""
    return _read("languages.toml")


def phrases_of(language: str, name: str) -> Sequence[str]:
    """Return the phrases of a language, or a lone pattern as the only one; empty without any."""
    found = word_lists().get(language, {}).get(name, ())
    return (found,) if isinstance(found, str) else found


def words_of(language: str, name: str) -> list[str]:
    """Return a word list of a language; empty without one."""
    return " ".join(phrases_of(language, name)).split()


@cache
def opposites() -> Mapping[str, frozenset[str]]:
    """Return folded word -> the words that exclude it, in all languages."""
    found: dict[str, frozenset[str]] = {}
    for language in word_lists():
        for pair in words_of(language, "opposites"):
            one, other = map(fold, pair.split("/"))
            found[one] = found.get(one, frozenset()) | {other}
            found[other] = found.get(other, frozenset()) | {one}
    return found
