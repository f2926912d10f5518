"""Digit run: digits in a row, at whose beginning the patterns of most figures begin too."""

import re
from collections.abc import Iterator, Sequence

_RUN = re.compile(r"\d+")


def find_runs(text: str) -> Sequence[int]:
    """Return where the runs of digits of a text begin, in order."""
    return [match.start() for match in _RUN.finditer(text)]


def match_runs(pattern: re.Pattern[str], text: str, runs: Sequence[int]) -> Iterator[re.Match[str]]:
    """Yield what `pattern.finditer` would, for a pattern that begins with a run of digits.

    It is quicker, since a pattern that looks behind is tried at every character otherwise.
    """
    free = 0
    for start in runs:
        if start >= free and (match := pattern.match(text, start)):
            free = match.end()
            yield match
