"""Spelling: whether two words are writings of one, such as `tyre` and `tire`.

Words alike by their beginnings (`colour`, `color`) are told by `words.likeness`.
"""

import re
from functools import lru_cache

_WRITINGS = (
    ("grey", "gray"),
    ("que$", "c"),
    ("ck|k", "c"),
    ("ph", "f"),
    ("[ao]e", "e"),
    ("ou", "o"),
    ("re$", "er"),
    ("y", "i"),
    ("z", "s"),
)
"""Pattern -> how it may be written as well, so that `sulphur` and `sulfur` become the same."""
LONG = 6
"""Letters from which words that differ in one are one word: `black` and `block` are two."""


def is_same_spelt(one: str, other: str, *, is_name: bool = False) -> bool:
    """Tell whether two folded words are writings of one.

    They are the same but for known writings, or, from `LONG` letters and with the same first one,
    but for one letter. Of names one letter makes two: Marina, Martina.
    """
    if _plain(one) == _plain(other):
        return True
    if is_name or min(len(one), len(other)) < LONG or one[0] != other[0]:
        return False
    return _differ_in_one(*sorted((one, other), key=len))


@lru_cache(maxsize=1 << 12)
def _plain(form: str) -> str:
    for pattern, writing in _WRITINGS:
        form = re.sub(pattern, writing, form)
    return form


def _differ_in_one(short: str, long: str) -> bool:
    """Tell whether one letter is put in or another, or two neighbours are turned round."""
    at = next((n for n, pair in enumerate(zip(short, long, strict=False)) if len({*pair}) > 1), -1)
    if at < 0:
        return len(long) <= len(short) + 1
    if len(long) > len(short):
        return long[at + 1 :] == short[at:]
    turned = long[at : at + 2] == short[at : at + 2][::-1] and long[at + 2 :] == short[at + 2 :]
    return turned or long[at + 1 :] == short[at + 1 :]
