"""The RAG system under test, which is called once per row for all metrics."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from ragstone._internal.concurrency import AsyncResource
from ragstone.types.config import Plan
from ragstone.types.reply import Failure
from ragstone.types.row import TargetCall
from ragstone.types.sample import Sample

FIELDS = ("response", "contexts", "ranking")  # the Sample fields that a target can return
# variable of a call -> the setting of the plan that is its value
SETTINGS = {"k": "k", "min_similarity": "min_similarity", "threshold": "min_similarity"}


def settings_of(plan: Plan, k: int) -> dict[str, int | float]:
    """Return the values of these variables."""
    return {name: k if name == "k" else plan.min_similarity for name in SETTINGS}


@dataclass(frozen=True)
class Answer:
    """What a target returned for one sample.

    Attributes:
        fields: Sample field -> value, as `Sample` validates it.
        failures: Sample field -> why it is missing.
        calls: the calls that were made, with latency.
    """

    fields: Mapping[str, object]
    failures: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    calls: tuple[TargetCall, ...] = ()


class Target(AsyncResource, ABC):
    """The RAG system under test; `async with` opens and closes its connections.

    Opening it raises TargetError if it cannot be called at all.

    Attributes:
        name: its name in reports.
        gives: the Sample fields that it can return.
        uses: the settings of a plan that affect its calls.
        is_certain: whether its name and file decide its answers, so that a run may use them again.
        has_history: whether it is given the messages before a question.
    """

    name: str
    gives: frozenset[str]
    uses: frozenset[str] = frozenset()
    has_history: bool = True
    is_certain: bool = False

    def check(self, samples: Sequence[Sample]) -> None:
        """Check before any call that the target can be asked about these samples.

        Raises:
            TargetError: its calls cannot depend on them.
        """

    def notes(self, samples: Sequence[Sample]) -> Sequence[str]:
        """Return what its calls leave out; the first thousand samples are looked at."""
        if self.has_history or not any(each.history for each in islice(samples, 1000)):
            return ()
        fix = "see `messages` in docs/connect.md"
        return (f"{self.name} is given questions without the conversation before them; {fix}",)

    @abstractmethod
    async def ask(self, sample: Sample, needed: frozenset[str]) -> Answer:
        """Request the needed fields of one sample."""
