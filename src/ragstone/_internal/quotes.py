"""Finds quotes in contexts, and claims in the response."""

import re
from collections.abc import Sequence
from functools import lru_cache

from ragstone._internal.fields import Span

CLEAR = 0.6
"""A sentence that makes a claim contains at least this share of the letters of its words."""
APART = 0.2
"""And this much more of them than any other sentence."""

_QUOTES = re.compile('["`´‘’‚‛“”„‟′″«»‹›「」『』＂＇]')
_DASHES = re.compile("[‐‑‒–—―−﹣－]")
_WORD = re.compile(r"\S+")
_TERM = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]|[^\W_]+")  # kana and Han have no spaces


class QuoteFinder:
    """Finds quotes in a text, which is normalized once, when a quote first needs it."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._plain: str | None = None
        self._starts: tuple[int, ...] = ()

    def find(self, quote: str) -> Span | None:
        """Return the first position of a quote: verbatim, otherwise with other formatting.

        White space, case, quotation marks and dashes may differ. None if it is not found or blank.
        """
        quote = quote.strip()
        at = self._text.find(quote)
        if not quote or at >= 0:
            return (at, at + len(quote)) if quote else None
        if self._plain is None:
            self._plain = _normal(self._text)
        normal = _normal(quote)
        at = self._plain.find(normal)
        return None if at < 0 else (self._offset(at), self._offset(at + len(normal) - 1) + 1)

    def _offset(self, at: int) -> int:
        """Return the position in the text of character `at` of its normal form."""
        plain = self._plain or ""
        if len(plain) == len(self._text):  # only single blanks: no offset changed
            return at
        self._starts = self._starts or tuple(word.start() for word in _WORD.finditer(self._text))
        return self._starts[plain.count(" ", 0, at)] + at - plain.rfind(" ", 0, at) - 1


def _normal(text: str) -> str:
    text = _DASHES.sub("-", _QUOTES.sub("'", text))
    # İ is the only letter whose lower case is longer, which would shift later offsets.
    return " ".join(text.replace("İ", "i").lower().replace("ς", "σ").split())


def _terms(text: str) -> frozenset[str]:
    return frozenset(_TERM.findall(_normal(text)))


@lru_cache(maxsize=4)  # the claims of one response follow each other
def _indexed(text: str, spans: tuple[Span, ...]) -> tuple[QuoteFinder, tuple[frozenset[str], ...]]:
    return QuoteFinder(text), tuple(_terms(text[start:end]) for start, end in spans)


def find_quote(claim: str, response: str, sentences: Sequence[Span]) -> Span | None:
    """Return the position of a claim in a response; None if it is unclear.

    It is found verbatim, or as the one of `sentences` (spans in the response) that clearly contains
    most of its words; long words count more.
    """
    finder, by_sentence = _indexed(response, tuple(sentences))
    if (found := finder.find(claim)) or not by_sentence:
        return found
    terms = _terms(claim)
    letters = sum(map(len, terms))
    shares = [sum(map(len, terms & words)) / letters if letters else 0.0 for words in by_sentence]
    first, second = sorted([*shares, 0.0], reverse=True)[:2]
    clear = first >= CLEAR and first - second >= APART
    return sentences[shares.index(first)] if clear else None
