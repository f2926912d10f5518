"""Samples whose judge's answers stand in their own texts: what any metric should say is known.

A claim is written `r3 in contexts, not in reference`, a context `c1, of use`; a judge reads its
answer off the words. Both sides of ragas_definitions.py use it, so it needs nothing but Python.
"""

import math
import random
from itertools import pairwise
from zlib import crc32

WORDS = ("in contexts", "in reference", "in response")


def cases(n: int) -> list[dict[str, object]]:
    """Return n samples with 1 to 6 claims on each side and 1 to 6 contexts."""
    dice = random.Random(11)
    made: list[dict[str, object]] = []
    for number in range(n):
        response = [_claim(dice, f"r{number}x{i}", WORDS[:2]) for i in range(dice.randint(1, 6))]
        reference = [
            _claim(dice, f"e{number}x{i}", (WORDS[0], WORDS[2])) for i in range(dice.randint(1, 6))
        ]
        contexts = [
            f"c{number}x{i}, {dice.choice(['of use', 'no help'])}"
            for i in range(dice.randint(1, 6))
        ]
        made.append(
            {
                "query": f"query {number} {dice.choice('abc')}",
                "response": ". ".join(response) + ".",
                "reference": ". ".join(reference) + ".",
                "contexts": contexts,
            }
        )
    return made


def claims(text: str) -> list[str]:
    """Return the claims of a text that `cases` made."""
    return text.rstrip(".").split(". ")


def holds(claim: str, where: str) -> bool:
    """Tell whether a claim says of itself that it stands there."""
    return f"not {where}" not in claim


def guesses(response: str) -> list[str]:
    """Return three queries that a response may answer."""
    return [f"query {crc32(f'{i}{response}'.encode()) % 9} b" for i in range(3)]


def noncommittal(response: str) -> bool:
    """Tell whether a response is to be taken for an evasion."""
    return crc32(response.encode()) % 5 == 0


def vector(text: str) -> list[float]:
    """Return a text's embedding: counts of its hashed letter pairs."""
    found = [0.0] * 32
    for pair in pairwise(text):
        found[crc32("".join(pair).encode()) % 32] += 1.0
    return found


def cosine(one: str, other: str) -> float:
    """Return the cosine of two texts' embeddings."""
    a, b = vector(one), vector(other)
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / math.sqrt(math.fsum(x * x for x in a) * math.fsum(x * x for x in b))


def _claim(dice: random.Random, name: str, places: tuple[str, ...]) -> str:
    said = [f"{'' if dice.random() < 0.6 else 'not '}{place}" for place in places]
    return f"{name} {' '.join(said)}"
