"""Lazy pattern: a regular expression that is compiled when it is first used.

Importing the judge would take longer than its first verdict otherwise.
"""

import re
from collections.abc import Callable
from functools import cache


def lazy_pattern(pattern: str, flags: int = 0) -> Callable[[], re.Pattern[str]]:
    """Return a function that returns the pattern, compiled once."""

    @cache
    def compiled() -> re.Pattern[str]:
        return re.compile(pattern, flags)

    return compiled
