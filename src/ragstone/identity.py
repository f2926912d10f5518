"""Identity: what decides the numbers of a run, by name, so that two runs can be told apart."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from pydantic_core import PydanticSerializationError

from ragstone.datasets import Dataset
from ragstone.judges.base import Judge
from ragstone.judges.several import setup_of
from ragstone.metrics.families.base import Metric
from ragstone.modules import FILES
from ragstone.plan import JudgePlan, Plan
from ragstone.questions import VerifyClaims
from ragstone.samples import Sample
from ragstone.targets.base import Target

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
        "threshold": f"{plan.threshold:g}",
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
