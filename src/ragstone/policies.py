"""Policy: the rule that turns verdicts into a number. Applied to the ledger, asked of nobody."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ragstone.claims import Label
from ragstone.errors import UnknownName


@dataclass(frozen=True)
class Policy:
    """How much each label weighs; the score is the mean weight of a response's verdicts."""

    name: str
    weights: Mapping[Label, float]

    def number(self, labels: Sequence[Label]) -> float:
        """Return the mean weight; `labels` holds at least one."""
        return math.fsum(self.weights[label] for label in labels) / len(labels)


STRICT = Policy(
    "strict",
    MappingProxyType(
        {
            Label.SUPPORTED: 1.0,
            Label.PARTIALLY_SUPPORTED: 0.0,
            Label.CONTRADICTED: 0.0,
            Label.NOT_ENOUGH_INFO: 0.0,
        }
    ),
)
"""Only what the contexts support counts; what cannot be said is not a number. The default."""

POLICIES: Mapping[str, Policy] = MappingProxyType({STRICT.name: STRICT})


def get_policy(name: str) -> Policy:
    """Return the policy of that name.

    Raises:
        UnknownName: there is none.
    """
    try:
        return POLICIES[name]
    except KeyError:
        raise UnknownName("policy", name, POLICIES) from None
