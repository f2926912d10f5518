"""Identity: what decides the numbers of a run, by name, so that two runs can be told apart."""

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
from ragstone.evaluation.judge_testing import load_test
from ragstone.evaluation.preflight import Preflight, resolve_gates
from ragstone.judges.base import Judge, setup_of
from ragstone.metrics.base import Metric
from ragstone.results.run import new_run_id
from ragstone.targets.base import Target
from ragstone.types.config import JudgePlan, Manifest, Plan
from ragstone.types.gate import Gate
from ragstone.types.questions import VerifyClaims
from ragstone.types.sample import Sample

_PACE = {"cache", "rpm", "tpm", "max_calls", "max_cost", "offline"}
"""What of a judge's plan decides no reply."""


def identity_of(
    plan: Plan,
    *,
    dataset: Dataset,
    metrics: Sequence[Metric],
    judge: Judge,
    target: Target | None,
    version: str,
) -> Mapping[str, str]:
    """Return what decides a run's numbers; what only decides its pace or its exit code is left out.

    The prompts, the model and its options are one hash, `judge setup`: no key can be in it that
    somebody could read.
    """
    kinds = sorted({kind for metric in metrics for kind in metric.question_kinds})
    source = dataset.source
    found = {
        "data": source.name,
        "data fingerprint": source.fingerprint or _hash(_texts(dataset.samples)),
        "rows": str(source.rows),
        "metrics": ", ".join(map(str, metrics)),
        "judge": judge.name if kinds else "",
        "judge setup": judge_setup(plan, judge, kinds) if kinds else "",
        "target": target.name if target else "",
        "target setup": _hash(_setup(plan)) if target else "",
        "sheet": plan.sheet or "",
        "k": ", ".join(map(str, plan.cutoffs)),
        "min_similarity": f"{plan.min_similarity:g}",
        "columns": ", ".join(f"{ours}={theirs}" for ours, theirs in sorted(plan.columns.items())),
        "version": version,
    }
    return {name: value for name, value in found.items() if value}


def judge_setup(plan: Plan, judge: Judge, kinds: Iterable[str]) -> str:
    """Return a hash of all that shapes the judge's replies to these kinds of question."""
    setup = [setup_of(judge, kind) for kind in kinds]
    return _hash([json.dumps(setup), *_judging(plan)])


def judge_key(plan: Plan, judge: Judge, version: str) -> str:
    """Return what tests of the judge are kept under: another judge, or version, has another."""
    return _hash([judge.name, judge_setup(plan, judge, [VerifyClaims.kind]), version])


def _judging(plan: Plan) -> Iterable[str]:
    """Yield what shapes a judge's replies, also where it keeps none and has no identity."""
    yield plan.model_dump_json(include=JudgePlan.model_fields.keys() - _PACE)
    for kind, file in sorted(plan.prompts.items()):
        yield f"{kind} {_content(file)}"


def _setup(plan: Plan) -> Iterable[str]:
    """Yield the target's whole name, which may hold more than is shown, and its file."""
    named = plan.target or plan.fallback_target or ""
    yield f"{plan.target is not None} {named}"
    yield _content(named if Path(named).suffix in FILES else named.rpartition(":")[0])


def _content(file: str) -> str:
    path = Path(file)
    return sha256(path.read_bytes()).hexdigest() if file and path.is_file() else ""


def _texts(samples: Iterable[Sample]) -> Iterable[str]:
    for sample in samples:
        try:
            yield sample.model_dump_json()
        except PydanticSerializationError:  # half a character, which has no UTF-8
            yield json.dumps(sample.model_dump(mode="json"))


def _hash(texts: Iterable[str]) -> str:
    digest = sha256()
    for text in texts:
        digest.update(text.encode())
    return digest.hexdigest()


# Manifests: what a run that begins now is recorded as.

VERSION = version("ragstone")


def manifest_of(
    plan: Plan, *, dataset: Dataset, ready: Preflight, judge: Judge, target: Target | None
) -> Manifest:
    """Return what a run that begins now is asked to do, and what it is done with.

    Raises:
        UsageError: a gate is of a metric that is not run.
    """
    started_at = datetime.now(UTC)
    kinds = {kind for metric in ready.metrics for kind in metric.question_kinds}
    test = load_test(judge_key(plan, judge, VERSION)) if VerifyClaims.kind in kinds else None
    return Manifest(
        run_id=new_run_id(started_at),
        version=VERSION,
        started_at=started_at,
        plan=_recorded(plan, gates=resolve_gates(plan, ready.metrics)),
        source=dataset.source,
        judge=judge.name if kinds else None,
        judge_note=judge.description if kinds else None,
        judge_test=str(test) if test else None,
        target=target.name if target else None,
        not_run=ready.refused,
        identity=identity_of(
            plan,
            dataset=dataset,
            metrics=ready.metrics,
            judge=judge,
            target=target,
            version=VERSION,
        ),
    )


def _recorded(plan: Plan, *, gates: tuple[Gate, ...]) -> Plan:
    """Return the plan as a record holds it: gates in full, and no keys in its URLs."""
    urls = {name: getattr(plan, name) for name in ("target", "fallback_target", "base_url")}
    public = {name: url and public_url(url) for name, url in urls.items()}
    return plan.model_copy(update={**public, "gates": gates})
