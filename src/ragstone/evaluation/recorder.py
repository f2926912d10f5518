"""Recorder of finished rows in memory, and the manifest with everything that affects the scores."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, TypedDict

from pydantic import TypeAdapter

from ragstone._internal.concurrency import AsyncResource
from ragstone._internal.text import public_url
from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.evaluation.preflight import Preflight, resolve_gates
from ragstone.judges.base import Judge
from ragstone.metrics.base import Metric
from ragstone.results.judge_test import load_test
from ragstone.results.metric_summary import ScoreColumn
from ragstone.results.run import Run, new_run_id
from ragstone.results.run_summary import RunSummaryBuilder
from ragstone.store.codec import EncodedRows, Record, to_text
from ragstone.targets.base import Target
from ragstone.types.config import JudgePlan, Manifest, Plan
from ragstone.types.questions import TextSimilarity, VerifyClaims
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import NOTHING, Detail

if TYPE_CHECKING:
    from ragstone.store import Store  # it loads SQLAlchemy


class RunChangedError(UsageError):
    """A run cannot be resumed, because something that affects its scores changed."""


class StoreOptions(TypedDict, total=False):
    """Where rows are saved, and which run is resumed.

    `store` is an open store or its location (True: the default location; None or False: memory).
    The newest unfinished run with the same fingerprint is resumed, unless `fresh` is set, and the
    answers of a run in the last hour are used again. `resume`
    names the run to resume; with `retry_failed` its failed rows are evaluated again. Without
    `transcript`, the texts of judge replies are not stored. `scored` is a folder of rows that a
    `Scorer` scored with the same settings; only the other rows are scored.
    """

    store: "Store | str | Path | bool | None"
    fresh: bool
    resume: str
    retry_failed: bool
    transcript: bool
    scored: str | Path


class RowCounts:
    """What the summary of a run needs of its rows, counted in any order and in any process."""

    def __init__(self, metrics: Sequence[Metric], *, cluster: str | None) -> None:
        self.rows = RunSummaryBuilder(map(str, metrics), cluster=cluster)
        self._scores = {
            str(metric): ScoreColumn()
            for metric in metrics
            if type(metric).summarize is not Metric.summarize
        }

    def add(self, row: Row) -> None:
        self.rows.add(row)
        for name, scores in self._scores.items():
            scores.add(row.index, row.scores[name])

    def merge(self, other: "RowCounts") -> None:
        self.rows.merge(other.rows)
        for name, scores in self._scores.items():
            scores.merge(other._scores[name])

    def extras(self, metrics: Mapping[str, Metric]) -> Mapping[str, Detail]:
        found = dict.fromkeys(metrics, NOTHING)
        for name, scores in self._scores.items():
            found[name] = metrics[name].summarize(scores.in_order())
        return found


class Recorder(AsyncResource):
    """Saves finished rows in memory and summarizes them; an async context manager."""

    transcript = True
    done: Collection[int] = frozenset[int]()  # indexes of rows that were finished earlier
    answered: Mapping[int, Row] = MappingProxyType({})  # rows with the answers of an earlier run
    retried: Collection[int] = frozenset[int]()  # as above, but evaluated again, last; sorted

    def __init__(self, manifest: Manifest, metrics: Sequence[Metric]) -> None:
        self.manifest = manifest
        self.metrics = {str(metric): metric for metric in metrics}
        self.counted = RowCounts(metrics, cluster=manifest.plan.cluster)
        self._rows: list[Row] = []
        self._encoded: list[Record] = []

    @property
    def counts(self) -> RunSummaryBuilder:
        return self.counted.rows

    async def record(self, row: Row) -> None:
        self.counted.add(row)
        self._rows.append(row)

    async def record_shard(self, records: Iterable[Record], counted: RowCounts) -> None:
        self.counted.merge(counted)
        self._encoded += records

    def run(self, *, partial: bool, stopped: str | None) -> Run:
        return Run(
            manifest=self.manifest,
            metrics={name: metric.described for name, metric in self.metrics.items()},
            rows=self._saved_rows(),
            extras=self.counted.extras(self.metrics),
            partial=partial,
            stopped=stopped,
            known_counts=self.counts,
        )

    def _saved_rows(self) -> Sequence[Row]:
        if self._encoded:
            encoded = [*self._encoded, *(Record.of(row, transcript=True) for row in self._rows)]
            return EncodedRows(sorted(encoded, key=lambda record: record.place))
        return sorted(self._rows, key=lambda row: row.index)


_NO_EFFECT = set("cache reply_cache rpm tpm max_calls max_cost offline".split())
"""Judge settings that do not affect replies."""

VERSION = version("ragstone")


class JudgeSetup:
    """Hashes of what affects a judge's replies to each kind of question; they reveal no secrets."""

    def __init__(self, plan: Plan, judge: Judge) -> None:
        self._plan, self._judge = plan, judge
        left_out = _NO_EFFECT | {"prompts", "embedding_model"}
        self._settings = plan.model_dump_json(include=JudgePlan.model_fields.keys() - left_out)
        self._hashes: dict[str, str] = {}

    def hash(self, kinds: Iterable[str]) -> str:
        ordered = sorted(kinds)
        for kind in ordered:
            if kind not in self._hashes:  # a judge may have to hash files
                embeds = kind == TextSimilarity.kind
                setup: object = self._judge.setup(kind)
                setup = setup if isinstance(setup, str) else None
                parts = [kind, json.dumps(setup), self._settings]
                parts.append((self._plan.embedding_model or "") if embeds else "")
                parts.append(_file_hash(self._plan.prompts.get(kind, "")))
                self._hashes[kind] = _hash(parts)
        return _hash([self._judge.name, *(self._hashes[kind] for kind in ordered)])


