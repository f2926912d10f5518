"""Whether a list of claims fits its response: what it leaves out, and what it adds."""

import re
from collections.abc import Iterable, Sequence

from ragstone._internal.sentences import Sentence
from ragstone.judges.offline import words
from ragstone.judges.offline.claims import extract_claims, remove_mentions
from ragstone.judges.offline.figures import find_figures

FEWEST_WORDS = 3  # content words below which a sentence is too short to need a claim
LEAST = 0.5  # share of a sentence's content words that its claims have
LEAST_OF_SUMMARY = 0.25  # of a sentence that most likely repeats others
MOST_NEW = 0.5  # share of a claim's content words that may be new, in other forms or of the judge
COUNTED = 20  # numbers up to this one are also spelled out, or count a list
LARGE = 1e15  # figures from which on floats are not exact
MOST_SPELLED = 4000  # characters from which the language is guessed
SHORTEST = 4  # letters of a content word

_NUMBER = re.compile(r"\d+")
_SEPARATOR = re.compile(r"(?<=\d)[,.'’\u00a0\u202f ](?=\d\d\d(?!\d))")  # of thousands
_SUMMARY = re.compile(
    r"\A\W*(?:\d+\.\s*)?(?:therefore|thus|hence|so|overall|either|in (?:summary|conclusion|short)"
    r"|to (?:sum up|summari[sz]e)|according to|based on|from (?:the|these))\b",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"\A\W*\d+[.)]\s")
_SOURCES = "(?:passage|context|source|document)s?"
_ANNOUNCES = re.compile(  # an introduction, or a remark about the sources or the answer
    rf"\b{_SOURCES}(?: \d+)? (?:\w+ ){{0,3}}"
    r"(?:provide|suggest|mention|describe|discuss|contain|state)"
    r"|(?:\bnot|n['’]t) (?:\w+ly )?"
    r"(?:addressed|explained|given|mentioned|provided|specified|stated)\b"
    r"|\b(?:ask|check with|consult|contact|speak (?:to|with))\b.{0,60}"
    r"\b(?:doctor|expert|manufacturer|physician|professional|specialist|support|team)\b"
    rf"|\bno {_SOURCES} |\b(?:cannot|can't|unable to) (?:answer|provide)|[:：][\s*_]*\Z"
    r"|\b(?:several|various|many|multiple|a number of|different|two|three|four|five|six|\d+)"
    r" (?:\w+ )?(?:advantages|aspects|benefits|causes|differences|effects|examples|factors|methods"
    r"|options|points|reasons|steps|symptoms|things|types|uses|ways)\b[^,;:]*\Z",
    re.IGNORECASE,
)


def _content(text: str) -> set[str]:
    """Return numbers, the stems of content words, and pieces of text that has no spaces."""
    forms = words.split_forms(text)
    return {
        words.stem(form)
        for form in forms
        if len(form) >= SHORTEST or form.isdigit() or not form.isascii()
    }


def _spelled(text: str) -> set[str]:
    """Return the whole numbers of a text that are written in words, such as twenty."""
    forms = words.split_forms(text[:MOST_SPELLED])
    figures = find_figures(text, words.guess_language(text, forms))
    values = [value / figure.factor for figure in figures for value in figure.values]
    return {str(round(value)) for value in values if abs(value) < LARGE}


def uncovered(sentences: Iterable[Sentence], claims: Sequence[str]) -> tuple[str, ...]:
    """Estimate which sentences state something and have no claim, and rather miss one."""
    covered = _content(" ".join(claims))
    left: list[str] = []
    for sentence in sentences:
        text = _SUMMARY.sub("", _LIST_NUMBER.sub("", sentence.text))
        least = LEAST_OF_SUMMARY if _SUMMARY.match(sentence.text) else LEAST
        content = _content(remove_mentions(text))
        is_short = len(content) < FEWEST_WORDS
        if claims and (is_short or len(content & covered) >= least * len(content)):
            continue
        if not _ANNOUNCES.search(sentence.text) and extract_claims(sentence.text):
            left.append(sentence.text)
    return tuple(left)


def invented(claims: Iterable[str], *sources: str) -> str | None:
    """Return the first claim with a number or mostly words that are in none of the sources."""
    text = " ".join(sources)
    content, forms = _content(text), set(words.split_forms(text))
    numbers = {*_NUMBER.findall(text), *_NUMBER.findall(_SEPARATOR.sub("", text))}
    for claim in claims:
        new = {*_NUMBER.findall(_SEPARATOR.sub("", claim))} - numbers
        large = {each for each in new if len(each) > len(str(COUNTED)) or int(each) > COUNTED}
        if large and not large <= _spelled(text):
            return claim
        own, known = _content(claim), content
        if all(map(str.isdigit, own)):  # short words
            listed = words.split_forms(claim)
            own = {*listed} - words.guess_language(claim, listed).function_words
            known = forms
        own = {word for word in own if not word.isdigit()}
        if len(own - known) > MOST_NEW * len(own):
            return claim
    return None
