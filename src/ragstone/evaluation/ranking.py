"""Ranking evaluation: scores a ranking file against relevance judgments."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.plugins import describe_exception, is_builtin, is_from_code
from ragstone._internal.text import quoted
from ragstone.datasets.rankings import files, join
from ragstone.datasets.rankings.source import NAMES, GrowingArray, OnRead, Problems, Texts
from ragstone.errors import InputError, Problem, UsageError
from ragstone.evaluation.preflight import resolve_gates
from ragstone.evaluation.recorder import VERSION
from ragstone.metrics import select
from ragstone.metrics.retrieval import RankingMetric, depth_of
from ragstone.results import ranking_run
from ragstone.results.ranking_run import JUDGED, READ, UNFOUND
from ragstone.results.run import Run, new_run_id
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.ids import IdCheck
from ragstone.types.rankings import Rankings

Missing = Literal["zero", "skip"]  # the score of a judged query that is not ranked: 0, or none


@dataclass(frozen=True)
class RankingEvaluation:
    """Judgments, and the metrics that compare rankings with them."""

    plan: Plan
    source: Path
    judgments: join.Judgments
    texts: Mapping[str, str]
    metrics: tuple[RankingMetric, ...]
    missing: Missing
    ties: join.TieRule = "trec_eval"
    ignore_identical: bool = False  # leave out documents with their query's id, as BEIR does

    @classmethod
    def of(
        cls,
        qrels: Path,
        plan: Plan,
        *,
        missing: Missing = "zero",
        ties: join.TieRule = "trec_eval",
        ignore_identical: bool = False,
    ) -> "RankingEvaluation":
        for field in plan.columns:
            if field not in NAMES:
                raise UsageError(f"map {field}=...: the fields are {', '.join(NAMES)}")
        metrics: list[RankingMetric] = []
        for metric in select(plan.metrics, **plan.parameters):
            if not isinstance(metric, RankingMetric):
                needs = ", ".join(metric.needs)
                raise UsageError(f"{metric} needs {needs}; rankings from files contain only ids")
            metrics.append(metric)
        plan = plan.model_copy(update={"gates": resolve_gates(plan, metrics)})
        judgments = files.read_judgments(qrels, plan.columns)
        texts = join.query_texts(qrels)
        return cls(plan, qrels, judgments, texts, tuple(metrics), missing, ties, ignore_identical)

    def run(
        self,
        ranking: Path,
        on_read: OnRead | None = None,
        *,
        name: str | None = None,
        rows: bool = True,
        several: bool = False,
    ) -> Run:
        """Without `rows`, scores are only summed, and the run has only the worst rows."""
        columns, problems = self.plan.columns, Problems(ranking)
        queries, first = ScoredQueries(self, rows=rows), ""
        for batch in files.read(ranking, problems, columns, on_read):
            first = first or batch.example
            if not queries.add(batch, problems):  # its lines are not adjacent: read all
                queries, problems = ScoredQueries(self, rows=rows), Problems(ranking)
                batches = files.read(ranking, problems, columns, on_read)
                queries.add(join.gathered(batches, problems), problems)
                break
        problems.raise_found()
        unknown, missing = list(queries.unknown), queries.missing
        unused = columns.keys() - problems.mapped - set(self.judgments.mapped)
        for field in () if several else unused:  # it may be for another ranking
            where = f"neither {self.source.name} nor {ranking.name} has this column"
            raise UsageError(f"map {field}={columns[field]} has no effect: {where}")
        judged = len(self.judgments)
        source = name or ranking.name
        if unknown and len(missing) == judged:
            theirs = self.judgments.names[0]
            seen = (
                f"none of its queries is judged in {self.source.name}: its ids look like "
                f"{quoted(unknown[0])}, but those of the judgments look like {quoted(theirs)}"
            )
            raise InputError(source, [Problem(seen, "use the same ids in both files")])
        both = judged - len(missing)
        ranked = both + len(unknown)
        notes = [
            f"{READ}{self.judgments.example or 'no document'}; ranked: {first or 'no document'}",
            f"{JUDGED}{self.source.name}: {judged:,}; ranked: {ranked:,}; both: {both:,}",
        ]
        if missing:
            how = "counted as 0" if self.missing == "zero" else "left out"
            notes.append(f"{UNFOUND}{len(missing):,}, {how} (missing={self.missing})")
        if unknown:
            notes.append(f"ranked but not judged: {len(unknown):,}, left out")
        if queries.own_ids:
            done = "left out" if self.ignore_identical else "--ignore-identical-ids leaves them out"
            notes.append(f"ranked documents with their query's own id: {queries.own_ids:,}; {done}")
        notes += problems.notes
        if warning := queries.ids.warning("ranking"):
            notes.append(warning)
        found = queries.finish()
        started_at = datetime.now(UTC)
        manifest = Manifest(
            run_id=new_run_id(started_at),
            version=VERSION,
            started_at=started_at,
            plan=self.plan,
            source=Source(name=source, rows=len(found), notes=tuple(notes), path=str(ranking)),
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
                **({"identical ids": "left out"} if self.ignore_identical else {}),
            },
        )
        described = {str(metric): metric.described for metric in self.metrics}
        counts = found.counts() if isinstance(found, ranking_run.RankingSummary) else None
        return Run(manifest=manifest, metrics=described, rows=found, known_counts=counts)


class ScoredQueries:
    """The queries read so far with their scores, or only the counts of these without `rows`."""

    def __init__(self, evaluation: RankingEvaluation, *, rows: bool) -> None:
        self.unknown: dict[str, None] = {}
        self.rows = rows
        self.own_ids = 0  # documents with the id of their query
        self.ids = IdCheck()
        self._evaluation = evaluation
        self._judgments = evaluation.judgments
        self._names = [str(each) for each in evaluation.metrics]
        self._depth = depth_of(evaluation.metrics)
        self._seen = np.zeros(len(self._judgments), dtype=np.bool_)
        self._places = GrowingArray(np.int64)
        self._counts = RunSummaryBuilder(self._names)
        self._counted = 0
        self._values = GrowingArray(np.float64)  # of the queries that are not counted yet
        self._failed: dict[str, dict[int, str]] = {}

    def add(self, batch: join.Batch, problems: Problems) -> bool:
        places = self._judgments.places(batch.queries)
        unknown = [batch.queries[at] for at in np.flatnonzero(places < 0).tolist()]
        judged = places[places >= 0]
        if np.any(self._seen[judged]) or len(set(judged.tolist())) < len(judged):
            return False
        self._seen[judged] = True
        before = len(self.unknown)
        self.unknown |= dict.fromkeys(unknown)
        if len(self.unknown) != before + len(unknown):
            return False
        self._score(batch, problems)
        return True

    @property
    def missing(self) -> list[str]:
        names = self._judgments.names
        return [names[place] for place in np.flatnonzero(~self._seen).tolist()]

    def finish(self) -> "ranking_run.RankingScores | ranking_run.RankingSummary":
        missing, unscored = self.missing, list(self.unknown)
        why = np.full(len(unscored), ranking_run.UNKNOWN)
        if self._evaluation.missing == "zero" and missing:
            none = np.zeros(len(missing), dtype=np.int64)
            empty = join.Batch.of(missing, none, Texts.of([]), None, none[:0])
            self._score(empty, Problems(self._evaluation.source))
        else:
            unscored = [*missing, *unscored]
            why = np.append(np.full(len(missing), ranking_run.SKIPPED), why)
        texts = self._evaluation.texts
        rest = ranking_run.RankingScores(
            ids=unscored,
            texts={},
            metrics=self._names,
            values=np.broadcast_to(0.0, (len(unscored), len(self._names))),
            why=why.astype(np.uint8),
        )
        if not self.rows:
            self._count()
            for block in rest.blocks():
                self._counts.merge(block.count_rows(summed=True))
            return ranking_run.RankingSummary(self._counts, texts)
        self._values.add(rest.values)
        scored = self._block()
        if self._evaluation.missing == "zero":  # those were scored last
            scored.why[len(scored) - len(missing) :] = ranking_run.UNRANKED
        return replace(
            scored, ids=[*scored.ids, *rest.ids], texts=texts, why=np.append(scored.why, rest.why)
        )

    def _score(self, batch: join.Batch, problems: Problems) -> None:
        rest, own_ids = batch.without_own_ids()
        self.own_ids += own_ids
        batch = rest if self._evaluation.ignore_identical else batch
        ties, depth = self._evaluation.ties, self._depth
        for places, rankings in join.matched(
            batch, self._judgments, problems, ties=ties, depth=depth, check=self.ids
        ):
            columns: list[NDArray[np.float64]] = []
            start = len(self._places) - self._counted
            for metric in self._evaluation.metrics:
                values, failures = score_rankings(metric, rankings)
                columns.append(values)
                if failures:
                    moved = {start + place: why for place, why in failures.items()}
                    self._failed.setdefault(str(metric), {}).update(moved)
            self._places.add(places)
            self._values.add(np.stack(columns, axis=1))
            if not self.rows and len(self._places) - self._counted >= ranking_run.BLOCK:
                self._count()

    def _block(self) -> ranking_run.RankingScores:
        places = self._places.array()[self._counted :]
        return ranking_run.RankingScores(
            ids=list(map(self._judgments.names.__getitem__, places.tolist())),
            texts={},
            metrics=self._names,
            values=self._values.array().reshape(-1, len(self._names)),
            why=np.full(len(places), ranking_run.COUNTED, dtype=np.uint8),
            failed=self._failed,
        )

    def _count(self) -> None:
        block = self._block()
        self._counts.merge(block.count_rows(summed=True), after=self._counted)
        self._counted += len(block)
        self._values, self._failed = GrowingArray(np.float64), {}


def score_rankings(
    metric: RankingMetric, rankings: Rankings
) -> tuple[NDArray[np.float64], dict[int, str]]:
    """Return float64[Q], and place -> why the metric failed there; the value is 0 there."""
    if is_builtin(metric):
        return metric.values(rankings), {}
    try:
        values = np.asarray(metric.values(rankings), dtype=np.float64)
        if values.shape != (len(rankings),):
            seen = f"values of shape {values.shape} for {len(rankings)} queries"
            raise ValueError(f"it returned {seen}")
        if not np.isfinite(values).all():
            odd = values[~np.isfinite(values)][0]
            raise ValueError(f"it returned {odd}, which is not a finite number")
        return values, {}
    except BaseException as error:
        if not is_from_code(error):
            raise
        if len(rankings) == 1:
            return np.zeros(1), {0: describe_exception("the metric", error)}
    # again query by query, so that only those fail for which it raises
    values, failed = np.zeros(len(rankings)), dict[int, str]()
    for place, (ids, relevance) in enumerate(zip(rankings.ids, rankings.relevance, strict=True)):
        (values[place],), why = score_rankings(metric, Rankings.of([ids], [relevance]))
        if why:
            failed[place] = why[0]
    return values, failed
