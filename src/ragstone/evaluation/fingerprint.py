"""Fingerprint: everything that affects the scores of a run, and the manifest that records it."""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from pydantic_core import PydanticSerializationError

from ragstone._internal.plugins import FILES
from ragstone._internal.text import public_url
from ragstone.datasets import Dataset
from ragstone.evaluation.judge_testing.result import load_test
from ragstone.evaluation.preflight import Preflight, resolve_gates
from ragstone.judges.base import Judge
from ragstone.metrics.base import Metric
from ragstone.results.run import new_run_id
from ragstone.targets.base import Target
from ragstone.types.config import JudgePlan, Manifest, Plan
from ragstone.types.questions import TextSimilarity, VerifyClaims
from ragstone.types.sample import Sample

_NO_EFFECT = {
    *("batch_api", "cache", "reply_cache", "rpm", "tpm", "max_calls", "max_cost", "offline"),
}
"""Judge settings that do not affect replies."""

VERSION = version("ragstone")


def run_identity(
    plan: Plan, *, dataset: Dataset, metrics: Sequence[Metric], judge: Judge, target: Target | None
) -> Mapping[str, str]:
    """Return everything that affects the scores of a run, by name.

    Prompts, model and options are combined in one hash, `judge setup`, which reveals no secrets.
    Rate limits, budgets and gates are not included.
    """
    kinds = sorted({kind for metric in metrics for kind in metric.question_kinds})
    source = dataset.source
    found = {
        "data": source.name,
        "data fingerprint": source.fingerprint or _hash(map(_serialize, dataset.samples)),
        "rows": str(source.rows),
        "sample": source.sample or "",
        "metrics": ", ".join(map(str, metrics)),
        "judge": judge.name if kinds else "",
        "judge setup": judge_setup(plan, judge, kinds) if kinds else "",
        "target": target.name if target else "",
        "target setup": _target_setup(plan) if target else "",
        "sheet": plan.sheet or "",
        "k": ", ".join(map(str, plan.cutoffs)),
        "min_similarity": f"{plan.min_similarity:g}",
        "columns": ", ".join(f"{ours}={theirs}" for ours, theirs in sorted(plan.columns.items())),
        "version": VERSION,
    }
    return {name: value for name, value in found.items() if value}


def judge_setup(plan: Plan, judge: Judge, kinds: Iterable[str]) -> str:
    setup = [judge.setup(kind) for kind in kinds]
    settings = plan.model_dump_json(include=JudgePlan.model_fields.keys() - _NO_EFFECT)
    prompts = (f"{kind} {_file_hash(file)}" for kind, file in sorted(plan.prompts.items()))
    return _hash([json.dumps(setup), settings, *prompts])


def settings_key(plan: Plan, judge: Judge, metrics: Sequence[Metric]) -> str:
    kinds = sorted({kind for metric in metrics for kind in metric.question_kinds})
    setup = judge_setup(plan.model_copy(update={"judge": judge.name}), judge, kinds)
    return _hash([VERSION, judge.name, setup, *map(str, metrics)])


def judge_key(plan: Plan, judge: Judge, version: str) -> str:
    return _hash([judge.name, judge_setup(plan, judge, [VerifyClaims.kind]), version])


def _metric_setup(plan: Plan, judge: Judge, kinds: Collection[str]) -> str:
    update: dict[str, object] = {"prompts": {k: v for k, v in plan.prompts.items() if k in kinds}}
    if TextSimilarity.kind not in kinds:
        update["embedding_model"] = None
    return judge_setup(plan.model_copy(update=update), judge, sorted(kinds))


def _target_setup(plan: Plan) -> str:
    named = plan.target or plan.fallback_target or ""
    file = named if Path(named).suffix in FILES else named.rpartition(":")[0]
    return _hash([f"{plan.target is not None} {named}", _file_hash(file)])


def _file_hash(file: str) -> str:
    path = Path(file)
    return sha256(path.read_bytes()).hexdigest() if file and path.is_file() else ""


def _serialize(sample: Sample) -> str:
    absent = {"history"} if sample.history is None else None  # as before samples had a history
    try:
        return sample.model_dump_json(exclude=absent)
    except PydanticSerializationError:  # a lone surrogate has no UTF-8
        return json.dumps(sample.model_dump(mode="json", exclude=absent))


def _hash(texts: Iterable[str]) -> str:
    digest = sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


def make_manifest(
    plan: Plan, *, dataset: Dataset, ready: Preflight, judge: Judge, target: Target | None
) -> Manifest:
    started_at = datetime.now(UTC)
    kinds = {kind for metric in ready.metrics for kind in metric.question_kinds}
    test = load_test(judge_key(plan, judge, VERSION)) if VerifyClaims.kind in kinds else None
    places = ("target", "fallback_target", "base_url", "embedding_model")
    urls = {name: getattr(plan, name) for name in places}
    recorded = {name: url and public_url(url) for name, url in urls.items()}
    gates = resolve_gates(plan, ready.metrics)
    return Manifest(
        run_id=new_run_id(started_at),
        version=VERSION,
        started_at=started_at,
        plan=plan.model_copy(update={**recorded, "gates": gates}),
        source=dataset.source,
        judge=judge.name if kinds else None,
        judge_note=judge.description if kinds else None,
        judge_test=str(test) if test else None,
        target=target.name if target else None,
        not_run=ready.refused,
        identity=run_identity(
            plan, dataset=dataset, metrics=ready.metrics, judge=judge, target=target
        ),
        judge_setups={
            str(metric): _metric_setup(plan, judge, metric.question_kinds)
            for metric in ready.metrics
            if metric.question_kinds
        },
    )
