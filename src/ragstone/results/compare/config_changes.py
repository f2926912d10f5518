"""Change: what one run was asked to do, or was done with, otherwise than the other."""

import json
from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, cast

from ragstone.results.run import Run
from ragstone.types.config import ClaimPlan, JudgePlan, Manifest
from ragstone.types.gate import Gate
from ragstone.types.score import MetricInfo

NOTHING = "none"


class About(StrEnum):
    """What a change is a change of."""

    JUDGE = "judge"
    DATA = "data"
    TARGET = "target"
    RETRIEVAL = "retrieval"
    VERSION = "version"
    METRICS = "metrics"
    SETTINGS = "settings"


class ConfigChange(NamedTuple):
    """One thing that is not the same: what it is about, its name, and what it was in A and in B."""

    about: About
    name: str
    a: str
    b: str


_PACE = ("cache", "rpm", "tpm", "max_calls", "max_cost")
_HASH, _NOTE = "prompts, model and options (hash)", "judge note"
_ASKED = {"judge", _NOTE, *JudgePlan.model_fields} - {*_PACE}
"""Changes that say more than that the judge's hash changed too, as it does with each of them."""
_JUDGING = [name for plan in (JudgePlan, ClaimPlan) for name in plan.model_fields]
_ABOUT: Mapping[str, About] = MappingProxyType(
    {name: About.JUDGE for name in _JUDGING if name not in _PACE}
    | dict.fromkeys(("limit", "columns", "sheet"), About.DATA)
    | dict.fromkeys(("k", "min_similarity", "threshold"), About.RETRIEVAL)
)
"""Field of the plan -> what it is about; all others are settings."""

_TOLD_ELSEWHERE = ("metrics", "judge", "target", "fallback_target")
"""Fields of the plan of which the manifest, or the list of metrics, knows what came of them."""


def changes(a: Run, b: Run) -> tuple[ConfigChange, ...]:
    """Return what changed from A to B, what matters most first; what is the same is not listed.

    Where neither run asked a judge, nothing about one is a change. What only follows from another
    change is left out: another judge has another note, and another hash.
    """
    judged = a.manifest.judge is not None or b.manifest.judge is not None
    one, two = _facts(a.manifest) | _rules(a, b), _facts(b.manifest) | _rules(b, a)
    found = [
        ConfigChange(about, name, value, two[about, name])
        for (about, name), value in one.items()
        if value != two[about, name] and (judged or about is not About.JUDGE)
    ]
    names = {change.name for change in found}
    implied = {_HASH} if names & _ASKED else set[str]()
    implied |= {_NOTE} if About.JUDGE.value in names else set()
    order = list(About)
    told = (change for change in found if change.name not in implied)
    return tuple(sorted(told, key=lambda change: order.index(change.about)))


def _facts(manifest: Manifest) -> dict[tuple[About, str], str]:
    """Return all that may change, in words."""
    source, identity = manifest.source, manifest.identity
    data = source.fingerprint or identity.get("data fingerprint")
    told: dict[tuple[About, str], object] = {
        (About.JUDGE, "judge"): manifest.judge,
        (About.JUDGE, _HASH): _short(identity.get("judge setup")),
        (About.JUDGE, _NOTE): manifest.judge_note,
        (About.DATA, "data set"): source.name,
        (About.DATA, "fingerprint"): _short(data),
        (About.DATA, "rows"): source.rows,
        (About.DATA, "judgements"): identity.get("judgements"),
        (About.DATA, "judgements (hash)"): _short(identity.get("judgements fingerprint")),
        (About.DATA, "queries not ranked"): identity.get("missing"),
        (About.DATA, "equal scores"): identity.get("ties"),
        (About.TARGET, "target"): manifest.target,
        (About.VERSION, "ragstone"): manifest.version,
    }
    told[About.SETTINGS, "gates"] = list(map(_mark, manifest.plan.gates))
    for name, value in manifest.plan.model_dump(mode="json", exclude={"gates"}).items():
        if name not in _TOLD_ELSEWHERE:
            told[_ABOUT.get(name, About.SETTINGS), name] = value
    return {what: _words(value) for what, value in told.items()}


def _rules(run: Run, other: Run) -> dict[tuple[About, str], str]:
    """Return how each metric that both have makes its numbers."""
    return {
        (About.METRICS, name): _rule(info)
        for name, info in run.metrics.items()
        if name in other.metrics
    }


def _rule(info: MetricInfo) -> str:
    policy = f"policy {info.policy}, " if info.policy else ""
    return f"{policy}{info.low:g} to {info.high:g}, {info.better} is better"


def _short(digest: str | None) -> str | None:
    return digest[:12] if digest else None


def _mark(gate: Gate) -> str:
    of = {"mean": "", "interval": "interval of ", "scored": "share scored of "}[gate.of]
    return f"{of}{gate.metric} {gate.op} {gate.threshold:g}"


def _words(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, list):
        return ", ".join(map(_words, cast("list[object]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return ", ".join(f"{name}={_words(each)}" for name, each in pairs)
    return value if isinstance(value, str) else json.dumps(value)
