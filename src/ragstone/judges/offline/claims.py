"""Claims of a response: its sentences, without those that state nothing.

Greetings, questions to the user, announcements, headings, code, refusals and mentions of sources
state nothing; a sentence with a figure always does.
"""

import re
from functools import cache

from ragstone._internal.marks import remove_mentions
from ragstone._internal.sentences import Sentence, split_sentences
from ragstone.judges.offline import words
from ragstone.types.claim import Claim

MAX_OPENING = 400
_DIGIT = re.compile(r"(?<!\[)(?<!\[\d)(?<!\[\d\d)\d")
_INVISIBLE = re.compile(r"[\u200b\u200e\u200f\ufeff]")
_COMMAS = str.maketrans("", "", ",、،")
_HEADING = words.lazy_pattern(r"\s*(?:#{1,6}\s|```|~~~|\*\*[^*]+\*\*:?\s*\Z)|[\s|:+=_*~.-]*\Z")
_QUESTION = words.lazy_pattern(r"(?:[?？؟⸮]|(?<=[\u0370-\u03ff]);)['\"”’»)\]*_\s]*\Z")
_MARKER = words.lazy_pattern(
    r"\s*(?:(?:[-*+•‣◦▪●○■□➢➤·–—>|]|\(?\d{1,3}[.)、）]|[①-⑳]|\(?[a-z]\)|\[[ xX]\])\s+)*"
    r"[|\s]*"
)
_EMPHASIS = re.compile(r"(\*{1,3}|__?)((?:(?!\1).)+)\1", re.DOTALL)
_YES_NO = words.lazy_pattern(
    r"(?i:yes|no|sure|certainly|of course|absolutely|ja|nein|natürlich|oui|non|bien sûr|sí|sim|não|"
    r"claro|sì|certo|nee|nej|tak|nie|да|нет|конечно|evet|hayır|ya|vâng|có|是的|当然|はい|نعم|हाँ)"
    r"\s?[,，:：–—、،-]\s?(?=\w)"
)


def extract_claims(response: str) -> tuple[Claim, ...]:
    """Return the distinct claims in order, without list markers, emphasis and an opening `Yes,`."""
    language = words.guess_language(response, words.split_forms(response[: words.SAMPLE]))
    claims: dict[str, Claim] = {}
    for sentence in split_sentences(response):
        start, end = sentence.start, sentence.end
        if marker := _MARKER().match(response, start, end):
            start = marker.end()
        end = start + len(response[start:end].rstrip("| \t\r\n"))
        if emphasis := _EMPHASIS.fullmatch(response, start, end):
            start, end = emphasis.span(2)
        if opening := _YES_NO().match(response, start, end):
            start = opening.end()
        text = response[start:end]
        rest = remove_mentions(text)
        if not (_is_chatter(sentence.text, language) or _is_chatter(rest, language)):
            key = " ".join(text.casefold().split())
            claims.setdefault(key, Claim(text=text, span=(start, end)))
    return tuple(claims.values())


@cache
def _phrase(kind: str) -> re.Pattern[str]:
    softeners = "|".join(words.word_lists()["softeners"])
    before = rf"(?:(?:{softeners})\s*)*" if kind == "refusals" else ""
    after = {"courtesies": r"(?:[,!.。…:;）)\s]+|\Z)", "announcements": r".*[:：]\Z"}.get(kind, "")
    return words.phrase_pattern(kind, before, after)


def _plain(sentence: str) -> str:
    return _INVISIBLE.sub("", words.fold(sentence[:MAX_OPENING])).strip(" \t\r\n*_>-\"'“”¡¿")


def is_refusal(sentence: Sentence) -> bool:
    return _phrase("refusals").match(_plain(sentence.text).translate(_COMMAS)) is not None


def _is_chatter(sentence: str, language: words.Language) -> bool:
    if _HEADING().match(sentence) or _QUESTION().search(sentence[-40:]):
        return True
    rest = plain = _plain(sentence)
    while rest and (courtesy := _phrase("courtesies").match(rest)):
        rest = rest[courtesy.end() :]
    if not rest or _phrase("announcements").match(plain):
        return True
    if len(sentence) <= MAX_OPENING and not _DIGIT.search(sentence):
        text = plain.translate(_COMMAS)
        opening = _phrase("refusals").match(text) or _phrase("openings").match(text)
        if opening and not _phrase("contrasts").search(text, opening.end()):
            return True
    spoken = words.split_words(sentence[:MAX_OPENING])
    if len(spoken) > 1 and any(word.form.isdigit() for word in spoken):
        return False
    plain_words = language.function_words
    content = [word for word in spoken if len(word.form) > 1 and word.form not in plain_words]
    is_label = sentence.rstrip(" *_").endswith((":", "："))
    is_sentence = len(spoken) > 1 or (spoken and spoken[0].gram and plain.endswith(("。", "!")))
    return len(content) < (4 if is_label else 1) or not is_sentence
