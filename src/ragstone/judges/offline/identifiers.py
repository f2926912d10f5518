"""Code: a number that is a name, such as a version or a telephone number, and counts nothing."""

import re
from collections.abc import Iterator, Set
from itertools import islice
from types import MappingProxyType

from ragstone.judges.offline.quantity import Quantity
from ragstone.judges.offline.words import fold, lazy_pattern

MOST = 20_000
"""Codes of each form that are read in one text."""
_NUMBERED = r"(?:\s?:|\s(?:is|number|no\.?|nummer|numéro|número|numero|номер))*\s*"
_DECIMAL = r"\d{1,9}(?:\.\d{1,9})+"
_END = r"(?![^\W_])(?!\.\d)"
_PATTERNS = tuple(
    lazy_pattern(pattern, re.IGNORECASE)
    for pattern in (
        r"(?<![\w.])(?!\d{1,3}(?:\.\d{3})+(?![\d.]))(?P<digits>\d{1,9}(?:\.\d{1,9}){2,9})" + _END,
        rf"(?<![\w.])(?P<v>v)(?P<digits>{_DECIMAL}){_END}",
        r"(?<![\w&])(?P<hash>\#)(?P<digits>\d{1,30})" + _END,
        r"\b(?P<label>versi[oó]n|versione|versie|versão|versjon|wersja|verze|sürüm|версия|версии"
        r"|release|firmware|section|chapter|clause|article|abschnitt|kapitel|section|sección)"
        + _NUMBERED
        + rf"(?P<digits>{_DECIMAL}){_END}",
        r"\b(?P<label>code|pin|zip|postcode|id|serial|plz|postleitzahl|código|codice)"
        + _NUMBERED
        + r"(?P<digits>0\d{1,30})"
        + _END,
        r"\b(?P<label>phone|telephone|tel|fax|mobile|hotline|telefon|téléphone|teléfono|telefono"
        r"|telefone|телефон)\.?"
        + _NUMBERED
        + r"(?P<digits>\+?\(?\d(?:[ \u00a0()./-]{0,2}\d){5,19})"
        + _END,
        r"\b(?P<label>number|no\.|nummer|numéro|número|numero|номер|id|code|serial)"
        + _NUMBERED
        + r"(?P<digits>\d{1,12}(?:-\d{1,12}){1,5})"
        + _END,
    )
)
_POINT = re.compile(r"\d\.\d")
_LABELS = tuple(
    frozenset(map(fold, labels.split()))
    for labels in (
        """version versión versione versie versão versjon wersja verze sürüm версия версии release
        firmware section chapter clause article abschnitt kapitel sección""",
        "code pin zip postcode id serial plz postleitzahl código codice",
        """phone telephone tel fax mobile hotline telefon téléphone teléfono telefono telefone
        телефон""",
        "number no nummer numéro número numero номер id code serial",
    )
)
"""What a text has to have of each form with a label: the forms take long, most texts have none."""
_SAME = MappingProxyType({"v": "version", "hash": "#"})
_SEPARATORS = re.compile(r"[^\d.]|\.(?=.*[^\d.])")
_WORD_BEFORE = re.compile(r"([^\s\d]+)\s\Z")


def find_codes(text: str, words: Set[str]) -> Iterator[Quantity]:
    """Yield the codes of a text, whose folded words are given, each form in order."""
    has_point = _POINT.search(text) is not None
    labelled = [not words.isdisjoint(labels) for labels in _LABELS]
    worth = (has_point, has_point, "#" in text, has_point and labelled[0], *labelled[1:])
    for pattern, is_worth in zip(_PATTERNS, worth, strict=True):
        if not is_worth:
            continue
        for match in islice(pattern().finditer(text), MOST):
            yield _code(text, match)


def _code(text: str, match: re.Match[str]) -> Quantity:
    parts = match.groupdict()
    label = parts.get("label") or next((_SAME[kind] for kind in _SAME if parts.get(kind)), "")
    start = match.start("v" if parts.get("v") else "hash" if parts.get("hash") else "digits")
    if not label and (word := _WORD_BEFORE.search(text[max(0, start - 40) : start])):
        label = word[1]
    value = {float(".".join(_SEPARATORS.sub("", match["digits"]).split(".")[:2])): 1.0}
    return Quantity(
        readings=value,
        written=value,
        dimension="",
        noun="",
        before=fold(label),
        start=start,
        end=match.end(),
        shown=text[start : match.end()],
        digits=_SEPARATORS.sub("", match["digits"]),
        is_code=True,
    )
