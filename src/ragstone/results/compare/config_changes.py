"""ConfigChange: a difference between the configurations of two runs."""

import json
from collections.abc import Collection, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, cast

from ragstone.results.run import Run
from ragstone.types.config import ClaimPlan, JudgePlan, Manifest

NOTHING = "none"


class About(StrEnum):
    """The subject of a change."""

    JUDGE = "judge"
    DATA = "data"
    TARGET = "target"
    RETRIEVAL = "retrieval"
    VERSION = "version"
    METRICS = "metrics"
    SETTINGS = "settings"


class ConfigChange(NamedTuple):
    """One difference: its subject, its name, and its values in A and in B."""

    about: About
    name: str
    a: str
    b: str


_LIMITS = ("cache", "reply_cache", "rpm", "tpm", "max_calls", "max_cost")
_HASH = "prompts, model and options (hash)"
_ASKED = {"judge", *JudgePlan.model_fields} - {*_LIMITS}
"""Changes that change the hash of the judge too, and are more specific."""
_JUDGING = [name for plan in (JudgePlan, ClaimPlan) for name in plan.model_fields]
_ABOUT: Mapping[str, About] = MappingProxyType(
    {name: About.JUDGE for name in _JUDGING if name not in _LIMITS}
    | dict.fromkeys(("limit", "columns", "sheet"), About.DATA)
    | dict.fromkeys(("k", "min_similarity", "threshold"), About.RETRIEVAL)
)
"""Field of the plan -> its subject; all other fields are settings."""

_REPORTED_ELSEWHERE = ("metrics", "judge", "target", "fallback_target", "sample", "seed")
"""Fields of the plan with a result in the manifest or the list of metrics."""


def changes(a: Run, b: Run, metrics: Collection[str]) -> tuple[ConfigChange, ...]:
    """Return the differences between two runs, the most important first.

    Only what affects the compared `metrics` is a change of the judge: if none of them asks a
    judge, its settings are left out. If it was set up in the same way for each of them, they are
    settings like others. Changes that follow from others are left out too: another judge has
    another note, and another hash.
    """
    known = a.manifest.judge_setups.keys() | b.manifest.judge_setups.keys()
    judged = [name for name in metrics if a.metrics[name].calls or name in known]
    setups = [[run.manifest.judge_setups.get(name) for name in judged] for run in (a, b)]
    recorded = all(map(all, setups))
    same = recorded and setups[0] == setups[1]
    one, two = _facts(a.manifest) | _rules(a, metrics), _facts(b.manifest) | _rules(b, metrics)
    found = [
        ConfigChange(About.SETTINGS if same and about is About.JUDGE else about, name, value, its)
        for (about, name), value in one.items()
        if value != (its := two[about, name]) and (judged or about is not About.JUDGE)
    ]
    names = {change.name for change in found}
    # it is a hash for the questions of all metrics, so other metrics change it too
    others = not recorded and set(a.metrics) != set(b.metrics)
    implied = {_HASH} if same or others or names & _ASKED else set[str]()
    order = list(About)
    explicit = (change for change in found if change.name not in implied)
    return tuple(sorted(explicit, key=lambda change: order.index(change.about)))


def _facts(manifest: Manifest) -> dict[tuple[About, str], str]:
    """Return everything that may change, as text."""
    source, identity = manifest.source, manifest.identity
    data = source.fingerprint or identity.get("data fingerprint")
    facts: dict[tuple[About, str], object] = {
        (About.JUDGE, "judge"): manifest.judge,
        (About.JUDGE, _HASH): _short(identity.get("judge setup")),
        (About.DATA, "data set"): source.name,
        (About.DATA, "fingerprint"): _short(data),
        (About.DATA, "rows"): source.rows,
        (About.DATA, "sample"): source.sample,
        (About.DATA, "judgments"): identity.get("judgements"),
        (About.DATA, "judgments (hash)"): _short(identity.get("judgements fingerprint")),
        (About.DATA, "queries not ranked"): identity.get("missing"),
        (About.DATA, "equal scores"): identity.get("ties"),
        (About.TARGET, "target"): manifest.target,
        (About.VERSION, "ragstone"): manifest.version,
    }
    scopes = {"mean": "", "interval": "interval of ", "scored": "share scored of "}
    scopes["corrected"] = "corrected "
    facts[About.SETTINGS, "gates"] = [
        f"{scopes[gate.of]}{gate.metric} {gate.op} {gate.threshold:g}"
        for gate in manifest.plan.gates
    ]
    for name, value in manifest.plan.model_dump(mode="json", exclude={"gates"}).items():
        if name not in _REPORTED_ELSEWHERE:
            facts[_ABOUT.get(name, About.SETTINGS), name] = value
    return {what: _text(value) for what, value in facts.items()}


def _rules(run: Run, metrics: Collection[str]) -> dict[tuple[About, str], str]:
    """Return how each of the metrics is computed."""
    infos = {name: run.metrics[name] for name in metrics}
    return {
        (About.METRICS, name): (f"policy {info.policy}, " if info.policy else "")
        + f"{info.low:g} to {info.high:g}, {info.better} is better"
        for name, info in infos.items()
    }


def _short(digest: str | None) -> str | None:
    return digest[:12] if digest else None


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, list):
        return ", ".join(map(_text, cast("list[object]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return ", ".join(f"{name}={_text(each)}" for name, each in pairs)
    return value if isinstance(value, str) else json.dumps(value)
