"""Ranking evaluation: scores a ranking file against relevance judgments."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.plugins import describe_exception, is_builtin, is_from_code
from ragstone._internal.text import quoted
from ragstone.datasets.rankings import (
    Batch,
    GrowingArray,
    Judgments,
    OnRead,
    Problems,
    TieRule,
    check_names,
    gathered,
    matched,
    problems_of,
    query_texts,
    read_judgments,
    read_ranking,
)
from ragstone.errors import InputError, Problem, UsageError
from ragstone.evaluation.preflight import resolve_gates
from ragstone.metrics import select
from ragstone.metrics.retrieval import RankingMetric, depth_of
from ragstone.results.ranking_run import COUNTED, SKIPPED, UNKNOWN, RankingScores
from ragstone.results.run import Run, new_run_id
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.rankings import Rankings

Missing = Literal["zero", "skip"]
"""The score of a judged query that is missing from the ranking: 0, or none."""


@dataclass(frozen=True)
class RankingEvaluation:
    """Judgments, and the metrics that compare rankings with them.

    Attributes:
        source: the file or folder of the judgments.
        texts: query id -> its text, if the judgments come with texts.
        missing: how to score a judged query that is missing from the ranking.
        ties: which of two documents with equal scores comes first.
    """

    plan: Plan
    source: Path
    judgments: Judgments
    texts: Mapping[str, str]
    metrics: tuple[RankingMetric, ...]
    missing: Missing
    ties: TieRule = "trec_eval"

    @classmethod
    def of(
        cls, qrels: Path, plan: Plan, *, missing: Missing = "zero", ties: TieRule = "trec_eval"
    ) -> "RankingEvaluation":
        """Read the judgments.

        `plan` sets the metrics, their cut-offs and the names of the columns.
        """
        check_names(plan.columns)
        metrics: list[RankingMetric] = []
        for metric in select(plan.metrics, **plan.parameters):
            if not isinstance(metric, RankingMetric):
                needs = ", ".join(metric.needs)
                raise UsageError(f"{metric} needs {needs}; rankings from files contain only ids")
            metrics.append(metric)
        plan = plan.model_copy(update={"gates": resolve_gates(plan, metrics)})
        judgments = read_judgments(qrels, plan.columns)
        return cls(plan, qrels, judgments, query_texts(qrels), tuple(metrics), missing, ties)

    def run(self, ranking: Path, on_read: OnRead | None = None, *, name: str | None = None) -> Run:
        """Evaluate a ranking, reading a part of the file at a time.

        The default name of the run is that of the file.
        """
        columns = self.plan.columns
        queries = _Queries(self, problems_of(ranking))
        for batch in read_ranking(ranking, queries.problems, columns, on_read):
            if not queries.add(batch):  # the lines of a query are not adjacent: read the whole file
                queries = _Queries(self, problems_of(ranking))
                batches = read_ranking(ranking, queries.problems, columns, on_read)
                queries.add(gathered(batches, queries.problems))
                break
        queries.problems.raise_found()
        unknown, missing = queries.unknown, queries.missing
        judged = len(self.judgments)
        source = name or ranking.name
        if unknown and len(missing) == judged:
            theirs = next(iter(self.judgments.queries))
            text = f"none of its queries is judged in {self.source.name}: its ids look like "
            text += f"{quoted(unknown[0])}, but those of the judgments look like {quoted(theirs)}"
            raise InputError(source, [Problem(text, "use the same ids in both files")])
        both = judged - len(missing)
        ranked = both + len(unknown)
        notes = [
            f"queries judged in {self.source.name}: {judged:,}; ranked: {ranked:,}; both: {both:,}"
        ]
        if missing:
            how = "counted as 0" if self.missing == "zero" else "left out"
            notes.append(f"judged but not ranked: {len(missing):,}, {how} (--missing)")
        if unknown:
            notes.append(f"ranked but not judged: {len(unknown):,}, left out")
        notes += queries.problems.notes
        rows = queries.rows()
        started_at = datetime.now(UTC)
        manifest = Manifest(
            run_id=new_run_id(started_at),
            version=version("ragstone"),
            started_at=started_at,
            plan=self.plan,
            source=Source(name=source, rows=len(rows), notes=tuple(notes), path=str(ranking)),
            judge=None,
            judge_note=None,
            target=None,
            not_run={},
            identity={
                "data": source,
                "judgements": self.source.name,
                "judgements fingerprint": self.judgments.fingerprint,
                "metrics": ", ".join(map(str, self.metrics)),
                "missing": self.missing,
                "ties": self.ties,
            },
        )
        described = {str(metric): metric.described for metric in self.metrics}
        return Run(manifest=manifest, metrics=described, rows=rows)


class _Queries:
    """The queries read so far, and their scores."""

    def __init__(self, evaluation: RankingEvaluation, problems: Problems) -> None:
        self.problems = problems
        self._evaluation = evaluation
        self._read: dict[str, bool] = {}
        self._ids: list[str] = []
        self._values = GrowingArray(np.float64)
        self._failed: dict[str, dict[int, str]] = {}
        self._depth = depth_of(evaluation.metrics)

    def add(self, batch: Batch) -> bool:
        """Score queries; return False if one was read before and is therefore incomplete."""
        before = len(self._read)
        judged = self._evaluation.judgments.queries
        self._read |= {name: name in judged for name in batch.queries}
        if len(self._read) < before + len(batch.queries):
            return False
        self._score(batch)
        return True

    @property
    def unknown(self) -> list[str]:
        """Ranked queries without judgments."""
        return [name for name, judged in self._read.items() if not judged]

    @property
    def missing(self) -> list[str]:
        """Judged queries that are missing from the ranking."""
        return [name for name in self._evaluation.judgments.queries if name not in self._read]

    def rows(self) -> RankingScores:
        """Return the rows of all queries: scored ones first, then missing, then unknown ones."""
        unknown, missing, metrics = self.unknown, self.missing, self._evaluation.metrics
        skipped = [] if self._evaluation.missing == "zero" else missing
        if missing and not skipped:
            self._score(Batch.empty(missing))
        ids = [*self._ids, *skipped, *unknown]
        self._values.add(np.zeros((len(skipped) + len(unknown), len(metrics))))
        counts = len(self._ids), len(skipped), len(unknown)
        return RankingScores(
            ids=ids,
            texts=self._evaluation.texts,
            metrics=[str(metric) for metric in metrics],
            values=self._values.array().reshape(len(ids), len(metrics)),
            why=np.repeat(np.array([COUNTED, SKIPPED, UNKNOWN], dtype=np.uint8), counts),
            failed=self._failed,
        )

    def _score(self, batch: Batch) -> None:
        judgments, ties = self._evaluation.judgments, self._evaluation.ties
        for names, rankings in matched(
            batch, judgments, self.problems, ties=ties, depth=self._depth
        ):
            columns: list[NDArray[np.float64]] = []
            for metric in self._evaluation.metrics:
                values, failed = score_rankings(metric, rankings)
                columns.append(values)
                if failed:
                    places = {len(self._ids) + place: why for place, why in failed.items()}
                    self._failed.setdefault(str(metric), {}).update(places)
            self._ids += names
            self._values.add(np.stack(columns, axis=1))


def score_rankings(
    metric: RankingMetric, rankings: Rankings
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return float64[Q], and place -> why the metric failed there; the value is 0 there.

    If a third-party metric raises or does not return one number per query, it scores each query
    separately.
    """
    if is_builtin(metric):
        return metric.values(rankings), {}
    failed: dict[int, str] = {}
    try:
        return _validate(metric.values(rankings), len(rankings)), failed
    except BaseException as error:  # reported below, for each query that fails
        if not is_from_code(error):
            raise
    values = np.zeros(len(rankings))
    for place, (ids, relevance) in enumerate(zip(rankings.ids, rankings.relevance, strict=True)):
        try:
            alone = metric.values(Rankings.of([ids], [relevance]))
            values[place] = _validate(alone, 1)[0]
        except BaseException as error:
            if not is_from_code(error):
                raise
            failed[place] = describe_exception("the metric", error)
    return values, failed


def _validate(values: NDArray[np.float64], queries: int) -> NDArray[np.float64]:
    found = np.asarray(values, dtype=np.float64)
    if found.shape != (queries,):
        raise ValueError(f"it returned values of shape {found.shape} for {queries} queries")
    if not np.isfinite(found).all():
        place = int(np.flatnonzero(~np.isfinite(found))[0])
        raise ValueError(f"it returned {found[place]}, which is not a finite number")
    return found
