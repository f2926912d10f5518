"""Claims of a response: its sentences, without those that state nothing.

Greetings, courtesies, questions to the user, announcements, headings, code and refusals state
nothing. A phrase counts only in its own language. A sentence with a figure always states
something, but mentions of sources, such as `according to Passage 2`, count as nothing.
"""

import re
from functools import cache

from ragstone._internal.sentences import split_sentences
from ragstone.judges.offline import words
from ragstone.types.claim import Claim

MIN_LETTERS = 6
MAX_OPENING = 400
_CITATION = re.compile(r"\[\d{1,3}\]")
_CITATIONS = r"\s?[\[【](?:\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*|[^\[\]\s]{1,40})[\]】](?!\()"
"""Citations such as `[1, 3]` and `[doc-7]`."""
_SIGNS = """
[ ( passage context document source excerpt snippet chunk result kontext dokument quelle abschnitt
extrait fuente pasaje fragmento contesto fonti fonte bran passagen trecho""".split()
"""Every mention in ASCII has one of these."""
_DIGIT = re.compile(r"\d")
_INVISIBLE = re.compile(r"[\u200b\u200e\u200f\ufeff]")
_HEADING = words.lazy_pattern(r"\s*(?:#{1,6}\s|```|~~~|\*\*[^*]+\*\*:?\s*\Z)")
_QUESTION = words.lazy_pattern(r"[?？؟;⸮]['\"”’»)\]*_\s]*\Z")
_GREEK = re.compile("[\u0370-\u03ff]")
_TABLE_RULE = re.compile(r"[\s|:+=_*~.-]*\Z")
_MARKER = words.lazy_pattern(
    r"\s*(?:(?:[-*+•‣◦▪●○■□➢➤·–—>|]|\(?\d{1,3}[.)、）]|[①-⑳]|\(?[a-z]\)|\[[ xX]\])\s+)*"
    r"[|\s]*"
)
_TRAIL = re.compile(r"[|\s]*\Z")
_EMPHASIS = ("***", "**", "__", "*", "_")
_YES_NO = words.lazy_pattern(
    r"(?:yes|no|sure|certainly|of course|absolutely|ja|nein|natürlich|oui|non|bien sûr|sí|sim|não|"
    r"claro|sì|certo|nee|nej|tak|nie|да|нет|конечно|evet|hayır|ya|vâng|có|是的|当然|はい|نعم|हाँ)"
    r"\s?[,，:：–—、،-]\s?(?=\w)",
    re.IGNORECASE,
)


def extract_claims(response: str) -> tuple[Claim, ...]:
    """Return the distinct claims in order, without list markers, emphasis and an opening `Yes,`."""
    language = words.guess_language(response, words.split_forms(response[:4000]))
    claims: dict[str, Claim] = {}
    for sentence in split_sentences(response):
        start, end = sentence.start, sentence.end
        if marker := _MARKER().match(response, start, end):
            start = marker.end()
        if trail := _TRAIL.search(response, max(start, end - 20), end):
            end = max(start, trail.start())
        for mark in _EMPHASIS:
            inner = response[start + len(mark) : end - len(mark)]
            is_closed = response.endswith(mark, start + len(mark), end)
            if response.startswith(mark, start) and is_closed and mark not in inner:
                start, end = start + len(mark), end - len(mark)
        if opening := _YES_NO().match(response, start, end):
            start = opening.end()
        text = response[start:end]
        if not is_chatter(sentence.text, language) and not is_chatter(
            remove_mentions(text), language
        ):
            key = " ".join(text.casefold().split())
            claims.setdefault(key, Claim(text=text, span=(start, end)))
    return tuple(claims.values())


@cache
def _mentions() -> re.Pattern[str]:
    nouns, given = (
        "|".join(words.phrases_of("any", f"source_{name}")) for name in ("nouns", "given")
    )
    numbers = r"\s*#?\d{1,3}(?:\s*(?:,|&|and|und|et|y|e|-|–)\s*\d{1,3})*"
    the = r"(?:(?:the|all|die|der|den|dem|des|le|la|les|el|los|las|os|as|il|i)\s)?"
    named = (
        rf"{the}(?:(?:{given})\s(?:{nouns})(?:{numbers})?|(?:{nouns})(?:{numbers}|\s(?:{given})))"
        r"|(?:the|dem|le|el|o|il)\s(?:kontext|context[eo]?|contesto)"
    )
    phrases = "|".join(words.phrases_of("any", "source_mentions")).replace("NOUN", f"(?:{named})")
    return re.compile(
        rf"{_CITATIONS}|(?<=[.,;!?)])[¹²³⁰⁴-⁹]+|\A[\s*_]*(?:{nouns}){numbers}[\s*_]*:"
        rf"|(?<!\w)(?:{phrases})(?:(?<=\W)|(?!\w))",
        re.IGNORECASE,
    )


def remove_mentions(text: str) -> str:
    lower = text.lower()  # the pattern is slow, and most texts mention none
    if lower.isascii() and not any(sign in lower for sign in _SIGNS):
        return text
    return _mentions().sub("", text)


def is_chatter(sentence: str, language: words.Language) -> bool:
    if _HEADING().match(sentence) or _TABLE_RULE.match(sentence):
        return True
    question = _QUESTION().search(sentence[-40:])
    if question and (question[0][0] != ";" or _GREEK.search(sentence)):
        return True
    plain = _INVISIBLE.sub("", words.fold(sentence[:MAX_OPENING])).strip(" \t\r\n*_>-\"'“”¡¿")
    courtesies, announcement, contrasts = _sentence_phrases()
    rest = plain
    while rest and (courtesy := courtesies.match(rest)):
        rest = rest[courtesy.end() :]
    if not rest or announcement.match(plain):
        return True
    spoken = words.split_words(sentence[:MAX_OPENING])
    if len(sentence) <= MAX_OPENING and not _DIGIT.search(_CITATION.sub("", sentence)):
        text = plain.translate(dict.fromkeys(map(ord, ",、،")))
        own = words.guess_language(sentence, tuple(word.form for word in spoken))
        names = {language.name, own.name}
        for name in words.word_lists() if words.UNKNOWN.name in names else names:
            for kind in ("openings", "refusals"):
                pattern = words.sentence_pattern(name, kind)
                opening = pattern.match(text) if pattern else None
                if opening and contrasts.search(text, opening.end()) is None:
                    return True
    if any(word.form.isdigit() for word in spoken) and len(spoken) > 1:
        return False
    if spoken and all(word.gram for word in spoken):
        return sum(map(str.isalpha, sentence)) < MIN_LETTERS
    content = [
        word
        for word in spoken
        if len(word.form) > 1
        and word.form not in language.function_words
        and not word.form.isdigit()
    ]
    is_label = sentence.rstrip(" *_").endswith((":", "："))
    return len(content) < (4 if is_label else 1) or len(spoken) < 2


@cache
def _sentence_phrases() -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    return (
        words.phrase_pattern(words.phrases_of("any", "courtesies"), after=r"(?:[,!.…:;）)\s]+|\Z)"),
        words.phrase_pattern(words.phrases_of("any", "announcements"), after=r".*[:：]\Z"),
        words.phrase_pattern(words.phrases_of("any", "contrasts")),
    )
