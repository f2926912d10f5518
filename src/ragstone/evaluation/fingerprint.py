"""Fingerprint: everything that affects the scores of a run, and the manifest that records it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path

from pydantic_core import PydanticSerializationError

from ragstone._internal.plugins import FILES
from ragstone._internal.text import public_url
from ragstone.datasets import Dataset
from ragstone.evaluation.preflight import Preflight, resolve_gates
from ragstone.judges.base import Judge
from ragstone.metrics.base import Metric
from ragstone.results.judge_test import load_test
from ragstone.results.run import new_run_id
from ragstone.targets.base import Target
from ragstone.types.config import JudgePlan, Manifest, Plan
from ragstone.types.questions import TextSimilarity, VerifyClaims
from ragstone.types.sample import Sample

_NO_EFFECT = {
    *("batch_api", "cache", "reply_cache", "rpm", "tpm", "max_calls", "max_cost"),
}
"""Judge settings that do not affect replies."""

VERSION = version("ragstone")


class JudgeSetup:
    """Hashes of what affects a judge's replies to each kind of question; they reveal no secrets.

    A judge may have to hash files, so each kind is hashed once.
    """

    def __init__(self, plan: Plan, judge: Judge) -> None:
        self._plan, self._judge = plan, judge
        left_out = _NO_EFFECT | {"prompts", "embedding_model"}
        self._settings = plan.model_dump_json(include=JudgePlan.model_fields.keys() - left_out)
        self._hashes: dict[str, str] = {}

    def hash(self, kinds: Iterable[str]) -> str:
        return _hash([self._judge.name, *(self._hash_of(kind) for kind in sorted(kinds))])

    def _hash_of(self, kind: str) -> str:
        if kind not in self._hashes:
            embeds = kind == TextSimilarity.kind
            parts = [kind, json.dumps(self._judge.setup(kind)), self._settings]
            parts.append((self._plan.embedding_model or "") if embeds else "")
            parts.append(_file_hash(self._plan.prompts.get(kind, "")))
            self._hashes[kind] = _hash(parts)
        return self._hashes[kind]


def settings_key(plan: Plan, judge: Judge, metrics: Sequence[Metric]) -> str:
    kinds = {kind for metric in metrics for kind in metric.question_kinds}
    setup = JudgeSetup(plan.model_copy(update={"judge": judge.name}), judge)
    return _hash([VERSION, setup.hash(kinds), *map(str, metrics)])


def judge_key(plan: Plan, judge: Judge, version: str) -> str:
    return _hash([JudgeSetup(plan, judge).hash([VerifyClaims.kind]), version])


def _target_setup(plan: Plan) -> str:
    named = plan.target or plan.fallback_target or ""
    file = named if Path(named).suffix in FILES else named.rpartition(":")[0]
    return _hash([f"{plan.target is not None} {named}", _file_hash(file)])


def _file_hash(file: str) -> str:
    path = Path(file)
    return sha256(path.read_bytes()).hexdigest() if file and path.is_file() else ""


def _serialize(sample: Sample) -> str:
    try:
        return sample.model_dump_json()
    except PydanticSerializationError:  # a lone surrogate has no UTF-8
        return json.dumps(sample.model_dump(mode="json"))


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
    """Return the record of a run; its identity is everything that affects the scores.

    Rate limits, budgets and gates are not part of the identity.
    """
    started_at = datetime.now(UTC)
    source, setup = dataset.source, JudgeSetup(plan, judge)
    kinds_of = {str(metric): metric.question_kinds for metric in ready.metrics}
    kinds = {kind for several in kinds_of.values() for kind in several}
    identity = {
        "data": source.name,
        "data fingerprint": source.fingerprint or _hash(map(_serialize, dataset.samples)),
        "rows": str(source.rows),
        "sample": source.sample or "",
        "metrics": ", ".join(kinds_of),
        "judge": judge.name if kinds else "",
        "judge setup": setup.hash(kinds) if kinds else "",
        "target": target.name if target else "",
        "target setup": _target_setup(plan) if target else "",
        "sheet": plan.sheet or "",
        "k": ", ".join(map(str, plan.cutoffs)),
        "min_similarity": f"{plan.min_similarity:g}",
        "columns": ", ".join(f"{field}={name}" for field, name in sorted(plan.columns.items())),
        "version": VERSION,
    }
    test = load_test(judge_key(plan, judge, VERSION)) if VerifyClaims.kind in kinds else None
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
        target=target.name if target else None,
        not_run=ready.refused,
        identity={name: value for name, value in identity.items() if value},
        judge_setups={name: setup.hash(kinds) for name, kinds in kinds_of.items() if kinds},
        reports=reports,
    )
