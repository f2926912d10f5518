"""Samples whose right faithfulness is known: for servers that judge by a marker word.

Answers of five sentences and three contexts of about a hundred words. A sentence with the marker
is not backed: sample n has n % 6 of them.
"""

from random import Random

MARKER = "fabricated"
SENTENCES, CONTEXTS, WORDS = 5, 3, 100
_NOUNS = (
    "anchor basin cellar dune engine fountain garden hangar island jetty kiln ladder mill nursery "
    "orchard pier quarry reef stable tannery vault wharf"
).split()


def judged_samples(count: int) -> list[dict[str, object]]:
    """Return samples as `evaluate` takes them; the tag `right` is the right score."""
    random = Random(11)
    return [_sample(number, random) for number in range(count)]


def _sample(number: int, random: Random) -> dict[str, object]:
    bad = number % (SENTENCES + 1)
    answer = " ".join(
        f"The {random.choice(_NOUNS)} of place {number} got a "
        f"{MARKER if at < bad else 'recorded'} {random.choice(_NOUNS)} beside the "
        f"{random.choice(_NOUNS)} in {1800 + random.randrange(200)}."
        for at in range(SENTENCES)
    )
    return {
        "id": str(number),
        "query": f"What is recorded of place {number} and its {random.choice(_NOUNS)}?",
        "response": answer,
        "contexts": [_context(number, at, random) for at in range(CONTEXTS)],
        "tags": {"right": 1 - bad / SENTENCES},
    }


def _context(number: int, at: int, random: Random) -> str:
    sentences: list[str] = []
    while sum(len(sentence.split()) for sentence in sentences) < WORDS:
        sentences.append(
            f"The {random.choice(_NOUNS)} number {number}-{at} stands by the "
            f"{random.choice(_NOUNS)}, and the {random.choice(_NOUNS)} was built in "
            f"{1800 + random.randrange(200)}."
        )
    return " ".join(sentences)
