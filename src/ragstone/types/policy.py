"""Policies: the rules of tools and documents that turn verdicts into a score, as data.

A preset combines a policy with the judge settings of its document.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Annotated

from pydantic import AfterValidator

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
ONE = PolicyOutcome(State.SCORED, 1.0)
ZERO = PolicyOutcome(State.SCORED, 0.0)
NEVER = PolicyOutcome(State.SCORED, 0.0, passes=False)  # passes no threshold, not even 0
ZERO_FLAGGED = PolicyOutcome(State.SCORED, 0.0, flagged=True)
HALF_FLAGGED = PolicyOutcome(State.SCORED, 0.5, flagged=True)


@dataclass(frozen=True)
class CountMismatch:
    """The score if there are fewer or more verdicts than claims: their mean weight, flagged."""

    if_no_verdicts: PolicyOutcome
    ignore_extra: bool = False
    deduct: bool = False  # for each claim, 1 - weight for each verdict, and 1 for each missing one


def _weights(*each: float) -> Mapping[Label, float]:
    return MappingProxyType(dict(zip(Label, each, strict=True)))


@dataclass(frozen=True)
class Policy:
    """How verdicts become a score, and what happens without them."""

    name: str
    source: str
    weights: Mapping[Label, float] = field(default_factory=lambda: _weights(1, 0, 0, 0))
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


STRICT = Policy("strict", "ragstone's own rule")  # only supported claims count; the default

_ALL = (
    STRICT,
    Policy(
        "expected",
        "the expected share of supported claims, for judges with confidences",
        probable=True,
    ),
    Policy(
        "weighted",
        "RagaliQ's plan for weighted scores; the range is -1 to 1",
        _weights(1, 0.5, -1, 0),
    ),
    Policy(
        "ragas",
        "RAGAS: supported / returned, NaN if nothing was returned",
        on_count_mismatch=CountMismatch(if_no_verdicts=UNDEFINED),
    ),
    Policy(
        "deepeval",
        "DeepEval and DeepEvalEx: every claim that is not contradicted is faithful",
        _weights(1, 1, 0, 1),
        threshold=0.5,
        no_claims=ONE,
        no_contexts=UNDEFINED,
        on_count_mismatch=CountMismatch(if_no_verdicts=FAILED),
        on_unreadable_label=Label.NOT_ENOUGH_INFO,
    ),
    Policy(
        "ragaliq",
        "RagaliQ's FaithfulnessEvaluator: a response without claims is vacuously faithful",
        threshold=0.7,
        empty_response=ONE,
        no_claims=ONE,
    ),
    Policy(
        "promptfoo-plan",
        "the plans for RAGAS in promptfoo: every failure becomes a number",
        threshold=0.5,
        empty_response=NEVER,
        no_claims=NEVER,
        refused=ZERO_FLAGGED,
        unanswered=HALF_FLAGGED,
        unreadable=HALF_FLAGGED,
        on_count_mismatch=CountMismatch(if_no_verdicts=HALF_FLAGGED, ignore_extra=True),
        on_unreadable_label=Label.NOT_ENOUGH_INFO,
    ),
    Policy(
        "promptfoo",
        "promptfoo 0.121.20 without RAGAS mode, as observed",
        threshold=0.0,
        no_claims=ZERO,
        no_contexts=UNDEFINED,
        refused=ZERO_FLAGGED,
        unanswered=ZERO_FLAGGED,
        unreadable=ZERO_FLAGGED,
        on_count_mismatch=CountMismatch(if_no_verdicts=ZERO_FLAGGED, deduct=True),
        on_unreadable_label=Label.NOT_ENOUGH_INFO,
    ),
)

POLICIES: Mapping[str, Policy] = MappingProxyType({policy.name: policy for policy in _ALL})

# preset -> its settings: a policy and the judge settings of its document
PRESETS: Mapping[str, Mapping[str, str | int | bool]] = MappingProxyType(
    {
        "ragas": MappingProxyType({"policy": "ragas"}),
        "deepeval": MappingProxyType(
            {"policy": "deepeval", "verify": "truths", "include_reason": True}
        ),
        "ragaliq": MappingProxyType({"policy": "ragaliq", "verify": "each"}),
        "promptfoo-plan": MappingProxyType({"policy": "promptfoo-plan", "batch_size": 5}),
    }
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
