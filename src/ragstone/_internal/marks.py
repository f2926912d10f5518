"""Marks and mentions of sources: `[1]`, `(Source: a.pdf, p. 3)`, `¹`, `According to Passage 2,`.

What may also be content, such as `(1)`, is a mark only at the end of a sentence.
"""

import re
from functools import cache
from typing import NamedTuple
from unicodedata import normalize

NOUNS = (
    "passages?|contexts?|documents?|sources?|excerpts?|snippets?|chunks?|search results?|passagen?|"
    "kontext|dokumente?n?|quellen?|abschnitte?n?|contextes?|extraits?|contextos?|documentos?|"
    "fuentes?|pasajes?|fragmentos?|contesto|documenti?|fonti|fonte|brani?|passagens?|trechos?|"
    r"контекст\w*|документ\w*|источник\w*|संदर्भ|दस्तावेज़|स्रोत|अंश|来源|出典|文档|段落|资料"
)
ORIGIN = "sources?|ref(?:erence)?s?|quellen?|fuentes?|fonti|fontes?|источники?|来源|出典"
_NUMBER = r"[\^#]?\d{1,3}(?:\s?[-–—]\s?\d{1,3})?"
PAGE = rf"(?:pp?\.|pages?|seiten?|s\.|págs?\.|páginas?)\s?{_NUMBER}"
_FILE = r"[\w.-]{1,60}\.(?:pdf|md|html?|txt|docx?|json|csv|xlsx?|pptx?)|https?://[^\s()\[\]]{1,150}"
ID = r"[a-z]{1,20}[-_:#]?\d{1,6}"  # such as doc-7


def _some(item: str) -> str:
    return rf"(?:{item})(?:\s?(?:[,;&、，；]|\b(?:and|und|et|y)\b)\s?(?:{item})){{0,20}}"


_WORDED = rf"(?:doc\.?|{ORIGIN}|{NOUNS})\.?\s?[:：]?\s?(?:{_NUMBER}|{ID}|{_FILE})|{PAGE}|{_FILE}"
_LABELLED = rf"(?:{ORIGIN})\s?[:：]"
_SURE = rf"(?:(?:see|cf\.|siehe|voir|ver)\s)?{_some(_WORDED)}|{_LABELLED}.+"
_AUTHORS = r"(?-i:[A-Z])[\w'’-]+(?:\s(?:&|and)\s(?-i:[A-Z])[\w'’-]+|\set\sal\.?)?"
_UNSURE = (
    rf"{_some(rf'{_NUMBER}|(?-i:[a-z]{{1,8}}[-_]?[0-9]{{1,4}})')}"
    rf"|{_AUTHORS},\s(?:19|20)\d\d[a-z]?(?:,\s{PAGE})?"
)
_SQUARE = rf"{_some(f'{_NUMBER}|{ID}')}|[\d:]+†.*|(?=\S*[\d._:/#-])\S{{1,40}}|sic"
_RAISED_BEFORE = r"(?<![\dµ])(?<!\b[A-Za-zµ])(?<!\b[A-Za-zµ]{2})"  # not in 10 m² or mc^2
_BRACKETS = (
    r"\[(?P<square>[^\[\]\n]{1,200})\](?:\(<?(?P<target>[^()\s<>]{1,500})[^()\n]{0,200}\))?|［(?P<square2>[^［］\n]{1,200})］"
    r"|【(?P<square3>[^【】\n]{1,200})】|<cite>(?P<square4>[^<>\n]{1,200})</cite>"
    r"|\((?P<round>[^()\n]{1,200})\)|（(?P<round2>[^（）\n]{1,200})）"
    rf"|{_RAISED_BEFORE}(?:\^\[?(?P<raised>\d{{1,3}})\b\]?|(?P<raised2>[¹²³⁰⁴-⁹]+)"
    r"|<sup>\[?(?P<raised3>\d[\d,;\s–-]{0,20})\]?</sup>)"
    r"|\{(?P<round3>[^{}\n]{1,40})\}|<(?P<round4>[^<>/\n]{1,40})>"
)
_LAST = (
    rf"(?:[—–]|--|\A|(?<=[.!?。])\s)\s*(?P<last>{_LABELLED}\s?{_some(f'{_WORDED}|{_NUMBER}|{ID}')}"
    rf"|{_some(_WORDED)})(?=[\s.]*\Z)"
)
_SIGN = r"[\[(（［【{<^¹²³⁰⁴-⁹]"  # the other patterns are slow, and most texts have none
_END = r"[\s*_\"'”’»]*(?:[.!?…。！？।]|\n|\Z)"


