"""Frame: a phrase with a negation that denies nothing of what it is about.

Bounds (`no more than two`), reminders (`do not forget`), `not until`, `no doubt`.
The verbs and nouns are exact: `not open` still denies.
"""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ragstone.judges.offline.lazy_pattern import lazy_pattern

_FRAMES = {
    "en": r"(?:no|not|never)\s(?:more|less|fewer|longer|later|earlier|higher|lower|greater)\sthan\b"
    r"|(?:not|don't|doesn't|never)\s(?:[^\W\d_]+\s){0,4}?until\b"
    r"|(?:not|don't|never)\s(?:forget|hesitate)\b"
    r"|no\s(?:doubt|wonder|matter|problem)\b|without\s(?:a\s)?doubt\b"
    r"|not\s(?:possible\s|allowed\s|accepted\s|valid\s)(?:[^\W\d_]+\s){0,3}?after\b",
    "de": r"nicht\s(?:mehr|weniger|länger|später|höher|früher)\sals\b|nicht\svergessen\b"
    r"|kein(?:en)?\szweifel\b|ohne\szweifel\b",
    "fr": r"(?:pas|jamais)\s(?:plus|moins)\sde\b|pas\s(?:d'|de\s)?(?:oublier|doute)\b|sans\sdoute\b"
    r"|pas\s(?:[^\W\d_]+\s){0,3}?avant\b",
    "es": r"no\s(?:más|menos)\sde\b|no\s(?:se\s)?olvid\w+|no\s(?:[^\W\d_]+\s){0,4}?hasta\b"
    r"|sin\sduda\b|no\shay\sduda\b",
    "pt": r"não\s(?:mais|menos)\s(?:de|do\sque)\b|não\s(?:se\s)?esque[çc]\w+|sem\sdúvida\b"
    r"|não\s(?:[^\W\d_]+\s){0,4}?até\b",
    "it": r"non\s(?:più|meno)\sdi\b|non\sdimentica\w*|senza\sdubbio\b",
    "nl": r"niet\s(?:meer|minder|langer|later)\sdan\b|vergeet\sniet\b",
    "ru": r"не\s(?:более|менее|больше|меньше)\b|не\sзабуд\w+|не\sзабыва\w+|без\sсомнени\w+",
    "ar": r"لا\sتنس\w*",
}
_BEFORE = {
    "fr": r"(?:oubli\w+|doute\w*)\s\Z",
    "de": r"vergessen\ssie\s\Z|vergiss\s\Z",
}
"""What stands before the negation in a frame, where that decides it: N'oubliez pas."""
_CORRECTION = re.compile(r"\s?(?:[$€£¥]\s?)?\d")
_AFTER = MappingProxyType(
    {name: lazy_pattern(frame, re.IGNORECASE) for name, frame in _FRAMES.items()}
)
_AHEAD: Mapping[str, Callable[[], re.Pattern[str]]] = MappingProxyType(
    {name: lazy_pattern(frame, re.IGNORECASE) for name, frame in _BEFORE.items()}
)
_LINE = 80


def is_framed(text: str, start: int, end: int, name: str) -> bool:
    """Tell whether the negation at a place only bounds, reminds or corrects.

    A negation with nothing but a figure after it (`172 g, not 180 g`) corrects that figure.
    """
    after, before = _AFTER.get(name), _AHEAD.get(name)
    if after and after().match(text, start, start + _LINE):
        return True
    if before and before().search(text[max(0, start - 20) : start]):
        return True
    return text[:start].rstrip().endswith((",", "(", "，")) and _corrects(text, end)


def _corrects(text: str, end: int) -> bool:
    return _CORRECTION.match(text, end) is not None
