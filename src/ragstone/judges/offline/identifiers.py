"""Identifiers: numbers that name something, such as versions and telephone numbers."""

import re
from collections.abc import Iterator, Set
from itertools import compress, islice

from ragstone.judges.offline.quantity import Quantity
from ragstone.judges.offline.words import MAX_MATCHES, fold, lazy_pattern

_NUMBERED = r"(?:\s?:|\s(?:is|number|no\.?|nummer|numéro|número|numero|номер))*\s*"
_DECIMAL = r"\d{1,9}(?:\.\d{1,9})+"
_END = r"(?![^\W_])(?!\.\d)"
_LABELS = (
    """version versión versione versie versão versjon wersja verze sürüm версия версии release
    firmware section chapter clause article abschnitt kapitel sección""",
    "code pin zip postcode id serial plz postleitzahl código codice",
    "phone telephone tel fax mobile hotline telefon téléphone teléfono telefono telefone телефон",
    r"number no\. nummer numéro número numero номер id code serial",
)
_LABEL_WORDS = [{fold(label.rstrip(r"\.")) for label in labels.split()} for labels in _LABELS]
"""The words that each form with a label needs: the forms are slow, and most texts have none."""
_VERSION, _CODE, _PHONE, _NUMBER = (
    rf"\b(?P<label>{'|'.join(labels.split())})" for labels in _LABELS
)
_PATTERNS = tuple(
    lazy_pattern(pattern + _END, re.IGNORECASE)
    for pattern in (
        r"(?<![\w.])(?!\d{1,3}(?:\.\d{3})+(?![\d.]))(?P<digits>\d{1,9}(?:\.\d{1,9}){2,9})",
        rf"(?<![\w.])(?P<v>v)(?P<digits>{_DECIMAL})",
        r"(?<![\w&])(?P<hash>\#)(?P<digits>\d{1,30})",
        rf"{_VERSION}{_NUMBERED}(?P<digits>{_DECIMAL})",
        rf"{_CODE}{_NUMBERED}(?P<digits>0\d{{1,30}})",
        rf"{_PHONE}\.?{_NUMBERED}(?P<digits>\+?\(?\d(?:[ \u00a0()./-]{{0,2}}\d){{5,19}})",
        rf"{_NUMBER}{_NUMBERED}(?P<digits>\d{{1,12}}(?:-\d{{1,12}}){{1,5}})",
    )
)
_POINT = re.compile(r"\d\.\d")
_SEPARATORS = re.compile(r"[^\d.]|\.(?=.*[^\d.])")
_WORD_BEFORE = re.compile(r"([^\s\d]+)\s\Z")


def find_codes(text: str, words: Set[str]) -> Iterator[Quantity]:
    """Yield the identifiers of a text with these folded words, form by form."""
    has_point = _POINT.search(text) is not None
    labelled = [not words.isdisjoint(labels) for labels in _LABEL_WORDS]
    possible = (has_point, has_point, "#" in text, has_point and labelled[0], *labelled[1:])
    for pattern in compress(_PATTERNS, possible):
        for match in islice(pattern().finditer(text), MAX_MATCHES):
            parts = match.groupdict()
            label, first = parts.get("label", ""), "digits"
            for group, name in (("v", "version"), ("hash", "#")):
                if parts.get(group):
                    label, first = name, group
            start = match.start(first)
            if not label and (word := _WORD_BEFORE.search(text[max(0, start - 40) : start])):
                label = word[1]
            digits = _SEPARATORS.sub("", match["digits"])
            value = {float(".".join(digits.split(".")[:2])): 1.0}
            yield Quantity(
                readings=value,
                written=value,
                dimension="",
                noun="",
                before=fold(label),
                start=start,
                end=match.end(),
                shown=text[start : match.end()],
                digits=digits,
                is_code=True,
            )