def settings_key(plan: Plan, judge: Judge, metrics: Sequence[Metric]) -> str:
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    setup = JudgeSetup(plan.model_copy(update={"judge": judge.name}), judge)
    return _hash([VERSION, setup.hash(kinds), *map(str, metrics)])


def judge_key(plan: Plan, judge: Judge, version: str) -> str:
    return _hash([JudgeSetup(plan, judge).hash([VerifyClaims.kind]), version])


def _file_hash(file: str) -> str:
    path = Path(file)
    return sha256(path.read_bytes()).hexdigest() if file and path.is_file() else ""


def _hash(texts: Iterable[str]) -> str:
    digest = sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def make_manifest(
    plan: Plan,
    *,
    dataset: Dataset,
    ready: Preflight,
    judge: Judge,
    target: Target | None,
    reports: Mapping[str, str],
) -> Manifest:
    """Return the record of a run; limits, budgets and gates are not part of its identity."""
    started_at = datetime.now(UTC)
    source, setup, as_sample = dataset.source, JudgeSetup(plan, judge), TypeAdapter(Sample)
    kinds_of = {str(metric): metric.question_kinds for metric in ready.metrics}
    kinds = {kind for several in kinds_of.values() for kind in several}
    named = plan.target or plan.fallback_target or ""
    file_hash = _file_hash(named) or _file_hash(named.rpartition(":")[0])
    target_setup = [f"{plan.target is not None} {named}", file_hash]
    identity = {
        "data": source.name,
        "data fingerprint": source.fingerprint
        or _hash(to_text(as_sample, each) for each in dataset.samples),
        "rows": str(source.rows),
        "sample": source.sample or "",
        "metrics": ", ".join(kinds_of),
        "judge": judge.name if kinds else "",
        "judge setup": setup.hash(kinds) if kinds else "",
        "target": target.name if target else "",
        "target setup": _hash(target_setup) if target else "",
        "sheet": " ".join(map(str, filter(None, (plan.sheet, plan.header_row)))),
        "k": ", ".join(map(str, plan.cutoffs)),
        "min_similarity": f"{plan.min_similarity:g}",
        "columns": ", ".join(f"{field}={name}" for field, name in sorted(plan.columns.items())),
        "version": VERSION,
    }
    key = judge_key(plan, judge, VERSION) if VerifyClaims.kind in kinds else None
    test = load_test(key) if key else None
    locations = ("target", "fallback_target", "base_url", "embedding_model")
    urls = {name: getattr(plan, name) for name in locations}
    recorded = {name: url and public_url(url) for name, url in urls.items()}
    gates = resolve_gates(plan, ready.metrics)
    return Manifest(
        run_id=new_run_id(started_at),
        version=VERSION,
        started_at=started_at,
        plan=plan.model_copy(update={**recorded, "gates": gates}),
        source=source,
        judge=judge.name if kinds else None,
        judge_note=judge.description if kinds else None,
        judge_test=str(test) if test else None,
        judge_key=key,
        target=target.name if target else None,
        not_run=ready.refused,
        identity={name: value for name, value in identity.items() if value},
        judge_setups={name: setup.hash(kinds) for name, kinds in kinds_of.items() if kinds},
        reports=reports,
    )
