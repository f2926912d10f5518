"""Comparison: what changed between two runs, and whether by more than chance."""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np

from ragstone._internal.text import count
from ragstone.errors import UnknownNameError, UsageError
from ragstone.results.compare.claim_changes import ClaimChanges, claim_changes
from ragstone.results.compare.metric_change import (
    MetricChange,
    PairedScores,
    compare_metric,
    correct,
)
from ragstone.results.compare.pairing import Columns, Pair, Pairing, Pairs, pair_samples
from ragstone.results.grouping import INDEPENDENT, Grouping
from ragstone.results.run import Run
from ragstone.results.stats.paired_tests import SignFlips
from ragstone.types.config import ClaimPlan, JudgePlan, Manifest
from ragstone.types.gate import EPSILON

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


TOP = 5
_DIGITS = 12
"""Decimals of a difference; further ones come from rounding."""
_PARAMETERS = re.compile("[@:,]")


@dataclass(frozen=True)
class SampleChange:
    """One sample's scores by one metric in both runs, and its places in their rows."""

    id_a: str
    id_b: str
    query: str
    a: float
    b: float
    pair: Pair


@dataclass(frozen=True)
class SampleChanges:
    """The samples whose score by one metric changed most: worst drops and best gains."""

    metric: str
    worst: tuple[SampleChange, ...]
    best: tuple[SampleChange, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the changes as plain data."""
        fields = ("id_a", "id_b", "query", "a", "b")
        return {
            "worst": [{name: getattr(each, name) for name in fields} for each in self.worst],
            "best": [{name: getattr(each, name) for name in fields} for each in self.best],
        }


@dataclass(frozen=True, repr=False)
class Comparison:
    """What changed from run A to run B.

    Attributes:
        a, b: the runs' ids.
        partial: the ids of those that were stopped before every row was finished.
        changes: differences between the configurations, the most important first.
        cluster: the tag that groups rows, if the user named one.
        grouping: how pairs are grouped.
        only_a, only_b: metrics of one run only.
        metric_changes: metrics of both runs, in B's order.
        sample_changes: the samples that changed most, by metric.
        claims: how claims changed, by metric that has any.
        scores: by metric, the numbers of all pairs that both runs scored.
    """

    a: str
    b: str
    partial: tuple[str, ...]
    changes: tuple[ConfigChange, ...]
    pairing: Pairing
    cluster: str | None
    grouping: Grouping
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    metric_changes: tuple[MetricChange, ...]
    sample_changes: tuple[SampleChanges, ...]
    claims: tuple[ClaimChanges, ...]
    scores: Mapping[str, PairedScores] = field(compare=False)

    def __repr__(self) -> str:
        found = ", ".join(
            f"{each.metric} {'none' if each.difference is None else f'{each.difference:+.4f}'} "
            f"({each.finding.value})"
            for each in self.metric_changes
        )
        pairs = count(len(self.pairing.pairs), "pair")
        return f"<Comparison {self.a} to {self.b}: {pairs}, {found or 'no metrics in common'}>"

    def _repr_html_(self) -> str:
        """Return the differences and the largest drops for a notebook: HTML without scripts."""
        from ragstone.reports import notebook

        return notebook.comparison_html(self)

    @property
    def judge_changed(self) -> bool:
        """Whether the judge, its settings, or how a compared metric is computed changed."""
        return any(change.about in (About.JUDGE, About.METRICS) for change in self.changes)

    def regressions(
        self, min_effect: float = 0.0, *, corrected: bool = False
    ) -> tuple[MetricChange, ...]:
        """Return the metrics that got worse, significantly, by more than `min_effect`.

        With `corrected`, people's labels decide about judged metrics.
        """
        return tuple(
            each
            for each in self.metric_changes
            if each.is_regression(min_effect, corrected=corrected)
        )

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as plain data, in the stable shape of `compare --json`."""
        return {
            "a": self.a,
            "b": self.b,
            "partial": list(self.partial),
            "judge_changed": self.judge_changed,
            "changes": [change._asdict() for change in self.changes],
            "pairing": self.pairing.to_dict(),
            "cluster": self.cluster,
            "grouping": self.grouping.to_dict(),
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "metrics": {each.metric: each.to_dict() for each in self.metric_changes},
            "samples": {each.metric: each.to_dict() for each in self.sample_changes},
            "claims": {each.metric: each.to_dict() for each in self.claims},
        }


def choose_metrics(wanted: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    """Return the known metrics with these names; parameters may be left out."""
    chosen: dict[str, None] = {}
    for name in wanted:
        same = [each for each in known if name in (each, _PARAMETERS.split(each)[0])]
        if not same:
            raise UnknownNameError(what, name, known)
        chosen |= dict.fromkeys(same)
    return list(chosen)


def compare(
    a: Run,
    b: Run,
    *,
    metrics: Sequence[str] = (),
    cluster: str | None = None,
    top: int = TOP,
) -> Comparison:
    """Compare two runs, sample by sample; gains and drops are those of B relative to A.

    `metrics` restricts the comparison to some metrics; parameters may be left out. `cluster` is a
    tag that groups rows; `id` groups none. By default, pairs that share a query, contexts or a
    source in either run are grouped. `top` is the number of samples and claims to list of each
    kind. Each run is read once from end to end, and then the listed rows.
    """
    names = shared = [name for name in b.metrics if name in a.metrics]
    if metrics:
        names = choose_metrics(metrics, shared, "metric of both runs")
    one = Columns.of(a, names, cluster=cluster)
    two = Columns.of(b, names, cluster=cluster)
    tag = None if cluster == INDEPENDENT else cluster
    if tag is not None and one.ids and not one.tags:
        raise UsageError(
            f"cluster {cluster}: the samples of A have no tags; omit --cluster "
            "(queries of rankings from files never have tags)"
        )
    if tag is not None and one.ids and tag not in one.tags:
        raise UnknownNameError("tag", tag, [INDEPENDENT, *one.tags])
    pairing = pair_samples(one, two, a.id_at)
    places = pairing.pairs.places
    grouping = Grouping()
    if a.columns is None is b.columns:
        sides = [one.keys.keys] if cluster else [one.keys.keys, two.keys.keys]
        keys = {
            kind: [
                hashes[places[:, place]]
                for place, side in enumerate(sides)
                for hashes in side.get(kind, ())
            ]
            for kind in dict.fromkeys(kind for side in sides for kind in side)
        }
        grouping = Grouping.of(len(places), keys, explicit=cluster is not None)
    found: dict[bytes, list[tuple[MetricChange, SignFlips]]] = {}
    paired: dict[str, PairedScores] = {}
    sample_changes: list[SampleChanges] = []
    claims: list[ClaimChanges] = []
    for name in names:
        columns = one.metrics[name], two.metrics[name]
        scores = paired[name] = PairedScores.of(*columns, places)
        infos = a.metrics[name], b.metrics[name]
        higher = infos[1].higher_is_better
        changed = compare_metric(
            name,
            scores,
            higher_is_better=higher,
            judged=any(info.calls for info in infos),
            span=max(info.high for info in infos) - min(info.low for info in infos),
            clusters=grouping.labels,
        )
        found.setdefault(scores.key, []).append(changed)
        worst, best = (
            tuple(
                SampleChange(
                    id_a=a.id_at(row_a),
                    id_b=b.id_at(row_b),
                    query=b.query_at(row_b),
                    a=float(scores.a[place]),
                    b=float(scores.b[place]),
                    pair=(row_a, row_b),
                )
                for place in _most_changed(scores, sign, top)
                for row_a, row_b in [pairing.pairs[int(scores.places[place])]]
            )
            for sign in ((-1.0, 1.0) if higher else (1.0, -1.0))
        )
        sample_changes.append(SampleChanges(name, worst, best))
        if any(column.judged for column in columns):
            both = Pairs(places[scores.places])
            claims.append(claim_changes(name, columns, runs=(a, b), pairs=both, top=top))
    metric_changes = {change.metric: change for change in correct(found)}
    return Comparison(
        a=a.manifest.run_id,
        b=b.manifest.run_id,
        partial=tuple(run.manifest.run_id for run in (a, b) if run.partial),
        changes=changes(a, b, names),
        pairing=pairing,
        cluster=cluster,
        grouping=grouping,
        only_a=tuple(name for name in a.metrics if name not in b.metrics),
        only_b=tuple(name for name in b.metrics if name not in a.metrics),
        metric_changes=tuple(metric_changes[name] for name in names),
        sample_changes=tuple(sample_changes),
        claims=tuple(claims),
        scores=paired,
    )


def _most_changed(scores: PairedScores, sign: float, top: int) -> list[int]:
    """Return the places of the pairs that went up most, or with a sign of -1 down."""
    ways = sign * np.round(scores.b - scores.a, _DIGITS)
    up = np.flatnonzero(ways > 0)
    if up.size > top:  # of equal ones the first, without sorting all
        limit = np.partition(ways[up], -top)[-top] if top else math.inf
        up = up[ways[up] >= limit]
    order: list[int] = up[np.argsort(-ways[up], kind="stable")][:top].tolist()
    return order


MIN_PAIRED = 0.9
"""The default share of A's samples that must have a partner in B."""
MAX_LOST = 0.1
"""The share of A's scores, among pairs, that may be missing in B; as --max-failure-rate."""


@dataclass(frozen=True)
class Regressions:
    """Whether B is worse than A.

    Attributes:
        doubts: why this cannot be decided; empty if it can.
        beyond: metrics that got worse, significantly, by more than the minimum effect.
        within: metrics that got worse, significantly, by no more than that.
        corrected: whether people's labels decided about judged metrics.
    """

    doubts: tuple[str, ...]
    beyond: tuple[MetricChange, ...]
    within: tuple[MetricChange, ...]
    corrected: bool = False


def find_regressions(
    comparison: Comparison,
    *,
    min_effect: float = 0.0,
    min_paired: float = MIN_PAIRED,
    corrected: bool = False,
) -> Regressions:
    """Return whether B is worse than A by more than `min_effect`.

    This cannot be decided if a run is partial, if less than `min_paired` (0 to 1) of A's samples
    have a partner, or if B has no score for more than 10% of the pairs that A scored. With
    `corrected`, people's labels decide about judged metrics, and each must have enough of them.
    """
    doubts = [f"run {run} was stopped before every row was finished" for run in comparison.partial]
    found = comparison.pairing
    pairs, of = len(found.pairs), len(found.pairs) + found.only_a
    if not pairs:
        doubts.append("no sample could be paired")
    elif pairs < (min_paired - EPSILON) * of:
        share = f"{pairs:,} of {of:,} samples of A ({pairs / of:.0%})"
        doubts.append(f"only {share} have a partner in B; at least {min_paired:.0%} are needed")
    if pairs and not any(each.n for each in comparison.metric_changes):
        doubts.append("no metric was scored in both runs")
    else:
        lost: dict[str, list[str]] = {}
        for each in comparison.metric_changes:
            number, scored = each.only_in_a, each.n + each.only_in_a
            if number > (MAX_LOST + EPSILON) * scored:
                words = f"{number:,} of {count(scored, 'pair')} that A scored"
                lost.setdefault(f"{words} ({number / scored:.0%})", []).append(each.metric)
        doubts += (
            f"{', '.join(names)}: B has no score for {words}; at most {MAX_LOST:.0%} may be missing"
            for words, names in lost.items()
        )
    if corrected:
        problems = [
            f"{each.metric}: {each.corrected.problem if each.corrected else 'no labels'}"
            for each in comparison.metric_changes
            if each.judged and (each.corrected is None or each.corrected.problem)
        ]
        if not any(each.judged for each in comparison.metric_changes):
            problems = ["no compared metric is judged, so labels cannot correct any"]
        doubts += problems
    beyond = comparison.regressions(min_effect, corrected=corrected)
    drops = comparison.regressions(corrected=corrected)
    within = tuple(each for each in drops if each not in beyond)
    return Regressions(tuple(doubts), beyond, within, corrected)
