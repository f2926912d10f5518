"""Pattern: phrases as regular expressions, to be matched against folded text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from ragstone.judges.offline.refusals import REFUSALS, SOFTENERS
from ragstone.judges.offline.words import fold

_ESCAPE = re.compile(r"(\\.)")


def phrase_pattern(phrases: Iterable[str], before: str = "", after: str = "") -> re.Pattern[str]:
    """Return the pattern of the phrases, folded as the text is; escapes stay as they are."""
    parts = _ESCAPE.split(f"{before}(?:{'|'.join(phrases)}){after}")
    folded = (part if part.startswith("\\") else fold(part) for part in parts)
    return re.compile("".join(folded))


def phrase_patterns(
    phrases: Mapping[str, Sequence[str]], before: str = ""
) -> Mapping[str, re.Pattern[str]]:
    """Return the patterns of each language's phrases."""
    return MappingProxyType(
        {name: phrase_pattern(those, before) for name, those in phrases.items()}
    )


REFUSAL_PATTERNS = phrase_patterns(REFUSALS, rf"(?:(?:{'|'.join(SOFTENERS)})\s*)*")
"""Language -> how a sentence begins, in text without commas, that says that one does not know."""
