"""What to ask for: types and their shares, and the chunks from which each question is written."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Literal, TypeAlias

from ragstone.errors import UnknownNameError, UsageError
from ragstone.testsets.documents import Chunk, Corpus
from ragstone.testsets.index import ChunkIndex

Type: TypeAlias = Literal["single", "multi", "compare", "unanswerable"]

UNANSWERABLE = "unanswerable"
WRITTEN: Sequence[Type] = ("single", "multi", "compare", UNANSWERABLE)
"""Types that a judge writes."""
NOISY = "noisy"
SHARES: Mapping[str, float] = MappingProxyType(
    {"single": 40, "multi": 20, "compare": 10, "unanswerable": 15, NOISY: 15}
)
"""Type -> its default share."""
PAIRED = frozenset(("multi", "compare"))
"""Types that take two chunks."""
MOST = 3
"""Candidates per requested question, at most."""
LARGEST = 8
"""Questions of one reply: more may not fit into it, or would repeat each other."""
PARTNERS = 5
"""Chunks that may be paired with another one: those that have most of its rare words."""
LONGEST_QUERY = 1000
"""Characters of a chunk with which its partners are searched."""


def parse_types(text: str) -> Mapping[str, float]:
    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = (each.strip() for each in part.partition("="))
        if name in shares:
            raise UsageError(f"--types {text}: {name} is there twice")
        try:
            shares[name] = float(value)
        except ValueError:
            shares[name] = math.nan
    return check_shares(shares)


def check_shares(shares: Mapping[str, float]) -> Mapping[str, float]:
    """Return type -> share, or raise a UsageError if these are not types with shares."""
    for name, share in shares.items():
        if name not in SHARES:
            raise UnknownNameError("type of question", name, SHARES)
        if not 0 <= share < math.inf:
            raise UsageError(
                f"the share of {name} must be a number from 0; write single=40,multi=20"
            )
    if not sum(shares.values()):
        raise UsageError("the shares of the types add up to 0; give one type more than 0")
    if not any(shares.get(name) for name in WRITTEN):
        raise UsageError(
            "noisy questions are variants of the others; add another type, or use `ragstone "
            "questions vary` for questions of your own"
        )
    return shares


def counts_of(shares: Mapping[str, float], n: int) -> dict[str, int]:
    """Return how many questions of each type make `n` together (largest remainders).

    One question is never noisy: it would be the variant of none.
    """
    total = sum(shares.values())
    exact = {name: n * shares.get(name, 0) / total for name in SHARES}
    counts = {name: int(value) for name, value in exact.items()}
    left = n - sum(counts.values())
    for name in sorted(exact, key=lambda each: counts[each] - exact[each])[:left]:
        counts[name] += 1
    if counts[NOISY] == n:
        first = next(name for name in WRITTEN if shares.get(name))
        counts[NOISY], counts[first] = n - 1, 1
    return counts


@dataclass(frozen=True)
class Candidate:
    """One question to be written.

    Attributes:
        number: its place in the order in which questions are accepted, from 0.
        persona: who asks; empty for any user.
        language: as the user named it; empty for that of the chunks.
    """

    number: int
    type: Type
    chunks: tuple[Chunk, ...]
    persona: str = ""
    language: str = ""


class ChunkSampler:
    """Chooses the chunks of each candidate, so that all documents get about the same number.

    The choice depends on the corpus, the seed, and how many questions of each document were
    accepted; never on time.

    Attributes:
        tried: document -> how many candidates began with it.
        accepted: document -> how many of these were accepted.
    """

    def __init__(
        self,
        index: ChunkIndex,
        requested: Mapping[str, int],
        *,
        seed: int,
        personas: Sequence[str] = (),
        languages: Sequence[str] = (),
    ) -> None:
        self._index, self._corpus, self._seed = index, index.corpus, seed
        self._personas, self._languages = personas or ("",), languages or ("",)
        self._limits = {name: MOST * requested.get(name, 0) for name in WRITTEN}
        self._counts: Counter[str] = Counter()
        self._shuffled = shuffled_chunks(self._corpus, seed)
        share = math.ceil(
            sum(requested.get(name, 0) for name in WRITTEN) / max(1, len(self._shuffled))
        )
        self._most = MOST * max(1, share)
        self.tried: Counter[str] = Counter()
        self.accepted: Counter[str] = Counter()
        self._pending: Counter[str] = Counter()

    @property
    def candidates(self) -> int:
        return sum(self._counts.values())

    def wave(self, missing: Mapping[str, int]) -> list[Candidate]:
        """Return the next candidates: as many as are missing, within the limits.

        Of a chunk, at most LARGEST are in a wave; later ones avoid the queries of earlier ones.
        """
        self._pending.clear()
        found: list[Candidate] = []
        for kind in WRITTEN:
            for _ in range(min(missing.get(kind, 0), self._limits[kind] - self._counts[kind])):
                if (chunks := self._draw(kind)) is None:
                    break
                number = self.candidates
                self._counts[kind] += 1
                persona = self._personas[number % len(self._personas)]
                language = self._languages[number % len(self._languages)]
                found.append(Candidate(number, kind, chunks, persona, language))
        return found

    def _draw(self, kind: Type) -> tuple[Chunk, ...] | None:
        if kind in PAIRED and len(self._corpus.chunks) < 2:
            return None
        open_ones = [
            name
            for name, chunks in self._shuffled.items()
            if self.tried[name] < self._most and self._pending[name] < LARGEST * len(chunks)
        ]
        if not open_ones:
            return None
        name = min(
            open_ones,
            key=lambda each: (self.accepted[each] + self._pending[each], self.tried[each]),
        )
        turn = self.tried[name]
        chunk = self._shuffled[name][turn % len(self._shuffled[name])]
        self.tried[name] += 1
        self._pending[name] += 1
        if kind not in PAIRED:
            return (chunk,)
        random = Random(f"{self._seed}\n{chunk.id}\n{turn}")  # noqa: S311 - no secret
        return chunk, self._partner(chunk, kind, random)

    def _partner(self, chunk: Chunk, kind: Type, random: Random) -> Chunk:
        hits = self._index.search(chunk.text[:LONGEST_QUERY], 4 * PARTNERS)
        others = [hit.chunk for hit in hits if hit.chunk.id != chunk.id]
        apart = [each for each in others if each.document != chunk.document]
        near = (apart if kind == "compare" else []) or others
        if not near:
            near = [each for each in self._corpus.chunks if each.id != chunk.id]
            return random.choice(near)
        return random.choice(near[:PARTNERS])


def shuffled_chunks(corpus: Corpus, seed: int) -> dict[str, list[Chunk]]:
    names = [name for name in corpus.documents if corpus.by_document[name]]
    Random(f"{seed}").shuffle(names)  # noqa: S311 - no secret
    shuffled = {name: list(corpus.by_document[name]) for name in names}
    for name, chunks in shuffled.items():
        Random(f"{seed}\n{name}").shuffle(chunks)  # noqa: S311 - no secret
    return shuffled


def grouped(candidates: Sequence[Candidate]) -> Iterator[list[Candidate]]:
    groups: dict[object, list[Candidate]] = {}
    for each in candidates:
        ids = tuple(chunk.id for chunk in each.chunks)
        groups.setdefault((each.type, ids, each.persona, each.language), []).append(each)
    yield from groups.values()
