"""Whether a list of claims fits its response: what it leaves out, and what it adds."""

import re
from collections.abc import Iterable, Sequence, Set

from ragstone._internal.marks import remove_mentions
from ragstone._internal.sentences import Sentence
from ragstone.judges.llm.replies import ANNOUNCEMENT, SUMMARY
from ragstone.judges.offline import words
from ragstone.judges.offline.claims import extract_claims
from ragstone.judges.offline.figures import find_figures, read_number

FEWEST_WORDS = 3  # content words below which a sentence is too short to need a claim
LEAST = 0.5  # share of a sentence's content words that its claims have
LEAST_OF_SUMMARY = 0.25  # of a sentence that most likely repeats others
MOST_NEW = 0.5  # share of a claim's content words that may be new, in other forms or of the judge
SMALL = (0.0, 1.0, 2.0)  # numbers that are also written as none, a, both or twice
SHORTEST = 4  # letters of a content word
BEGINNING = {"Hangul": 2, "other": 6}  # letters in which forms of a word agree
MOST_SPELLED = 4000  # characters from which the language is guessed

# whole numbers with decimals and thousands, such as 1,149.50
_NUMBER = re.compile(r"\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+(?!\d)|\d+(?:[.,]\d+)*")
_YEARS = re.compile(r"\b(\d\d)\d\d[-–/](\d\d)\b")
_HANGUL = re.compile("[\uac00-\ud7af]")
_LIST_NUMBER = re.compile(r"\A\W*\d+[.)]\s")


def _content(text: str) -> set[str]:
    """Return numbers, the beginnings of content words, and pieces of text without spaces."""
    forms = words.split_forms(text)
    return {
        _beginning(form)
        for form in forms
        if len(form) >= SHORTEST or form.isdigit() or not form.isascii()
    }


def _beginning(form: str) -> str:
    if form.isdigit():
        return form
    letters = BEGINNING["Hangul" if _HANGUL.match(form) else "other"]
    return words.stem(form)[:letters]


def _numbers(text: str) -> list[Set[float]]:
    return [read_number(number) for number in _NUMBER.findall(text)]


def _is_new(number: Set[float], text: str) -> bool:
    """Return whether no number in words is meant; any small one may be in other languages."""
    forms = words.split_forms(text[:MOST_SPELLED])
    if words.guess_language(text, forms).name != "en":
        return max(number) >= 100
    return not any(number & figure.numbers for figure in find_figures(text))


def uncovered(sentences: Iterable[Sentence], claims: Sequence[str]) -> tuple[str, ...]:
    """Estimate which sentences state something and have no claim, and rather miss one."""
    covered = _content(" ".join(claims))
    left: list[str] = []
    for sentence in sentences:
        text = SUMMARY.sub("", _LIST_NUMBER.sub("", sentence.text))
        least = LEAST_OF_SUMMARY if SUMMARY.match(sentence.text) else LEAST
        content = _content(remove_mentions(text))
        is_short = len(content) < FEWEST_WORDS
        if claims and (is_short or len(content & covered) >= least * len(content)):
            continue
        if not ANNOUNCEMENT.search(sentence.text) and extract_claims(sentence.text):
            left.append(sentence.text)
    return tuple(left)


def invented(claims: Iterable[str], *sources: str) -> str | None:
    """Return the first claim with a number or mostly words that are in none of the sources."""
    text = " ".join(sources)
    content, forms = _content(text), set(words.split_forms(text))
    periods = [float(century + year) for century, year in _YEARS.findall(text)]
    numbers = {*SMALL, *periods}.union(*_numbers(text))
    for claim in claims:
        new = [number for number in _numbers(claim) if number.isdisjoint(numbers)]
        if any(all(_is_new(number, source) for source in sources) for number in new):
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
