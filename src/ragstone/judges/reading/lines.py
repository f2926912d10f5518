"""Lines: patterns of how models write labels and numbers where they write no JSON."""

import re
from collections.abc import Iterable

_BUT = "(?:but|however|though|although|except|partial|partly|mostly)"


def label_pattern(words: Iterable[str]) -> re.Pattern[str]:
    """Return the pattern of a label at the beginning of a text: it ends there, or a reason follows.

    A word of digits is left out: a lone 1 is a number, of a claim or a footnote.
    """
    longest = sorted((word for word in words if not word.isdigit()), key=len, reverse=True)
    either = "|".join(re.escape(word).replace(r"\ ", r"[-_\s]") for word in longest)
    return re.compile(
        rf"[*\"'`]*({either})[*\"'`]*\s*(?:$|[.:;(\[–—]|-\s|,(?!\s*{_BUT}))", re.IGNORECASE
    )


def numbered_pattern(*nouns: str) -> re.Pattern[str]:
    """Return the pattern of a line with a number before it: `1. ...`, `Claim 1: ...`."""
    return re.compile(
        rf"\s*(?:[-*•]\s+)?\**(?:(?:{'|'.join(nouns)})\s*)?[#(\[]?([0-9]{{1,4}})"
        r"(?:[.):\]]+|\s+[-–—])(?![0-9])\**\s*(.*)",
        re.IGNORECASE,
    )