_SIGNS = (  # every mention in ASCII has one of these
    "passag cont kont dokument document quelle source abschnitt excerpt extrait snippet chunk "
    "result fuente pasaje fragmento fonti fonte bran trecho"
).split()
_GIVEN = (
    "provided|given|retrieved|supplied|above|bereitgestellten|gegebenen|angegebenen|fournie?s?|"
    r"donnés?|proporcionad[oa]s?|fornecid[oa]s?|fornit[oie]|предоставленн\w+|दिए गए"
)
_NUMBERS = r"\s*#?\d{1,3}(?:\s*(?:,|&|and|und|et|y|e|-|–)\s*\d{1,3})*"
_NAMED = (
    r"(?:(?:(?:the|all|die|der|den|dem|des|le|la|les|el|los|las|os|as|il|i)\s)?"
    rf"(?:(?:{_GIVEN})\s(?:{NOUNS})(?:{_NUMBERS})?|(?:{NOUNS})(?:{_NUMBERS}|\s(?:{_GIVEN})))"
    r"|(?:the|dem|le|el|o|il)\s(?:kontext|context[eo]?|contesto))"
)
_PHRASES = (
    rf"[(（](?:see )?{_NAMED}[)）]|(?:according to|(?:as )?(?:based|described|mentioned|noted|"
    r"shown|stated) (?:on|in|by)|as per|laut|gemäß|nach|basierend auf|selon|d['’]après|según|"
    r"segundo|secondo|согласно|de acuerdo con|de acordo com|d[ei] accordo con|en base a|"
    rf"con base en|com base em) {_NAMED},?|{_NAMED} (?:(?:also )?(?:states?|say(?:s)?|"
    r"mentions?|notes?|explains?|describes?|indicates?|shows?|suggests?) that|"
    r"(?:के अनुसार|में कहा गया है कि),?)|"
    r"(?:根据|根據|依据)(?:所?提供的|给定的)?(?:上下文|文档|文件|资料|段落|来源)\s*\d*[，,]?"
)
_MENTIONS = rf"\A[\s*_]*(?:{NOUNS}){_NUMBERS}[\s*_]*:|(?<!\w)(?:{_PHRASES})(?:(?<=\W)|(?!\w))"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


class WrittenMark(NamedTuple):
    """A text in brackets or raised: where it is, and whether its form makes it a mark."""

    start: int
    end: int
    text: str
    target: str | None  # of a Markdown link
    is_clear: bool  # no other use is likely: square or raised
    is_mark: bool


def find_marks(text: str) -> list[WrittenMark]:
    """Return every text in brackets, since any may be the id of a source, and what is raised."""
    found = list(_compiled(_BRACKETS).finditer(text))
    marks: list[WrittenMark] = []
    begin = len(text)  # of the marks at the end of the sentence
    for match in reversed(found):
        start, end = match.span()
        target, shape = match["target"], match.lastgroup or ""
        inner = (match["square"] if target else match[shape]).strip()
        is_square, is_raised = bool(target) or "square" in shape, "raised" in shape
        is_last = (begin - end < 4 and not text[end:begin].strip()) or bool(
            _compiled(_END).match(text, end)
        )
        is_mark = is_raised or any(
            _compiled(form).fullmatch(inner)
            for form, applies in (
                (_SURE, True),
                (_SQUARE, is_square),
                (_UNSURE, is_last),
                (r"\S+", is_square and is_last and not target),
            )
            if applies
        )
        if is_mark and is_last:
            begin = start
        inner = normalize("NFKC", inner) if is_raised else inner
        marks.append(WrittenMark(start, end, inner, target, is_square or is_raised, is_mark))
    return marks[::-1]


def remove_mentions(text: str) -> str:
    """Return a sentence without marks and mentions of sources."""
    if _compiled(_SIGN).search(text):
        for mark in reversed([mark for mark in find_marks(text) if mark.is_mark]):
            text = text[: mark.start].rstrip(" ") + text[mark.end :]
    ending = text[-200:].rstrip(" .\n")
    is_name = ending[-1:].isdigit() or "." in ending[-6:] or "://" in ending
    if is_name and (last := _compiled(_LAST).search(text)):
        text = text[: last.start()] + text[last.end() :]
    lower = text.lower()  # the pattern is slow, and most texts mention none
    if lower.isascii() and not any(sign in lower for sign in _SIGNS):
        return text
    return _compiled(_MENTIONS).sub("", text)
