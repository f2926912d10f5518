"""Policies: the rules of tools and documents that turn verdicts into a score, as data.

A preset combines a policy with the judge settings of its document.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tomllib import loads
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator, TypeAdapter

from ragstone.errors import Cause, UnknownNameError
from ragstone.types.claim import Label
from ragstone.types.score import State


@dataclass(frozen=True)
class PolicyOutcome:
    state: State
    value: float | None = None
    flagged: bool = False
    passes: bool = True  # if not, the score never passes a threshold

    def __str__(self) -> str:
        text = self.state.value if self.value is None else f"{self.value:.1f}"
        return text + (", flagged" if self.flagged else "")


UNDEFINED = PolicyOutcome(State.UNDEFINED)
FAILED = PolicyOutcome(State.FAILED)


@dataclass(frozen=True)
class CountMismatch:
    """The score if there are fewer or more verdicts than claims: their mean weight, flagged."""

    if_no_verdicts: PolicyOutcome
    ignore_extra: bool = False
    deduct: bool = False  # for each claim, 1 - weight for each verdict, and 1 for each missing one


@dataclass(frozen=True)
class Policy:
    """How verdicts become a score, and what happens without them."""

    name: str
    source: str
    weights: Mapping[Label, float] = field(
        default_factory=lambda: MappingProxyType(
            {**dict.fromkeys(Label, 0.0), Label.SUPPORTED: 1.0}
        )
    )
    threshold: float | None = None
    empty_response: PolicyOutcome = UNDEFINED
    no_claims: PolicyOutcome = UNDEFINED
    no_contexts: PolicyOutcome | None = None  # None: every claim is NOT_ENOUGH_INFO, unasked
    refused: PolicyOutcome = FAILED
    unanswered: PolicyOutcome = FAILED  # no reply came, or only a part of one
    unreadable: PolicyOutcome = FAILED  # nothing could be read, after the re-ask
    on_count_mismatch: CountMismatch | None = None  # None fails
    on_unreadable_label: Label | None = None  # replaces it, flagged; None fails
    probable: bool = False  # the mean probability of support; undefined if one is unknown

    @property
    def low(self) -> float:
        return min(0.0, *self.weights.values())

    @property
    def high(self) -> float:
        return max(self.weights.values())

    def number(self, labels: Sequence[Label], *, due: int | None = None) -> float:
        """Return the mean weight of at least one label; `due` is the number of claims."""
        if due is not None and self.on_count_mismatch is not None and self.on_count_mismatch.deduct:
            deducted = math.fsum(1 - self.weights[label] for label in labels)
            return max(0.0, 1 - (deducted + max(0, due - len(labels))) / due)
        return math.fsum(self.weights[label] for label in labels) / len(labels)

    def without_reply(self, cause: Cause) -> PolicyOutcome:
        if cause is Cause.NO_CLAIMS:  # whatever a policy makes of responses that state nothing
            return FAILED
        rulings = {Cause.REFUSAL: self.refused, Cause.MALFORMED: self.unreadable}
        return rulings.get(cause, self.unanswered)


_READ = loads(Path(__file__).with_name("policies.toml").read_text(encoding="utf-8"))
_NAMED = {name: {"name": name, **about} for name, about in _READ["policies"].items()}
POLICIES: Mapping[str, Policy] = MappingProxyType(
    TypeAdapter(dict[str, Policy]).validate_python(_NAMED)
)
STRICT = POLICIES["strict"]
PRESETS: Mapping[str, Mapping[str, str | int | bool]] = MappingProxyType(
    {name: MappingProxyType(settings) for name, settings in _READ["presets"].items()}
)


def get_policy(name: str) -> Policy:
    try:
        return POLICIES[name]
    except KeyError:
        raise UnknownNameError("policy", name, POLICIES) from None


def preset(name: str) -> Mapping[str, str | int | bool]:
    try:
        return PRESETS[name]
    except KeyError:
        raise UnknownNameError("preset", name, PRESETS) from None


PolicyName = Annotated[str, AfterValidator(lambda name: get_policy(name).name)]
PresetName = Annotated[str, AfterValidator(lambda name: preset(name) and name)]
