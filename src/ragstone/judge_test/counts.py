"""Counts: what came of each question of a test, counted as it comes."""

from collections import Counter
from collections.abc import Sequence
from functools import reduce
from operator import add
from typing import TypeAlias

from ragstone.claims import Label, Verdict
from ragstone.errors import Cause
from ragstone.exchanges import Failure, Outcome, Reply
from ragstone.judge_test.cases import Case
from ragstone.judge_test.result import KindResult, TriedClaim
from ragstone.judge_test.trials import KINDS, Trial
from ragstone.messages import one_line
from ragstone.usage import NOTHING_SPENT, Usage

LONGEST = 300
"""Characters told of a failure."""
ALONE = frozenset(("unrelated", "order_in_claim", "order_in_context", "copied"))
"""Kinds of which there is one a sample, whatever its claims."""

Verdicts: TypeAlias = tuple[Verdict, ...]


class Counts:
    """Counts what came of questions, kind by kind.

    What was not asked, as the budget was spent, counts as not asked and as nothing else.

    Attributes:
        asked: questions that were asked, `failures` of them without an answer.
        unasked: questions that were not, for want of budget.
        why: the first failure in words.
        claims: of the samples whose claims were judged as they are; `supported` of them were.
    """

    def __init__(self) -> None:
        self.usage: Usage = NOTHING_SPENT
        self.why: str | None = None
        self.samples = self.claims = self.supported = 0
        self.asked = self.failures = self.unasked = 0
        self._right, self._answered = Counter[str](), Counter[str]()
        self._applied, self._failed = Counter[str](), Counter[str]()
        self._tried: list[tuple[int, TriedClaim]] = []

    def first(self, case: Case, outcome: Outcome[Verdicts]) -> None:
        """Count the question about a case's claims as they are."""
        if not self._was_asked(outcome):
            return
        self.samples += 1
        self.claims += len(case.claims)
        if isinstance(outcome, Reply):
            own = outcome.value[: len(case.claims)]
            self.supported += sum(each.label is Label.SUPPORTED for each in own)

    def trial(self, number: int, case: Case, trial: Trial, outcome: Outcome[Verdicts]) -> None:
        """Count a trial of the case with that number."""
        if self._was_asked(outcome):
            self.part(number, case, trial, outcome)

    def part(self, number: int, case: Case, trial: Trial, outcome: Outcome[Verdicts]) -> None:
        """Count a trial that was part of a question which is counted already."""
        kind = trial.kind
        self._applied[kind] += len(trial.places)
        if isinstance(outcome, Reply):
            rights = trial.rights(outcome.value)
            self._answered[kind] += len(rights)
            self._right[kind] += sum(rights)
            labels: Sequence[Label | None] = [outcome.value[n].label for n in trial.places]
        else:
            self._failed[kind] += len(trial.places)
            rights = labels = [None] * len(trial.places)
        told = zip(trial.places, trial.were, trial.before, rights, labels, strict=True)
        for place, was, before, right, label in told:
            claim = trial.question.claims[place]
            tried = TriedClaim(
                kind=kind,
                sample=case.sample,
                was=was,
                claim=claim,
                label_before=before,
                label=label,
                right=right,
            )
            self._tried.append((number, tried))

    def _was_asked(self, outcome: Outcome[Verdicts]) -> bool:
        self.usage = reduce(add, (self.usage, outcome.usage))
        if isinstance(outcome, Failure):
            if outcome.cause is Cause.BUDGET:
                self.unasked += 1
                return False
            self.failures += 1
            self.why = self.why or f"{outcome.cause}: {one_line(outcome.message, LONGEST)}"
        self.asked += 1
        return True

    def tried(self) -> tuple[TriedClaim, ...]:
        """Return every claim that was tried: kind by kind, in the order of the samples."""
        kinds = list(KINDS)
        ordered = sorted(self._tried, key=lambda each: (kinds.index(each[1].kind), each[0]))
        return tuple(tried for _, tried in ordered)

    def kinds(self) -> tuple[KindResult, ...]:
        """Return the counts, kind by kind; those that applied to nothing too."""
        return tuple(
            KindResult(
                kind=kind,
                wanted=wanted,
                right=self._right[kind],
                answered=self._answered[kind],
                applied=self._applied[kind],
                of=self.samples if kind in ALONE else self.supported,
                failed=self._failed[kind],
            )
            for kind, wanted in KINDS.items()
        )
