"""Similarity of texts by their character n-grams, not by meaning."""

import math
import re
from collections.abc import Sequence
from typing import TypeVar, cast
from unicodedata import normalize

import numpy as np

from ragstone.errors import QuestionNotSupportedError
from ragstone.judges.base import Judge
from ragstone.types.questions import Question, TextSimilarity
from ragstone.types.reply import Reply

T = TypeVar("T")

_BETWEEN = re.compile(
    r"[\s!-/:-@\[-`{-~\u00a1-\u00bf\u0589\u05be\u060c\u061b\u061f\u06d4\u0964\u0965"
    r"\u2010-\u205e\u3001-\u3020]+"
)
"""White space and punctuation, after NFKC has narrowed full-width characters."""
_MAX_GRAM = 5
_WIDE = 0x2E80
"""The first character of scripts with words of one or two: Chinese, Japanese, Korean."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)


class SimilarityJudge(Judge):
    """Compares texts by their characters."""

    name = "offline"
    description = "hashed character n-grams, not meaning"
    kinds = frozenset({TextSimilarity.kind})

    async def answer(self, question: Question[T]) -> Reply[T]:
        """Compare texts, without waiting."""
        if not isinstance(question, TextSimilarity):
            raise QuestionNotSupportedError("character n-grams only answer text_similarity")
        reply = question.reply(compare_texts(question.text, question.others))
        return cast("Reply[T]", reply)


def compare_texts(text: str, others: Sequence[str]) -> tuple[float, ...]:
    """Return the similarity of the text to each of the others, from 0 to 1.

    It is the cosine of their sets of hashed character n-grams: 3 to 5 characters of the words, with
    one space between words and at both ends, and 1 to 3 in Chinese, Japanese and Korean. Case,
    width and punctuation do not matter. Equal texts have 1.0; texts without a common n-gram, and
    blank texts, have 0.0.
    """
    grams = _grams(text)
    found: list[float] = []
    for other in map(_grams, others):
        shared = len(grams & other)
        found.append(shared / math.sqrt(len(grams) * len(other)) if shared else 0.0)
    return tuple(found)


def _grams(text: str) -> frozenset[int]:
    """Return the n-grams as 64-bit hashes, which are equal on every machine."""
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    words = _BETWEEN.sub(" ", folded).split() or folded.split()
    if not words:
        return frozenset()
    spaced = f" {' '.join(words)} ".encode("utf-32-le", "surrogatepass")
    characters = np.frombuffer(spaced, "<u4").astype(np.uint64)
    pairs = characters[:-1] * _FACTOR + characters[1:]
    wide = characters >= _WIDE
    found = [characters[wide], pairs[wide[:-1] & wide[1:]]]
    hashes, any_wide = pairs, wide[:-1] | wide[1:]
    for size in range(3, _MAX_GRAM + 1):
        hashes = hashes[:-1] * _FACTOR + characters[size - 1 :]
        any_wide = any_wide[:-1] | wide[size - 1 :]
        found.append(hashes if size == 3 else hashes[~any_wide])
    return frozenset(np.concatenate(found).tolist())
