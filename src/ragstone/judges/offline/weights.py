"""Weights: what each trait of a claim counts, learned of people's labels.

Products summed in one order, without a matrix, so every machine gets the same bits.
`training/offline_judge` makes the file.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import exp

from ragstone.judges.offline.traits import Traits

FILE = "weights.json"


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learned.

    Attributes:
        traits: name of a trait -> what one of it counts, in the order of `Traits`.
        offset: what counts whatever the traits are.
        mark: the probability from which a claim counts as supported.
        ceilings: what is seen in a claim -> the highest probability that it then has: the share of
            such claims that people called supported. The keys are the kinds of conflict, "another"
            for one on another subject, "digits" for a figure in digits that no context states,
            "unnamed" for a name that none has, and "nothing" where none has any word of it.
    """

    traits: Mapping[str, float]
    offset: float
    mark: float
    ceilings: Mapping[str, float]

    def probability(self, traits: Traits) -> float:
        """Return how likely it is that a claim with these traits is supported, in (0, 1).

        It is 1 / (1 + e^-s), where s is the offset and each trait times its weight.
        """
        total = self.offset
        for weight, trait in zip(self.traits.values(), traits, strict=True):
            total += weight * trait
        return 1 / (1 + exp(-total))

    @classmethod
    def of(cls, text: str) -> "Weights":
        """Read a file of weights.

        Raises:
            ValueError: the file was made for other traits.
        """
        stored = json.loads(text)
        if tuple(stored["traits"]) != Traits._fields:
            raise ValueError("the weights of the offline judge are of other traits: train it anew")
        return cls(**stored)


@cache
def read_weights() -> Weights:
    """Return the weights that come with the package."""
    return Weights.of(files("ragstone.judges.offline").joinpath(FILE).read_text("utf-8"))
