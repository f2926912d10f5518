"""Word: what a word, or the JSON value that a model writes for it, stands for."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TypeVar

T = TypeVar("T")

YES_OR_NO: Mapping[str, bool] = MappingProxyType(
    {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}
)

_GAPS = re.compile(r"[-_\s]+")


def read_word(written: object, words: Mapping[str, T]) -> T | None:
    """Return what `words` has for a JSON value; true and false stand for 1 and 0.

    The words are in lower case, with single spaces.
    """
    if isinstance(written, str):
        return words.get(_GAPS.sub(" ", written[:80]).strip(" .!\"'`*").lower())
    if isinstance(written, bool | int | float) and written in (0, 1):
        return words.get(str(int(written)))
    return None
