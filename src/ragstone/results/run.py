"""Run: a manifest and its rows, and what they come to."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from types import MappingProxyType
from typing import TypeVar
from uuid import uuid4

from ragstone._internal.text import count
from ragstone.results.ranking_run import RankingRows
from ragstone.results.run_summary import RunSummaryBuilder, Slices
from ragstone.results.stats import histogram
from ragstone.types.config import Manifest
from ragstone.types.gate import GateResult
from ragstone.types.reply import Usage
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import NOTHING, Detail, MetricInfo, Summary

T = TypeVar("T", bound=str)
REASONS = 5
"""Reasons for undefined scores that a summary names, the commonest."""


@dataclass(frozen=True, repr=False)
class Run:
    """The record of one evaluation.

    Attributes:
        metrics: metric name -> what it is, in the order they were asked for.
        rows: in the data set's order; they may be read from a store each time.
        extras: metric name -> its own figures (see `Summary.extra`).
        counted: the tally of the rows, where they were counted as they came.
        partial: True if the run was stopped before every row was finished.
        stopped: the budget that was spent, so that answers are missing; None if none was.
    """

    manifest: Manifest
    metrics: Mapping[str, MetricInfo]
    rows: Sequence[Row]
    extras: Mapping[str, Detail] = field(default_factory=dict[str, Detail])
    partial: bool = False
    stopped: str | None = None
    counted: RunSummaryBuilder | None = field(default=None, compare=False)

    @property
    def columns(self) -> RankingRows | None:
        """The columns that the rows are made of, if the run is of a ranking; else None."""
        return self.rows if isinstance(self.rows, RankingRows) else None

    def query_at(self, place: int) -> str:
        """Return the query of the row at a place, without making the row if that is possible."""
        columns = self.columns
        return self.rows[place].sample.query if columns is None else columns.queries[place]

    @property
    def stored(self) -> bool:
        """Whether the rows are read from a store."""
        return isinstance(self.rows, LazyRows) and self.rows.stored

    @cached_property
    def tally(self) -> RunSummaryBuilder:
        """What the rows come to; counted once."""
        if self.columns is not None:
            return self.columns.tally()
        return self.counted or RunSummaryBuilder.of(
            self.rows, self.metrics, cluster=self.manifest.plan.cluster
        )

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
        tallies = self.tally.scores
        summaries = {
            name: tallies[name].summary(
                self.extras.get(name, NOTHING), low=info.low, high=info.high
            )
            for name, info in self.metrics.items()
        }
        return MappingProxyType(summaries)

    @cached_property
    def slices(self) -> list[Slices]:
        """What the metrics come to among rows that share a value of a tag; reckoned once."""
        return self.tally.slices(self.metrics)

    def gates(self) -> tuple[GateResult, ...]:
        """Hold the summary against the plan's gates."""
        summary = self.summary()
        return tuple(gate.check(summary) for gate in self.manifest.plan.gates)

    @cached_property
    def troubles(self) -> tuple[str, ...]:
        """Why these numbers decide nothing, whatever the gates say; empty where they may.

        Rows are missing, a gate has nothing to look at, or more failed than the plan allows.
        """
        told = [self.stopped or "rows are missing"] if self.partial or self.stopped else []
        if blind := [gate.metric for gate in self.gates() if gate.passed is None]:
            told.append(f"a gate has nothing to look at: {', '.join(blind)}")
        return (*told, *self.too_much_failed)

    @property
    def too_much_failed(self) -> tuple[str, ...]:
        """The metrics of which more failed, or was made up, than the plan allows, in words."""
        told: list[str] = []
        limit = self.manifest.plan.max_failure_rate
        for name, summary in self.summary().items():
            bad, answered = summary.failed + summary.flagged, summary.scored + summary.failed
            if bad > limit * answered:
                how = "failed or are flagged" if summary.flagged else "failed"
                told.append(
                    f"{bad:,} of {count(answered, 'score')} of {name} {how}, more than {limit:.0%} "
                    "(--max-failure-rate)"
                )
        return tuple(told)

    def usage(self) -> Usage:
        """Return what the judge's replies cost together."""
        return self.tally.usage

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies that made the numbers, each once; none where no verdict was weighed."""
        found = (info.policy for info in self.metrics.values())
        return tuple(dict.fromkeys(policy for policy in found if policy))

    def to_dict(self) -> dict[str, object]:
        """Return the summary as plain data, in the stable shape of `--json`."""
        manifest, tally = self.manifest, self.tally
        health = tally.health()
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
                name: summary.model_dump(mode="json") | self._described(name)
                for name, summary in self.summary().items()
            },
            "slices": self.slices,
            "not_run": dict(manifest.not_run),
            "troubles": list(self.troubles),
            "gates": [gate.model_dump(mode="json") for gate in self.gates()],
            "target_health": health
            and vars(health) | {"asked": dict(health.asked), "failed": dict(health.failed)},
            "usage": vars(tally.usage) | tally.judge_latency() | {"calls_saved": tally.calls_saved},
            "cascade": tally.cascade and vars(tally.cascade),
            "judge_test": manifest.judge_test,
            "blame": {blame.value: number for blame, number in tally.blame.items()},
        }

    def _described(self, name: str) -> dict[str, object]:
        """Return what a reader of one metric's figures wants beside them."""
        info, tally = self.metrics[name], self.tally.scores[name]
        return {
            "label": info.label,
            "family": info.family,
            "range": list(info.range),
            "higher_is_better": info.higher_is_better,
            "threshold": tally.threshold,
            "histogram": histogram(tally.values, low=info.low, high=info.high),
            "reasons": dict(_commonest(tally.undefined)[:REASONS]),
            "failures": [
                {"cause": cause.value, "count": count, "first": str(tally.failed[cause])}
                for cause, count in _commonest(tally.causes)
            ],
        }


def _commonest(counter: Counter[T]) -> list[tuple[T, int]]:
    """Return what was counted, the commonest first; rows may have come in any order."""
    return sorted(counter.items(), key=lambda pair: (-pair[1], pair[0]))


class RunInterruptedError(KeyboardInterrupt):
    """The user stopped a run; `run` holds the rows that were finished, marked partial."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__("interrupted")


# Run ids: what a run is called.


def new_run_id(started_at: datetime) -> str:
    """Return an id that nobody else gives: ids of one place sort as their runs began."""
    return f"{started_at:%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"
