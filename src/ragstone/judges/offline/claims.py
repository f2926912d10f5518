"""Chatter: the sentences of a response that claim nothing.

Greetings, courtesies, questions to the user, announcements, headings, code, and saying that one
does not know. A sentence is chatter only where its own language has the phrase; one with a figure
claims something, whatever it begins with.
"""

import re
from functools import cache

from ragstone._internal.sentences import split_sentences
from ragstone.judges.offline.languages import (
    ANNOUNCEMENTS,
    BUTS,
    COURTESIES,
    OPENINGS,
    REFUSAL_PATTERNS,
    UNKNOWN,
    Language,
    PhrasePatterns,
    guess_language,
    phrase_pattern,
)
from ragstone.judges.offline.words import fold, lazy_pattern, split_forms, split_words
from ragstone.types.claim import Claim

SHORT = 6
"""Letters below which a text without spaces between words is too short to claim anything."""
OPENING = 400
"""Characters of a sentence that are looked at; chatter is short."""

_OPENINGS = PhrasePatterns(OPENINGS)
_CITATION = re.compile(r"\[\d{1,3}\]")
_DIGIT = re.compile(r"\d")
_FOLDED = re.compile(r"[\u200b\u200e\u200f\ufeff]")
_HEADING = lazy_pattern(r"\s*(?:#{1,6}\s|```|~~~|\*\*[^*]+\*\*:?\s*\Z)")
_QUESTION = lazy_pattern(r"[?？؟;⸮]['\"”’»)\]*_\s]*\Z")
_GREEK = re.compile("[\u0370-\u03ff]")
_TABLE_RULE = re.compile(r"[\s|:+=_*~.-]*\Z")


def is_chatter(sentence: str, language: Language) -> bool:
    """Tell whether a sentence claims nothing that a context could back.

    Questions, headings, code, courtesies, announcements and honest refusals claim nothing, nor
    does a sentence without a word that has content.
    """
    if _HEADING().match(sentence) or _TABLE_RULE.match(sentence) or _is_question(sentence):
        return True
    plain = _FOLDED.sub("", fold(sentence[:OPENING])).strip(" \t\r\n*_>-\"'“”¡¿")
    return (
        _is_courtesy(plain)
        or _announcements().match(plain) is not None
        or _is_polite(sentence, plain, language)
        or _says_nothing(sentence, language)
    )


def _is_polite(sentence: str, plain: str, language: Language) -> bool:
    """Tell whether a sentence offers help, or refuses for want of knowledge, and no more."""
    if len(sentence) > OPENING or _DIGIT.search(_CITATION.sub("", sentence)):
        return False
    said = _without_commas(plain)
    own = guess_language(sentence, tuple(word.form for word in split_words(sentence)))
    known = {language.name, own.name}
    names = OPENINGS.keys() | REFUSAL_PATTERNS.keys() if UNKNOWN.name in known else known
    patterns = (
        table[name] for table in (_OPENINGS, REFUSAL_PATTERNS) for name in names if name in table
    )
    open_recorder = (match for pattern in patterns if (match := pattern.match(said)))
    return any(_buts().search(said, match.end()) is None for match in open_recorder)


@cache
def _courtesies() -> re.Pattern[str]:
    return phrase_pattern(COURTESIES, after=r"(?:[,!.…:;）)\s]+|\Z)")


@cache
def _announcements() -> re.Pattern[str]:
    return phrase_pattern(ANNOUNCEMENTS, after=r".*[:：]\Z")


@cache
def _buts() -> re.Pattern[str]:
    return phrase_pattern(BUTS)


def _is_question(sentence: str) -> bool:
    mark = _QUESTION().search(sentence[-40:])
    return mark is not None and (mark[0][0] != ";" or _GREEK.search(sentence) is not None)


def _is_courtesy(plain: str) -> bool:
    """Tell whether the text is courtesies and nothing else."""
    while match := _courtesies().match(plain):
        plain = plain[match.end() :]
        if not plain:
            return True
    return not plain


def _without_commas(plain: str) -> str:
    return plain.replace(",", "").replace("、", "").replace("،", "")


def _says_nothing(sentence: str, language: Language) -> bool:
    words = split_words(sentence[:OPENING])
    if any(word.form.isdigit() for word in words) and len(words) > 1:
        return False
    if words and all(word.gram for word in words):
        return sum(map(str.isalpha, sentence)) < SHORT
    said = [
        word
        for word in words
        if len(word.form) > 1
        and word.form not in language.function_words
        and not word.form.isdigit()
    ]
    label = sentence.rstrip(" *_").endswith((":", "："))
    return len(said) < (4 if label else 1) or len(words) < 2


# Extraction: the claims of a response are its sentences, less what claims nothing.

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
