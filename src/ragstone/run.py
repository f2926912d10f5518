"""Run: a manifest and its rows. Row: one sample, what the target did, and the scores."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from operator import add
from types import MappingProxyType

from ragstone.claims import Blame, Blamed
from ragstone.exchanges import Exchange, Failure
from ragstone.gates import GateResult
from ragstone.plan import Manifest
from ragstone.samples import Sample
from ragstone.scores import NOTHING, Detail, MetricInfo, Score, Summary
from ragstone.stats import quantile
from ragstone.usage import Usage


@dataclass(frozen=True)
class TargetCall:
    """One call of the target for one row: how long it took (ms), and why it failed if it did."""

    name: str
    latency_ms: float
    failure: Failure | None = None


@dataclass(frozen=True)
class Row:
    """One sample on its way: as loaded, then with what the target gave, then with scores.

    Attributes:
        index: its place in the data set, from 0.
        lacking: Sample field -> why the target did not give it; metrics that need it fail.
        calls: what the target was asked for this row.
        exchanges: what the judge was asked about it, and what came back: the ledger.
        blamed: what went wrong with each claim that is not backed, or missing.
        notes: what a reader of the numbers should know, such as duplicates in the ranking.
    """

    index: int
    sample: Sample
    lacking: Mapping[str, Failure] = field(default_factory=dict[str, Failure])
    calls: tuple[TargetCall, ...] = ()
    scores: Mapping[str, Score] = field(default_factory=dict[str, Score])
    exchanges: tuple[Exchange, ...] = ()
    blamed: tuple[Blamed, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def usage(self) -> Usage:
        """What the judge cost for this row."""
        return reduce(add, (exchange.outcome.usage for exchange in self.exchanges), Usage())

    @property
    def latency_ms(self) -> float | None:
        """How long the target took for this row, all calls together; None if one failed."""
        if not self.calls or any(call.failure for call in self.calls):
            return None
        return sum(call.latency_ms for call in self.calls)

    def to_dict(self) -> dict[str, object]:
        """Return the row as plain data, in the stable shape of `--rows`."""
        sample = self.sample.model_dump(mode="json")
        shown = ("id", "query", "response", "contexts", "ranking", "reference", "relevance", "tags")
        return {
            **{name: sample[name] for name in shown},
            "usage": vars(self.usage),
            "latency_ms": self.latency_ms,
            "notes": list(self.notes),
            "blame": [each.model_dump(mode="json") for each in self.blamed],
            "scores": {name: score.model_dump(mode="json") for name, score in self.scores.items()},
        }


@dataclass(frozen=True)
class TargetHealth:
    """How the target did: calls by name, failed ones, and latency in ms of those that worked."""

    asked: Mapping[str, int]
    failed: Mapping[str, int]
    error_rate: float
    p50_ms: float | None
    p95_ms: float | None

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "TargetHealth | None":
        """Count over all rows; None if the target was not asked."""
        calls = [call for row in rows for call in row.calls]
        if not calls:
            return None
        failed = Counter(call.name for call in calls if call.failure)
        worked = [call.latency_ms for call in calls if not call.failure]
        return cls(
            asked=Counter(call.name for call in calls),
            failed=failed,
            error_rate=failed.total() / len(calls),
            p50_ms=quantile(worked, 0.5),
            p95_ms=quantile(worked, 0.95),
        )


@dataclass(frozen=True, repr=False)
class Run:
    """The record of one evaluation.

    Attributes:
        metrics: metric name -> what it is, in the order they were asked for.
        rows: in the data set's order.
        extras: metric name -> its own figures (see `Summary.extra`).
        partial: True if the run was stopped before every row was finished.
        stopped: the budget that was spent, so that answers are missing; None if none was.
    """

    manifest: Manifest
    metrics: Mapping[str, MetricInfo]
    rows: Sequence[Row]
    extras: Mapping[str, Detail] = field(default_factory=dict[str, Detail])
    partial: bool = False
    stopped: str | None = None

    def __repr__(self) -> str:
        means = [
            f"{name}={'none' if summary.mean is None else f'{summary.mean:.4f}'}"
            for name, summary in self.summary().items()
        ]
        state = "partial, " if self.partial else ""
        return f"<Run {self.manifest.run_id}: {state}{len(self.rows)} rows, {', '.join(means)}>"

    def summary(self) -> Mapping[str, Summary]:
        """Return what each metric's scores come to, by metric name."""
        return self._summary

    @cached_property
    def _summary(self) -> Mapping[str, Summary]:
        """Reckoned once: the intervals of a long run take seconds."""
        summaries = {
            name: Summary.of(
                [row.scores[name] for row in self.rows], self.extras.get(name, NOTHING)
            )
            for name in self.metrics
        }
        return MappingProxyType(summaries)

    def gates(self) -> tuple[GateResult, ...]:
        """Hold the summary against the plan's gates."""
        summary = self.summary()
        return tuple(gate.check(summary) for gate in self.manifest.plan.gates)

    def usage(self) -> Usage:
        """Return what the judge's replies cost together."""
        return reduce(add, (row.usage for row in self.rows), Usage())

    @property
    def calls_saved(self) -> int:
        """The calls that were not made as several metrics asked the same question."""
        asked = (exchange for row in self.rows for exchange in row.exchanges)
        return sum((each.askers - 1) * each.outcome.usage.calls for each in asked)

    def blame(self) -> Mapping[Blame, int]:
        """Return how many claims went wrong in each way, over all rows."""
        return Counter(each.blame for row in self.rows for each in row.blamed)

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that made the numbers, each once; none where no verdict was weighed."""
        found = (info.policy for info in self.metrics.values())
        return tuple(dict.fromkeys(policy for policy in found if policy))

    def judge_latency(self) -> dict[str, float | None]:
        """Return how long the judge took to answer, in ms; what was cached is not counted."""
        asked = (exchange for row in self.rows for exchange in row.exchanges)
        times = [exchange.latency_ms for exchange in asked if exchange.outcome.usage.calls]
        return {"p50_ms": quantile(times, 0.5), "p95_ms": quantile(times, 0.95)}

    def to_dict(self) -> dict[str, object]:
        """Return the summary as plain data, in the stable shape of `--json`."""
        manifest, health = self.manifest, TargetHealth.of(self.rows)
        return {
            "run_id": manifest.run_id,
            "version": manifest.version,
            "started_at": manifest.started_at.isoformat(),
            "dataset": manifest.source.model_dump(mode="json"),
            "target": manifest.target,
            "judge": manifest.judge,
            "judge_note": manifest.judge_note,
            "policy": ", ".join(self.policies) or None,
            "options": manifest.options,
            "partial": self.partial,
            "stopped": self.stopped,
            "metrics": {
                name: summary.model_dump(mode="json") for name, summary in self.summary().items()
            },
            "not_run": dict(manifest.not_run),
            "gates": [gate.model_dump(mode="json") for gate in self.gates()],
            "target_health": health
            and vars(health) | {"asked": dict(health.asked), "failed": dict(health.failed)},
            "usage": vars(self.usage()) | self.judge_latency() | {"calls_saved": self.calls_saved},
            "blame": {blame.value: number for blame, number in self.blame().items()},
        }


class Interrupted(KeyboardInterrupt):
    """The user stopped a run; `run` holds the rows that were finished, marked partial."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__("interrupted")
