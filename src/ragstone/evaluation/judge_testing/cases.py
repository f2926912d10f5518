"""Case: claims of one sample, its contexts, and what others give to change the claims with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from unicodedata import east_asian_width

from ragstone.evaluation.judge_testing.material import Capitals, Material
from ragstone.evaluation.judge_testing.perturbations import names_in
from ragstone.judges.offline.claims import extract_claims
from ragstone.types.sample import Sample

PER_SAMPLE = 4
"""Claims of one sample: more samples tell more than more claims of one."""
DONORS = 30
"""Other samples that names and sentences are taken from."""
SHORTEST, LONGEST = 15, 400
"""Characters of a claim that is taken: what is shorter says too little to be changed. Wide ones
(Chinese, Japanese, Korean) say more, and count two."""


@dataclass(frozen=True)
class Case:
    """What is asked about one sample.

    Attributes:
        sample: its id.
        claims: of the response, else of the reference, else of the contexts themselves.
        copied: a sentence of the contexts, which therefore is supported; None if there is none.
        unrelated: a claim of another sample that the contexts do not state; None likewise.
    """

    sample: str
    claims: tuple[str, ...]
    contexts: tuple[str, ...]
    copied: str | None
    unrelated: str | None
    material: Material


@dataclass(frozen=True)
class _Stated:
    """What one sample states."""

    id: str
    claims: tuple[str, ...]
    contexts: tuple[str, ...]
    copies: tuple[str, ...]

    @cached_property
    def names(self) -> list[str]:
        """The names in its claims."""
        capitals = Capitals.of("\n".join(self.claims), "\n".join(self.contexts))
        return names_in(self.claims, capitals)


def cases_of(samples: Iterable[Sample], n: int) -> list[Case]:
    """Take about `n` claims of samples that have contexts; the same ones each time."""
    stated = [each for sample in samples if (each := _stated(sample)) is not None]
    stated.sort(key=lambda each: _chance(each.id))
    cases: list[Case] = []
    left = n
    for number, each in enumerate(stated):
        if left < 1:
            break
        several = sorted(each.claims, key=_chance)
        chosen = set(several[: min(PER_SAMPLE, left)])
        others = [*stated[number + 1 :], *stated[:number]][:DONORS]
        cases.append(_case(each, [c for c in each.claims if c in chosen], others))
        left -= len(chosen)
    return cases


def _case(own: _Stated, claims: Sequence[str], others: Sequence[_Stated]) -> Case:
    strange = [text for each in others for text in each.contexts if text not in own.contexts]
    material = Material(
        contexts=own.contexts,
        names=[name for each in others for name in each.names],
        sentences=tuple(claim for each in others for claim in each.claims),
        seed=own.id,
        claims=own.claims,
        distractor=min(strange, key=_chance, default=None),
    )
    copies = (text for text in own.copies if text not in claims)
    return Case(
        sample=own.id,
        claims=tuple(claims),
        contexts=own.contexts,
        copied=min(copies, key=_chance, default=None),
        unrelated=material.foreign_sentence(""),
        material=material,
    )


@dataclass(frozen=True)
class PassedOver:
    """What gave no claim.

    Attributes:
        rows: all there are; `bare` of them have no contexts.
        short, long: sentences of responses (else references, else contexts) that were shorter than
            `SHORTEST` or longer than `LONGEST`.
    """

    rows: int
    bare: int
    short: int
    long: int

    @classmethod
    def of(cls, samples: Iterable[Sample]) -> "PassedOver":
        """Count what is passed over in samples."""
        rows = bare = 0
        lengths: list[int] = []
        for sample in samples:
            rows += 1
            contexts = _contexts(sample)
            bare += not contexts
            texts = (sample.response or "", sample.reference or "", "\n".join(contexts))
            found = [extract_claims(text) for text in texts if contexts]
            claims = next((each for each in found if each), ())
            lengths += [_length(claim.text) for claim in claims]
        short = sum(length < SHORTEST for length in lengths)
        return cls(rows, bare, short, sum(length > LONGEST for length in lengths))


def _stated(sample: Sample) -> _Stated | None:
    """Return what a sample states; None where it has no contexts, or no claim of some length."""
    contexts = _contexts(sample)
    copies = tuple(claim for text in contexts for claim in _claims(text))
    claims = _claims(sample.response or "") or _claims(sample.reference or "") or copies
    return _Stated(sample.id, claims, contexts, copies) if contexts and claims else None


def _contexts(sample: Sample) -> tuple[str, ...]:
    return tuple(each.text for each in sample.contexts or () if each.text.strip())


def _claims(text: str) -> tuple[str, ...]:
    found = (claim.text for claim in extract_claims(text))
    return tuple(dict.fromkeys(each for each in found if SHORTEST <= _length(each) <= LONGEST))


def _length(text: str) -> int:
    return len(text) + sum(east_asian_width(letter) in "WF" for letter in text)


def _chance(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogatepass")).digest()
