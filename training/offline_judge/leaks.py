"""Leak: a text to train on that shares its words with a text to measure on."""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ragstone.judges.offline.words import split_forms
from training.offline_judge.rows import Row

LENGTH = 8
"""Words in a row that are compared."""
MOST = 0.2
"""The share of its runs of words that a text may have in common with those held out."""
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_NUMBERS: dict[str, int] = {}


def without_leaks(
    training: Iterable[int], held_out: Iterable[int], rows: Sequence[Row]
) -> list[int]:
    """Return the numbers of the rows whose contexts share at most MOST with those held out."""
    texts = {text for number in held_out for text in rows[number].contexts}
    known = np.unique(np.concatenate([_runs(text) for text in sorted(texts)]))
    shares = {
        text: _shared(_runs(text), known)
        for text in sorted({text for number in training for text in rows[number].contexts})
    }
    return [
        number for number in training if all(shares[text] <= MOST for text in rows[number].contexts)
    ]


def _shared(runs: NDArray[np.uint64], known: NDArray[np.uint64]) -> float:
    places = np.minimum(np.searchsorted(known, runs), len(known) - 1)
    return float(np.mean(known[places] == runs))


@cache
def _runs(text: str) -> NDArray[np.uint64]:
    """Return a number for each run of words; a text that is shorter is one run."""
    forms = split_forms(text)
    words = np.array([_NUMBERS.setdefault(form, len(_NUMBERS) + 1) for form in forms], np.uint64)
    length = max(1, min(LENGTH, len(words)))
    count = len(words) - length + 1
    if not len(words):
        return np.zeros(1, np.uint64)
    found = np.zeros(count, np.uint64)
    for at in range(length):
        found = found * _FACTOR + words[at : at + count]
    return found
