"""Test cases for a judge: claims of a sample, its contexts, and material to change the claims."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from unicodedata import east_asian_width

from ragstone._internal.text import count
from ragstone.evaluation.judge_testing.perturbations import Capitals, Material, names_in
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.sample import Sample

PER_SAMPLE = 4
"""Claims per sample. More samples are better than more claims per sample."""
DONORS = 30
"""Other samples from which names and sentences are taken."""
SHORTEST, LONGEST = 15, 400
"""Limits of a claim's length. Wide characters (Chinese, Japanese, Korean) count as two."""


@dataclass(frozen=True)
class Case:
    """The claims of one sample to test.

    Attributes:
        claims: from the response, otherwise the reference, otherwise the contexts.
        copied: a sentence copied from the contexts, which is therefore supported.
        unrelated: a claim of another sample that the contexts do not state.
    """

    sample: str
    claims: tuple[str, ...]
    contexts: tuple[str, ...]
    copied: str | None
    unrelated: str | None
    material: Material


@dataclass(frozen=True)
class _Statements:
    """The claims of one sample."""

    id: str
    claims: tuple[str, ...]
    contexts: tuple[str, ...]
    copies: tuple[str, ...]

    @cached_property
    def names(self) -> list[str]:
        capitals = Capitals.of("\n".join(self.claims), "\n".join(self.contexts))
        return names_in(self.claims, capitals)


def select_cases(samples: Iterable[Sample], n: int) -> list[Case]:
    usable: list[_Statements] = []
    for sample in samples:
        contexts = _contexts(sample)
        copies = tuple(claim for text in contexts for claim in _claims(text))
        claims = _claims(sample.response or "") or _claims(sample.reference or "") or copies
        if contexts and claims:
            usable.append(_Statements(sample.id, claims, contexts, copies))
    usable.sort(key=lambda each: _hash(each.id))
    cases: list[Case] = []
    left = n
    for number, own in enumerate(usable):
        if left < 1:
            break
        chosen = set(sorted(own.claims, key=_hash)[: min(PER_SAMPLE, left)])
        claims = tuple(claim for claim in own.claims if claim in chosen)
        left -= len(chosen)
        others = [*usable[number + 1 :], *usable[:number]][:DONORS]
        foreign = [text for each in others for text in each.contexts if text not in own.contexts]
        material = Material(
            contexts=own.contexts,
            names=[name for each in others for name in each.names],
            sentences=tuple(claim for each in others for claim in each.claims),
            seed=own.id,
            claims=own.claims,
            distractor=min(foreign, key=_hash, default=None),
        )
        copies = (text for text in own.copies if text not in claims)
        cases.append(
            Case(
                sample=own.id,
                claims=claims,
                contexts=own.contexts,
                copied=min(copies, key=_hash, default=None),
                unrelated=material.foreign_sentence(""),
                material=material,
            )
        )
    return cases


@dataclass(frozen=True)
class SkippedCounts:
    """Why rows gave no claims.

    Attributes:
        short, long: sentences shorter than `SHORTEST` or longer than `LONGEST`.
    """

    rows: int
    without_contexts: int
    short: int
    long: int

    def __str__(self) -> str:
        reasons = (
            (self.without_contexts, "row", " without contexts"),
            (self.short, "shorter sentence", ""),
            (self.long, "longer sentence", ""),
        )
        return ", ".join(f"{count(number, what)}{more}" for number, what, more in reasons if number)

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "SkippedCounts":
        """Count the rows and sentences of samples that cannot be used."""
        rows = without_contexts = 0
        lengths: list[int] = []
        for sample in samples:
            rows += 1
            contexts = _contexts(sample)
            without_contexts += not contexts
            texts = (sample.response or "", sample.reference or "", "\n".join(contexts))
            found = [extract_claims(text) for text in texts if contexts]
            claims = next((each for each in found if each), ())
            lengths += [_length(claim.text) for claim in claims]
        short = sum(length < SHORTEST for length in lengths)
        return cls(rows, without_contexts, short, sum(length > LONGEST for length in lengths))


def _contexts(sample: Sample) -> tuple[str, ...]:
    return tuple(each.text for each in sample.contexts or () if each.text.strip())


def _claims(text: str) -> tuple[str, ...]:
    found = (claim.text for claim in extract_claims(text))
    return tuple(dict.fromkeys(each for each in found if SHORTEST <= _length(each) <= LONGEST))


def _length(text: str) -> int:
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


def _hash(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
