"""Numbers written in words, read with the number words of the text's own language.

`Once` is eleven only in Spanish, and `fire` is four only in Norwegian. A sequence of number words
that cannot be read yields no number.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cache
from itertools import islice
from typing import NamedTuple

from ragstone.judges.offline.words import MAX_MATCHES, fold, lazy_pattern, words_of

_ADDS_TO_TEN = frozenset(("fr", "tr"))
_HUNDRED_ALONE = frozenset(("de", "fr", "es", "pt", "it", "nl", "sv", "pl", "ru", "tr"))
"""Languages in which `hundred` alone is a number; in English it is `a hundred`."""
WORD = re.compile(r"[^\W\d_]{2,24}|\b[ey]\b")
_GAP = re.compile(r"\s?[-‐ \u00a0]\s?\Z|\Z")
_A = lazy_pattern(r"(?<!half )\ban?\s\Z", re.IGNORECASE)
_AND_A_HALF = lazy_pattern(r"\sand a half\b", re.IGNORECASE)
_PART_OF_WORD = lazy_pattern(
    r"-(?:first|second|third|odd|fold|[a-z]+th)\b"
    r"|[\s-](?:thirds|quarters|halves|fourths|fifths|sixths|sevenths|eighths|tenths)\b",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """A number word: its value or its factor; neither if it makes the number unreadable."""

    value: int = 0
    times: int = 0


class Spelled(NamedTuple):
    """A number in words, and its place in the text."""

    value: float
    start: int
    end: int


@cache
def number_words(name: str) -> Mapping[str, Token]:
    """Return the folded number words of a language; empty if it has none.

    `One` counts only as a part, because it is mostly an article.
    """
    ones = {word: at for at, word in enumerate(words_of(name, "ones"), start=1)}
    tens = {word: 20 + 10 * at for at, word in enumerate(words_of(name, "tens"))}
    more = [entry.split("=") for entry in words_of(name, "more_numbers")]
    digits = [(word, value) for word, value in ones.items() if value < 10]
    plain = {**ones, **tens}
    for joint in words_of(name, "number_joint"):  # ones and tens in one word: einundzwanzig
        plain |= {one + joint + ten: n + m for one, n in digits for ten, m in tens.items()}
        (hundred, _), (thousand, _) = more[:2]
        plain |= {one + hundred: 100 * n for one, n in digits}
        plain |= {one + thousand: 1000 * n for one, n in digits}
    if name == "it":
        for ten, m in tens.items():
            plain |= {(ten[:-1] if n in (1, 8) else ten) + one: m + n for one, n in digits}
        plain |= {one + "cento": 100 * n for one, n in digits if n > 1}
    table = {fold(word): Token(value) for word, value in plain.items()}
    for word, value in more:
        times = int(value[1:]) if value[0] == "*" else 0
        table[fold(word)] = Token(0 if times or value == "?" else int(value), times)
    return table


def find_spelled(text: str, name: str, words: Set[str]) -> Iterator[Spelled]:
    """Yield the numbers in words of a text in a language; none in an unknown language.

    `words` are the folded `WORD`s of the text: without a number word, the search ends early.
    """
    table = number_words(name)
    if table.keys().isdisjoint(words):
        return
    joint = "".join(words_of(name, "number_and"))
    counting = (words & table.keys()) | {joint}
    matches = (match for match in WORD.finditer(text) if fold(match[0]) in counting)
    run: list[re.Match[str]] = []
    for match in islice(matches, MAX_MATCHES):
        if run and not _GAP.match(text[run[-1].end() : match.start()]):
            yield from _read(text, run, name, joint)
            run = []
        run.append(match)
    yield from _read(text, run, name, joint)


def _read(text: str, run: Sequence[re.Match[str]], name: str, joint: str) -> Iterator[Spelled]:
    """Yield the numbers of adjacent number words, which `and` joins or separates."""
    table = number_words(name)
    part: list[re.Match[str]] = []
    for number, match in enumerate(run):
        if fold(match[0]) != joint:
            part.append(match)
            continue
        left = table.get(fold(part[-1][0])) if part else None
        right = table.get(fold(run[number + 1][0])) if number + 1 < len(run) else None
        if left is None or right is None or right.times:
            joins = False
        elif name == "en":
            joins = left.times >= 100
        else:
            joins = 20 <= left.value < 100 and 0 < right.value < 12
            joins |= name == "pt" and left.value >= 100 and right.value < 100
        if not joins:
            yield from _number(text, part, name)
            part = []
    yield from _number(text, part, name)


def _number(text: str, part: Sequence[re.Match[str]], name: str) -> Iterator[Spelled]:
    if not part:
        return
    start, end = part[0].start(), part[-1].end()
    table = number_words(name)
    tokens = [table[fold(match[0])] for match in part]
    is_alone = name in _HUNDRED_ALONE or _A().search(text, max(0, start - 8), start)
    if tokens[0].times and not is_alone:
        return
    value = _value(tokens, name)
    if value is None or (len(part) == 1 and value <= 1) or _PART_OF_WORD().match(text, end):
        return
    if name == "en" and (half := _AND_A_HALF().match(text, end)):
        value, end = value + 0.5, half.end()
    yield Spelled(value, start, end)


def _value(tokens: Sequence[Token], name: str) -> float | None:
    """Return the value of number words together; None if they do not make a number."""
    total, current, least = 0, 0, 10**9
    for value, times in tokens:
        if times >= 1000 and times < least:
            total, current, least = total + (current or 1) * times, 0, times
        elif times == 100 and current < 100:
            current = (current or 1) * 100
        elif name == "fr" and value == 20 and current % 100 == 4:
            current += 76
        elif value and _fits(value, current, name):
            current += value
        else:
            return None
    return total + current


def _fits(value: int, current: int, name: str) -> bool:
    """Return whether a number word may follow others of the value `current`."""
    if value >= 1000:
        return current == 0
    if value < 10:
        tens = current % 100
        is_ten = tens == 10 or (name == "fr" and tens in (70, 90))
        return current % 10 == 0 and (not is_ten or name in _ADDS_TO_TEN)
    if name == "fr" and value < 20 and current % 100 in (60, 80):
        return True
    return current % (100 if value < 100 else 1000) == 0
