"""Ranking evaluation: judgements and a ranking of many queries, from files, to a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone.errors import InputError, Problem, UsageError
from ragstone.messages import quoted
from ragstone.metrics import RankingMetric, select
from ragstone.metrics.families.ranking_metric import depth_of
from ragstone.named_gates import gates_of
from ragstone.plan import Manifest, Plan, Source
from ragstone.ranked_columns import column_of
from ragstone.ranked_values import COUNTED, SKIPPED, UNKNOWN, RankedValues
from ragstone.ranking_files import (
    Batch,
    Growing,
    Judgements,
    OnRead,
    Problems,
    TieRule,
    check_names,
    gathered,
    matched,
    problems_of,
    query_texts,
    read_judgements,
    read_ranking,
)
from ragstone.rankings import Rankings
from ragstone.run import Run
from ragstone.run_ids import new_run_id

Missing = Literal["zero", "skip"]
"""What a judged query comes to of which the ranking has nothing: 0, or no number."""


@dataclass(frozen=True)
class RankingEvaluation:
    """Judgements, and the metrics that rankings are held against them with.

    Attributes:
        source: the file or folder of the judgements.
        texts: query id -> its text, where the judgements come with them.
        missing: what a judged query comes to of which the ranking has nothing.
        ties: which of two documents with equal scores stands before the other.
    """

    plan: Plan
    source: Path
    judgements: Judgements
    texts: Mapping[str, str]
    metrics: tuple[RankingMetric, ...]
    missing: Missing
    ties: TieRule = "trec_eval"

    @classmethod
    def of(
        cls,
        qrels: Path,
        plan: Plan,
        *,
        missing: Missing = "zero",
        ties: TieRule = "trec_eval",
    ) -> "RankingEvaluation":
        """Read the judgements.

        `plan` says the metrics, their cut-offs, and what the columns are called.

        Raises:
            UsageError: a metric reads more than rankings, or there is no such file or column.
            InputError: the file's content is wrong.
        """
        check_names(plan.columns)
        metrics: list[RankingMetric] = []
        for metric in select(plan.metrics, **plan.parameters):
            if not isinstance(metric, RankingMetric):
                needs = ", ".join(metric.needs)
                raise UsageError(f"{metric} needs {needs}; rankings from files have ids alone")
            metrics.append(metric)
        plan = plan.model_copy(update={"gates": gates_of(plan, metrics)})
        judgements = read_judgements(qrels, plan.columns)
        return cls(plan, qrels, judgements, query_texts(qrels), tuple(metrics), missing, ties)

    def run(self, ranking: Path, on_read: OnRead | None = None, *, name: str | None = None) -> Run:
        """Evaluate a ranking; what is read at once is all that is held of it.

        It is called by its file's name, unless another is given.

        Raises:
            UsageError: there is no such file or column.
            InputError: the file's content is wrong.
        """
        columns = self.plan.columns
        found = _Found(self, problems_of(ranking))
        for batch in read_ranking(ranking, found.problems, columns, on_read):
            if not found.add(batch):
                found = _Found(self, problems_of(ranking))
                found.add(gathered(read_ranking(ranking, found.problems, columns, on_read)))
                break
        found.problems.tell()
        rows = found.rows()
        return Run(
            manifest=self._manifest(name or ranking.name, ranking, rows, found.problems.notes),
            metrics={str(metric): metric.described for metric in self.metrics},
            rows=rows,
        )

    def check_shared(self, run: Run) -> None:
        """Refuse a run of which no query is judged: most likely ids are written in two ways.

        Raises:
            InputError: so it is, and there are queries on both sides.
        """
        rows = run.rows
        assert isinstance(rows, RankedValues)
        unknown = np.flatnonzero(rows.why == UNKNOWN)
        if len(unknown) and rows.missing == len(self.judgements):
            ours, theirs = rows.ids[int(unknown[0])], next(iter(self.judgements.queries))
            seen = f"no query of it is judged in {self.source.name}: its ids are such as "
            seen += f"{quoted(ours)}, there they are such as {quoted(theirs)}"
            raise InputError(run.manifest.source.name, [Problem(seen, "write both alike")])

    def _manifest(
        self, name: str, ranking: Path, rows: RankedValues, notes: Sequence[str]
    ) -> Manifest:
        started_at = datetime.now(UTC)
        told = (*self._coverage(rows), *notes)
        return Manifest(
            run_id=new_run_id(started_at),
            version=version("ragstone"),
            started_at=started_at,
            plan=self.plan,
            source=Source(name=name, rows=len(rows), notes=told, path=str(ranking)),
            judge=None,
            judge_note=None,
            target=None,
            not_run={},
            identity={
                "data": name,
                "judgements": self.source.name,
                "judgements fingerprint": self.judgements.fingerprint,
                "metrics": ", ".join(map(str, self.metrics)),
                "missing": self.missing,
                "ties": self.ties,
            },
        )

    def _coverage(self, rows: RankedValues) -> Sequence[str]:
        judged = len(self.judgements)
        unknown = int(np.count_nonzero(rows.why == UNKNOWN))
        ranked = judged + unknown - rows.missing
        both = judged - rows.missing
        told = [
            f"queries judged in {self.source.name}: {judged:,}; ranked: {ranked:,}; both: {both:,}"
        ]
        if rows.missing:
            how = "counted as 0" if self.missing == "zero" else "left out"
            told.append(f"judged but not ranked: {rows.missing:,}, {how} (--missing)")
        if unknown:
            told.append(f"ranked but not judged: {unknown:,}, left out")
        return told


class _Found:
    """The values of the queries that were met so far."""

    def __init__(self, evaluation: RankingEvaluation, problems: Problems) -> None:
        self.problems = problems
        self._of = evaluation
        self._met: dict[str, bool] = {}
        self._names: list[str] = []
        self._values = Growing(np.float64)
        self._failed: dict[str, dict[int, str]] = {}
        self._depth = depth_of(evaluation.metrics)

    def add(self, batch: Batch) -> bool:
        """Take whole queries; False if one of them was met before, so that it is not whole."""
        before = len(self._met)
        known = self._of.judgements.queries
        self._met |= {name: name in known for name in batch.queries}
        if len(self._met) < before + len(batch.queries):
            return False
        self._score(batch)
        return True

    def _score(self, batch: Batch) -> None:
        of = self._of
        for names, rankings in matched(
            batch, of.judgements, self.problems, ties=of.ties, depth=self._depth
        ):
            columns = [self._column(metric, rankings) for metric in of.metrics]
            self._names += names
            self._values.add(np.stack(columns, axis=1))

    def _column(self, metric: RankingMetric, rankings: Rankings) -> NDArray[np.float64]:
        found, failed = column_of(metric, rankings)
        if failed:
            before = len(self._names)
            places = {before + place: words for place, words in failed.items()}
            self._failed.setdefault(str(metric), {}).update(places)
        return found

    def rows(self) -> RankedValues:
        """Return what came of all queries: those of the ranking, then those it has nothing of."""
        unknown = [name for name, judged in self._met.items() if not judged]
        missing = [name for name in self._of.judgements.queries if name not in self._met]
        if missing and self._of.missing == "zero":
            self._score(Batch.empty(missing))
        elif missing:
            self._names += missing
            self._values.add(np.zeros((len(missing), len(self._of.metrics))))
        self._values.add(np.zeros((len(unknown), len(self._of.metrics))))
        ids = [*self._names, *unknown]
        why = np.full(len(ids), COUNTED, dtype=np.uint8)
        if self._of.missing == "skip":
            why[len(ids) - len(unknown) - len(missing) :] = SKIPPED
        why[len(ids) - len(unknown) :] = UNKNOWN
        return RankedValues(
            ids=ids,
            texts=self._of.texts,
            metrics=[str(metric) for metric in self._of.metrics],
            values=self._values.floats(0).reshape(len(ids), len(self._of.metrics)),
            why=why,
            missing=len(missing),
            failed=self._failed,
        )
