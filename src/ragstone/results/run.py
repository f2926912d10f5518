"""Run: a manifest, its rows and their summary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import TYPE_CHECKING, NoReturn, TypeVar
from uuid import uuid4

from ragstone._internal.fields import NamesHint, base_name
from ragstone._internal.text import count
from ragstone.errors import UsageError
from ragstone.results.calibration import Calibration, load_calibration
from ragstone.results.ranking_run import RankingRows
from ragstone.results.run_summary import RunSummaryBuilder, Slices
from ragstone.results.verdict import Verdict
from ragstone.types.config import Manifest, Plan
from ragstone.types.gate import GateResult
from ragstone.types.ids import WARNINGS
from ragstone.types.label import HumanLabel
from ragstone.types.reply import Usage
from ragstone.types.row import LazyRows, Row
from ragstone.types.score import NOTHING, Correction, Detail, MetricInfo, Summary

if TYPE_CHECKING:
    import pandas  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    import polars
    import pyarrow  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]

DataFrame = TypeVar("DataFrame")

REASONS = 5
"""The most common reasons for undefined scores that a summary has."""


class _Summaries(dict[str, Summary]):
    def __missing__(self, name: str) -> Summary:
        named = [full for full in self if base_name(full) == name]
        if len(named) == 1:
            return self[named[0]]
        raise KeyError(f"{name}; the metrics of this run are {', '.join(self)}")


@dataclass(frozen=True, repr=False)
class Run(NamesHint):
    """The record of one evaluation.

    Attributes:
        metrics: metric name -> its description, in the order of the request.
        rows: in the order of the data set; they may be read from a store each time.
        extras: metric name -> its own figures (see `Summary.extra`).
        partial: True if the run was stopped before every row was finished.
        stopped: the budget that was spent, so that answers are missing; None if none was.
        failed_tests: the tests of a promptfoo configuration that failed; None if none did.
        known_counts: the counts of the rows, if they were counted as they finished.
        given: the rows of the data frame that was evaluated, with its index, but without its texts.
    """

    manifest: Manifest
    metrics: Mapping[str, MetricInfo]
    rows: Sequence[Row]
    extras: Mapping[str, Detail] = field(default_factory=dict[str, Detail])
    partial: bool = False
    stopped: str | None = None
    failed_tests: str | None = None
    known_counts: RunSummaryBuilder | None = field(default=None, compare=False)
    given: object = field(default=None, compare=False)

    @property
    def columns(self) -> RankingRows | None:
        """The columns that the rows are made of, if the run is of a ranking; else None."""
        return self.rows if isinstance(self.rows, RankingRows) else None

    def id_and_query(self, place: int) -> tuple[str, str]:
        """Return those of the row at a place, without making the row if that is possible."""
        if (columns := self.columns) is not None:
            return columns.ids[place], columns.queries[place]
        sample = self.rows[place].sample
        return sample.id, sample.query

    def with_plan(self, plan: Plan) -> "Run":
        """Return the run with another plan, such as one with a calibration."""
        return replace(self, manifest=self.manifest.model_copy(update={"plan": plan}))

    @property
    def stored(self) -> bool:
        """Whether the rows are read from a store."""
        return isinstance(self.rows, LazyRows) and self.rows.stored

    @cached_property
    def counts(self) -> RunSummaryBuilder:
        """The counts of the rows; computed once."""
        if self.columns is not None:
            return self.columns.count_rows()
        if self.known_counts:
            return self.known_counts
        known = self.rows.counts() if isinstance(self.rows, LazyRows) else None
        if isinstance(known, RunSummaryBuilder) and known.rows == len(self.rows):
            return known
        return RunSummaryBuilder.of(self.rows, self.metrics, cluster=self.manifest.plan.cluster)

    def __repr__(self) -> str:
        means = [
            f"{name}={'none' if summary.mean is None else f'{summary.mean:.4f}'}"
            for name, summary in self.summary().items()
        ]
        state = "partial, " if self.partial else ""
        return f"<Run {self.manifest.run_id}: {state}{len(self.rows)} rows, {', '.join(means)}>"

    @property
    def _notebook(self) -> ModuleType:
        from ragstone.reports import notebook

        return notebook

    def _repr_html_(self) -> str:
        return self._notebook.run_html(self)

    def show(self, path: str | Path | None = None) -> None:
        """Show the whole report: in a notebook below the cell, else in the browser.

        Outside notebooks the report is written to `path` (default: `ragstone-RUN_ID.html` in the
        current folder), its path is printed, and on a terminal it is opened.

        Raises:
            UsageError: the file cannot be written.
        """
        self._notebook.show(self, path)

    def report(
        self,
        *,
        html: str | Path | None = None,
        excel: str | Path | None = None,
        markdown: str | Path | None = None,
        junit: str | Path | None = None,
    ) -> tuple[Path, ...]:
        """Write reports, each to the given file, and return the paths.

        Raises:
            UsageError: no file is named, two are the same, or one cannot be written.
        """
        files = {"html": html, "excel": excel, "markdown": markdown, "junit": junit}
        return self._notebook.write_reports(self, files)

    def to_pandas(  # pyright: ignore[reportUnknownParameterType]
        self, *, claims: bool = False, details: bool = False
    ) -> "pandas.DataFrame":  # pyright: ignore[reportUnknownMemberType]
        """Return the samples as a frame of pandas: a row each, with a column per metric.

        Before these are the fields of the sample and your other columns; one with the name of
        another column gets the suffix `_given`. Without a score, the value is null. `details` adds
        why, and the rest of `--rows x.csv`. With `claims`, there is a row per judged claim, with
        its label, reason and first quote.

        The index is that of the rows of the pandas frame that was evaluated, so that
        `df["faithfulness"] = run.to_pandas()["faithfulness"]` is right for any order of rows. Runs
        of other data, or from a store, have the ids of the samples as index: see `join`.

        Raises:
            UsageError: the library is not installed.
        """
        return self._notebook.frame(self, "pandas", claims=claims, details=details)

    def to_polars(self, *, claims: bool = False, details: bool = False) -> "polars.DataFrame":
        """Return a frame of polars, as `to_pandas` does."""
        return self._notebook.frame(self, "polars", claims=claims, details=details)

    def to_arrow(  # pyright: ignore[reportUnknownParameterType]
        self, *, claims: bool = False, details: bool = False
    ) -> "pyarrow.Table":  # pyright: ignore[reportUnknownMemberType]
        """Return a PyArrow table, as `to_pandas` does."""
        return self._notebook.frame(self, "pyarrow", claims=claims, details=details)

    def join(self, frame: DataFrame) -> DataFrame:
        """Return a frame of pandas or polars with the scores as further columns.

        It is the frame that was evaluated, or has the same rows. They are matched by the index of
        pandas or by the ids; texts that differ are an error. Rows without a score have null.

        Raises:
            UsageError: the frame has other rows, or already a column with the name of a metric.
            InputError: the frame cannot be read as samples.
        """
        return self._notebook.join(self, frame)

    def __getitem__(self, name: object) -> NoReturn:
        raise TypeError(f"a run has no {name!r}; use run.summary()['faithfulness'].mean, run.rows")

    def summary(self) -> Mapping[str, Summary]:
        """Return the mean, the interval and the counts of each metric, by name.

        `hit` is also found as `hit@5`, unless there are several cut-offs.
        """
        return self._summary

    @cached_property
    def _summary(self) -> Mapping[str, Summary]:
        summaries = _Summaries()
        for name, info in self.metrics.items():
            extra = self.extras.get(name, NOTHING)
            summary = self.counts.scores[name].summary(
                extra, low=info.low, high=info.high, groups=self.counts.grouping.labels
            )
            corrected, chosen = None, self.manifest.plan.calibration
            if chosen is not None and info.calls:
                try:
                    labels = load_calibration(chosen)
                    corrected = labels.correct(name, self.manifest, self.counts, self.rows)
                except UsageError as error:  # a stored run, reported elsewhere
                    corrected = Correction(calibration=chosen, problem=str(error))
            summaries[name] = summary.model_copy(update={"corrected": corrected})
        return MappingProxyType(summaries)

    @cached_property
    def verdict(self) -> Verdict:
        """How many answers are wrong, and why; computed once."""
        ids, notes = self.counts.ids, self.manifest.source.notes
        warned = ids.warning("row") if ids.differ else None
        warned = next((note for note in notes if note.startswith(WARNINGS)), warned)
        return Verdict.of(self.counts, ranked=self.columns is not None, warning=warned)

    @cached_property
    def slices(self) -> list[Slices]:
        """The scores among rows that share a value of a tag; computed once."""
        return self.counts.slices(self.metrics)

    def calibrate(self, labels: Iterable[HumanLabel], name: str) -> Calibration:
        """Return the calibration of this run's labels under a name; it is not saved.

        Raises:
            UsageError: there are no labels of scored rows, or of a metric that has no range 0 to 1.
        """
        return Calibration.from_labels(
            self.manifest, self.metrics, self.rows, labels=[*labels], name=name
        )

    def gates(self) -> tuple[GateResult, ...]:
        """Check the gates of the plan; those on a corrected mean need a metric that is judged."""
        results: list[GateResult] = []
        for gate in self.manifest.plan.gates:
            info = self.metrics.get(gate.metric)
            if gate.of == "corrected" and info and not info.calls:
                gate = gate.model_copy(update={"of": "mean"})
            results.append(gate.check(self.summary()))
        return tuple(results)

    @cached_property
    def troubles(self) -> tuple[str, ...]:
        """Why these numbers decide nothing, whether or not the gates pass; empty if they do.

        Rows are missing, a gate is undecided, or more failed than the plan allows.
        """
        found = [self.stopped or "rows are missing"] if self.partial or self.stopped else []
        found += (str(gate) for gate in self.gates() if gate.passed is None)
        return (*found, *self.too_much_failed)

    @property
    def too_much_failed(self) -> tuple[str, ...]:
        """A message on metrics with more failed or imputed scores than the plan allows, if any."""
        found: dict[str, list[str]] = {}
        limit, how = self.manifest.plan.max_failure_rate, "failed"
        for name, summary in self.summary().items():
            bad, answered = summary.failed + summary.flagged, summary.scored + summary.failed
            if bad > limit * answered:
                how = "failed or are flagged" if summary.flagged else how
                found.setdefault(f"{bad:,} of {count(answered, 'score')}", []).append(name)
        if not found:
            return ()
        parts = [f"{share} of {', '.join(names)}" for share, names in found.items()]
        return (f"{' and '.join(parts)} {how}, more than {limit:.0%} (max_failure_rate)",)

    def usage(self) -> Usage:
        """Return the usage of all replies of the judge."""
        return self.counts.usage

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies of the metrics, each once; empty if no metric has one."""
        found = (info.policy for info in self.metrics.values())
        return tuple(dict.fromkeys(policy for policy in found if policy))

    def to_dict(self) -> dict[str, object]:
        """Return the summary as plain data, in the stable shape of `--json`."""
        manifest, counts = self.manifest, self.counts
        health = counts.health()
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
            "verdict": self.verdict.to_dict(),
            "partial": self.partial,
            "stopped": self.stopped,
            "metrics": {
                name: summary.model_dump(mode="json") | self._described(name)
                for name, summary in self.summary().items()
            },
            "latency": {
                name: found.latencies.percentiles()
                for name, found in counts.scores.items()
                if found.latencies
            },
            "grouping": counts.grouping.to_dict(),
            "slices": self.slices,
            "not_run": dict(manifest.not_run),
            "troubles": list(self.troubles),
            "failed_tests": self.failed_tests,
            "gates": [gate.model_dump(mode="json") for gate in self.gates()],
            "target_health": health and vars(health),
            "usage": vars(counts.usage)
            | counts.judge_latencies.percentiles()
            | {"calls_saved": counts.calls_saved},
            "judge_test": manifest.judge_test,
            "blame": {blame.value: number for blame, number in sorted(counts.blame.items())},
        }

    def _described(self, name: str) -> dict[str, object]:
        info, counts = self.metrics[name], self.counts.scores[name]
        return {
            "label": info.label,
            "family": info.family,
            "range": list(info.range),
            "higher_is_better": info.higher_is_better,
            "threshold": counts.threshold,
            "claims": {label.value: number for label, number in sorted(counts.labels.items())},
            "reasons": dict(counts.undefined.most_common(REASONS)),
            "failures": [
                {"cause": cause.value, "count": count, "first": str(counts.failed[cause])}
                for cause, count in counts.causes.items()
            ],
        }


class RunInterruptedError(KeyboardInterrupt):
    """The user stopped a run; `run` has the rows that were finished, and is partial."""

    def __init__(self, run: Run) -> None:
        self.run = run
        super().__init__("interrupted")


def new_run_id(started_at: datetime) -> str:
    """Return a unique id; ids sort in the order in which their runs started."""
    return f"{started_at:%Y%m%d-%H%M%S}-{uuid4().hex[:6]}"
