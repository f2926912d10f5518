"""Noisy variants of queries without a model: typing errors, and only the keywords.

Figures, names, and words of unknown meaning stay as they are.
"""

import re
from collections.abc import Callable, Mapping
from itertools import zip_longest
from random import Random
from types import MappingProxyType

from ragstone.judges.offline.words import (
    UNKNOWN,
    Language,
    fold,
    guess_language,
    is_spaced,
    split_forms,
)

SHORTEST = 4
"""Letters of the shortest word that gets a typing error."""
EVERY = 4
"""One word of so many gets a typing error, and at least one."""
FEWEST = 2
"""Words of the shortest query of keywords."""

_WORD = re.compile(r"\S+")
_AROUND = "\"'`“”„‚‘’«»‹›()[]{}¿¡?!.,;:…。？！،؟"


def query_language(query: str) -> Language:
    return guess_language(query, split_forms(query))


def add_typos(query: str, seed: str) -> str | None:
    """Return the query with typing errors in some words; None if no word may have one.

    Two letters change places, or one is missing or doubled. Only words in lower case, and function
    words such as `What`, are changed; in scripts without case, only function words.
    """
    language = query_language(query)
    words = function_words(language)
    places: list[tuple[int, int]] = []
    for match in _WORD.finditer(query):
        bare = match[0].strip(_AROUND)
        known = fold(bare) in words
        ordinary = known or (bare == bare.lower() and bare != bare.upper())
        if bare.isalpha() and len(bare) >= SHORTEST and ordinary and is_spaced(bare):
            start = match.start() + match[0].index(bare)
            places.append((start, start + len(bare)))
    if not places:
        return None
    random = Random(f"{seed}\n{query}")  # noqa: S311 - no secret
    chosen = random.sample(places, max(1, round(len(places) / EVERY)))
    changed = query
    for start, end in sorted(chosen, reverse=True):  # from the end, so that places stay right
        changed = changed[:start] + _mistyped(query[start:end], random) + changed[end:]
    return changed


def _mistyped(word: str, random: Random) -> str:
    swaps = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    kind = random.choice(("swap", "drop", "double") if swaps else ("drop", "double"))
    if kind == "swap":
        at = random.choice(swaps)
        return f"{word[:at]}{word[at + 1]}{word[at]}{word[at + 2 :]}"
    at = random.randrange(1, len(word) - 1)
    return word[:at] + word[at + 1 :] if kind == "drop" else word[: at + 1] + word[at:]


def keep_keywords(query: str, seed: str = "") -> str | None:
    """Return only the query's words with a topic; None if that is too few, or it has no others.

    Negations stay, and function words right before a figure: `under 80`.
    """
    del seed
    if not is_spaced(query):
        return None
    language = query_language(query)
    words = [word for part in query.split() if (word := part.strip(_AROUND))]
    negations = language.negations
    kept = [
        word
        for word, following in zip_longest(words, words[1:], fillvalue="")
        if fold(word) not in function_words(language) - negations
        or any(map(str.isdigit, following))
    ]
    return " ".join(kept) if FEWEST <= len(kept) < len(words) else None


def function_words(language: Language) -> frozenset[str]:
    return frozenset() if language is UNKNOWN else language.function_words | language.negations


MODEL_FREE: Mapping[str, Callable[[str, str], str | None]] = MappingProxyType(
    {"typos": add_typos, "keywords": keep_keywords}
)
"""Kind of noise -> what makes the variant of a query, from a seed; None if there is none."""
