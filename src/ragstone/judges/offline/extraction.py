"""Extraction: the claims of a response are its sentences, less what claims nothing."""

import re

from ragstone.claims import Claim
from ragstone.judges.offline.chatter import is_chatter
from ragstone.judges.offline.languages import guess_language
from ragstone.judges.offline.lazy_pattern import lazy_pattern
from ragstone.judges.offline.words import split_forms
from ragstone.sentences import split_sentences

_MARKER = lazy_pattern(
    r"\s*(?:(?:[-*+•‣◦▪●○■□➢➤·–—>|]|\(?\d{1,3}[.)、）]|[①-⑳]|\(?[a-z]\)|\[[ xX]\])\s+)*"
    r"[|\s]*"
)
_TRAIL = re.compile(r"[|\s]*\Z")
_EMPHASIS = ("***", "**", "__", "*", "_")
_OPENING = lazy_pattern(
    r"(?:yes|no|sure|certainly|of course|absolutely|ja|nein|natürlich|oui|non|bien sûr|sí|sim|não|"
    r"claro|sì|certo|nee|nej|tak|nie|да|нет|конечно|evet|hayır|ya|vâng|có|是的|当然|はい|نعم|हाँ)"
    r"\s?[,，:：–—、،-]\s?(?=\w)",
    re.IGNORECASE,
)


def extract_claims(response: str) -> tuple[Claim, ...]:
    """Return the claims of a response in order; `claim.text` is `response[start:end]` of its span.

    Left out: chatter, headings, code blocks, and a claim that was made before.
    """
    language = guess_language(response, split_forms(response[:4000]))
    claims: dict[str, Claim] = {}
    for sentence in split_sentences(response):
        start, end = _trim(response, sentence.start, sentence.end)
        text = response[start:end]
        if is_chatter(sentence.text, language) or is_chatter(text, language):
            continue
        claims.setdefault(" ".join(text.casefold().split()), Claim(text=text, span=(start, end)))
    return tuple(claims.values())


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the span without list markers, emphasis around it, and an opening `Yes,`."""
    if marker := _MARKER().match(text, start, end):
        start = marker.end()
    if trail := _TRAIL.search(text, max(start, end - 20), end):
        end = max(start, trail.start())
    for mark in _EMPHASIS:
        inner = text[start + len(mark) : end - len(mark)]
        whole = text.startswith(mark, start) and text.endswith(mark, start + len(mark), end)
        if whole and mark not in inner:
            start, end = start + len(mark), end - len(mark)
    if opening := _OPENING().match(text, start, end):
        start = opening.end()
    return start, end
