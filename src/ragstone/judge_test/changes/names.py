"""Names: another one, taken from another sample, where capitals tell what is a name."""

import re
from collections.abc import Iterable

from ragstone.judge_test.capitals import WORD, Capitals, is_code, is_first
from ragstone.judge_test.changes.dates import date_spans
from ragstone.judge_test.changes.units import UNITS
from ragstone.judge_test.material import Material

_AFTER_FIGURE = re.compile(r"\d\s?\Z")
"""What stands before a unit."""
_JOINED = " "
SHORTEST = 2


def change_name(claim: str, material: Material) -> str | None:
    """Put a name of another sample in the place of the first one.

    None where no word is known to be one: in German, where all nouns have a capital, USB still is.
    """
    for start, end in _undated(claim, material.capitals):
        others = (name for name in material.names if name.casefold() not in claim.casefold())
        for other in material.choices(others, claim):
            if not material.knows(other):
                return f"{claim[:start]}{other}{claim[end:]}"
    return None


def names_in(texts: Iterable[str], capitals: Capitals) -> list[str]:
    """Return the names in texts, each once, in order; `capitals` is what these tell there."""
    found: dict[str, None] = {}
    for text in texts:
        found |= dict.fromkeys(text[start:end] for start, end in _undated(text, capitals))
    return list(found)


def _undated(text: str, capitals: Capitals) -> list[tuple[int, int]]:
    """Return the spans of names that have no part in a date."""
    dates = date_spans(text)
    spans = name_spans(text, capitals)
    return [span for span in spans if not any(a < span[1] and span[0] < b for a, b in dates)]


def name_spans(text: str, capitals: Capitals) -> list[tuple[int, int]]:
    """Return where names stand within a sentence, neighbours as one.

    At a sentence's start, where every word has a capital, only one with a second (USB) is one.
    """
    spans: list[tuple[int, int]] = []
    if text.isupper():
        return spans
    for match in WORD.finditer(text):
        word = match[0]
        if word in UNITS or _AFTER_FIGURE.search(text[: match.start()]):
            continue
        first = is_first(text, match.start()) and not is_code(word)
        if len(word) < SHORTEST or first or not capitals.is_name(word):
            continue
        if spans and text[spans[-1][1] : match.start()] == _JOINED:
            spans[-1] = (spans[-1][0], match.end())
        else:
            spans.append(match.span())
    return spans
