"""BothWays: the same responses scored without RAGAS mode, as promptfoo does, and with it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from ragstone._internal.fields import split_threshold
from ragstone._internal.rate_limit import Budget
from ragstone.datasets import Dataset
from ragstone.evaluation.runner import Evaluation
from ragstone.integrations.promptfoo.assertion import RAGAS
from ragstone.integrations.promptfoo.asserts import LEGACY, ProgressOptions, evaluate_tests
from ragstone.integrations.promptfoo.legacy import UNHEEDED, legacy_judge
from ragstone.metrics import select
from ragstone.metrics.claim_scoring import ClaimMetric
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.policy import preset
from ragstone.types.row import Row
from ragstone.types.score import Score

METRIC = "faithfulness"
NO_THRESHOLDS: Mapping[str, float | None] = MappingProxyType({})
ALIKE = 1e-9
"""Scores that are nearer than this are the same."""
Watching = Callable[[], AbstractContextManager[ProgressOptions]]
"""Opens what shows one run's progress."""


@dataclass(frozen=True)
class Pair:
    """One sample's two scores."""

    sample: str
    legacy: Score
    ragas: Score

    @property
    def difference(self) -> float | None:
        """RAGAS mode's score less the other; None where one of them is not scored."""
        if self.legacy.value is None or self.ragas.value is None:
            return None
        return self.ragas.value - self.legacy.value

    @property
    def is_alike(self) -> bool:
        """Whether both modes agree: the same number, or no number in both."""
        if self.difference is None:
            return self.legacy.state is self.ragas.state
        return abs(self.difference) < ALIKE

    @property
    def passes_alike(self) -> bool:
        """Whether a test passes both times or neither time; without a number none passes."""
        return bool(self.legacy.passed) is bool(self.ragas.passed)


@dataclass(frozen=True)
class BothWays:
    """The scores of the same samples in both modes.

    Attributes:
        judge: the judge of both runs.
        pairs: the samples that both runs finished.
        samples: the number of samples.
        troubles: why the comparison is not conclusive: missing samples, a spent budget, or too
            many failed or imputed scores in RAGAS mode. Imputed legacy scores are normal.
    """

    judge: str
    pairs: Sequence[Pair]
    calls: int
    samples: int
    troubles: Sequence[str] = ()

    @classmethod
    def of(
        cls, legacy: Run, ragas: Run, thresholds: Mapping[str, float | None] = NO_THRESHOLDS
    ) -> "BothWays":
        """Join the rows of two runs: `legacy` is over the rows of `ragas`, as far as it came.

        `thresholds` is the id of a sample -> the threshold of its test; others have the highest.
        """
        others = list(ragas.rows)

        def own(row: Row) -> Score:
            scores = {split_threshold(name)[1]: score for name, score in row.scores.items()}
            highest = max(scores, key=lambda mark: -1.0 if mark is None else mark)
            return scores[thresholds.get(row.sample.id, highest)]

        pairs = [Pair(row.sample.id, own(row), own(others[row.index])) for row in legacy.rows]
        manifest = ragas.manifest
        return cls(
            judge=manifest.plan.judge,
            pairs=pairs,
            calls=legacy.usage().calls + ragas.usage().calls,
            samples=manifest.source.rows,
            troubles=(
                *(f"RAGAS mode: {trouble}" for trouble in ragas.troubles),
                *(f"legacy: {trouble}" for trouble in _cut_short(legacy)),
            ),
        )

    @property
    def differing(self) -> list[Pair]:
        """The pairs that differ, the largest difference first, then pairs without two numbers."""
        found = [pair for pair in self.pairs if not pair.is_alike]
        return sorted(found, key=lambda pair: -abs(pair.difference or 0.0))

    @property
    def both_scored(self) -> list[Pair]:
        """The pairs with two numbers."""
        return [pair for pair in self.pairs if pair.difference is not None]


def both_ways(
    data: str | Path | Dataset,
    plan: Plan,
    watching: Watching,
    *,
    thresholds: Mapping[str, float | None] = NO_THRESHOLDS,
) -> BothWays:
    """Score the faithfulness of the same responses in both ways; nothing is stored.

    Missing fields are requested from the target once. The judge is called separately in each
    mode, with the plan's budget for each. Of the metrics, only the thresholds of `faithfulness`
    are used; `thresholds` is the id of a sample -> that of its test. Legacy mode ignores judge
    settings that it does not have.

    Raises:
        UsageError: the judge does not work in both modes, or the plan cannot run.
        RunInterruptedError: Ctrl-C; nothing can be compared.
    """
    named = _named(plan)
    known = {split_threshold(name)[1] for name in named}
    own = {sample: mark for sample, mark in thresholds.items() if mark in known}
    usual = Plan()
    legacy = plan.model_copy(
        update={
            **{name: getattr(usual, name) for name in UNHEEDED},
            "metrics": named,
            "policy": LEGACY,
            "gates": (),
            "include_reason": False,
            "target": None,
            "fallback_target": None,
            "sheet": None,
            "limit": None,
            "columns": {},
            "cluster": None,
        }
    )
    legacy_judge(legacy, Budget())  # told before the other way was paid for
    size = preset(RAGAS)["batch_size"] if plan.batch_size == usual.batch_size else plan.batch_size
    shown = {"gates": (), "include_reason": False}  # of which nothing is
    ragas = plan.model_copy(update={**shown, "metrics": named, "policy": RAGAS, "batch_size": size})
    with watching() as watched:
        second = Evaluation.of(data, plan=ragas, **watched).run_in_thread()
    with watching() as watched:
        first = evaluate_tests(_again(second), legacy, {**watched, "explicit": {}})
    return BothWays.of(first, second, own)


def _again(run: Run) -> Dataset:
    """Return a run's samples, with their missing fields, to score them again."""
    samples = tuple(row.sample for row in run.rows)
    failures = {number: row.failures for number, row in enumerate(run.rows) if row.failures}
    return Dataset(
        samples,
        run.manifest.source.model_copy(update={"rows": len(samples)}),
        failures=failures,
        known=frozenset(chain.from_iterable(failures.values())),
    )


def _named(plan: Plan) -> tuple[str, ...]:
    """Return faithfulness with each threshold that the plan sets for it."""
    metrics = select(plan.metrics, **plan.parameters)
    ours = [one for one in metrics if isinstance(one, ClaimMetric) and one.name == METRIC]
    marks = dict.fromkeys(one.threshold for one in ours) or {None: None}
    return tuple(METRIC if mark is None else f"{METRIC},threshold={mark!r}" for mark in marks)


def _cut_short(run: Run) -> Sequence[str]:
    return [run.stopped or "rows are missing"] if run.stopped or run.partial else []
