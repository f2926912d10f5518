"""Word pattern: what a word of a text is, by the scripts that the text is in."""

import re
import unicodedata
from functools import cache

from ragstone.judges.offline.lazy_pattern import lazy_pattern

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
