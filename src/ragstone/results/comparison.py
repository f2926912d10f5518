"""Comparison: what changed between two runs, and whether by more than chance."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from ragstone._internal.fields import base_name, split_threshold
from ragstone._internal.text import count, join_by_reason
from ragstone.errors import UnknownNameError, UsageError
from ragstone.results import paired
from ragstone.results.calibration import Calibration
from ragstone.results.grouping import INDEPENDENT, Grouping
from ragstone.results.metric_summary import lowest
from ragstone.results.paired import CorrectedDifference, Headline, MetricChange, PairedScores, Test
from ragstone.results.run import Run
from ragstone.results.stats.intervals import Numbers
from ragstone.results.stats.labels import LabelledScores, corrected_difference
from ragstone.types.claim import Label
from ragstone.types.config import ClaimPlan, JudgePlan
from ragstone.types.gate import EPSILON
from ragstone.types.label import HumanLabel

TOP = 5
MIN_PAIRED = 0.9  # the default share of A's samples that must have a partner in B
MAX_LOST = 0.1  # of A's scores of pairs: the share that may be missing in B, as --max-failure-rate
NOTHING = "none"
_DIGITS = 12  # decimals of a difference; further ones come from rounding


class About(StrEnum):
    """What a change of configuration is about, the most important first."""

    JUDGE = "judge"
    DATA = "data"
    TARGET = "target"
    RETRIEVAL = "retrieval"
    VERSION = "version"
    METRICS = "metrics"
    SETTINGS = "settings"


class ConfigChange(NamedTuple):
    about: About
    name: str
    a: str
    b: str


_LIMITS = ("cache", "reply_cache", "rpm", "tpm", "max_calls", "max_cost")
_DIGEST = 12  # characters of a hash that are shown
_HASH = "prompts, model and options (hash)"
_ASKED = {"judge", *JudgePlan.model_fields} - {*_LIMITS}  # they change the hash too
_JUDGING = [name for plan in (JudgePlan, ClaimPlan) for name in plan.model_fields]
_ABOUT: Mapping[str, About] = MappingProxyType(
    {name: About.JUDGE for name in _JUDGING if name not in _LIMITS}
    | dict.fromkeys(("limit", "columns", "sheet", "header_row"), About.DATA)
    | dict.fromkeys(("k", "min_similarity", "threshold"), About.RETRIEVAL)
)
"""Field of the plan -> its subject; all other fields are settings."""
_REPORTED_ELSEWHERE = {"metrics", "judge", "target", "fallback_target", "sample", "seed", "gates"}
"""Fields of the plan that are compared as facts of their own."""
_SCOPES = {
    "mean": "",
    "interval": "interval of ",
    "scored": "share scored of ",
    "corrected": "corrected ",
}


def config_changes(a: Run, b: Run, metrics: Mapping[str, str]) -> tuple[ConfigChange, ...]:
    """Return the differences of configuration, the most important first.

    Settings of a judge that no compared metric asks are left out, and changes that follow from
    others: another judge has another note, and another hash. If the judge was set up in the same
    way for each of the metrics, its settings are like others.
    """
    known = a.manifest.judge_setups.keys() | b.manifest.judge_setups.keys()
    judged = [name for name in metrics if b.metrics[name].calls or name in known]
    given = a.manifest.judge_setups, b.manifest.judge_setups
    setups = [[each.get(name) or each.get(metrics[name]) for name in judged] for each in given]
    recorded = all(map(all, setups))
    same = recorded and setups[0] == setups[1]
    facts_a, facts_b = _facts(a, metrics), _facts(b, metrics)
    found = [
        ConfigChange(About.SETTINGS if same and about is About.JUDGE else about, name, value, other)
        for (about, name), value in facts_a.items()
        if value != (other := facts_b[about, name]) and (judged or about is not About.JUDGE)
    ]
    # the hash is for the questions of all metrics, so other metrics change it too
    others = not recorded and set(a.metrics) != set(b.metrics)
    if same or others or not _ASKED.isdisjoint(change.name for change in found):
        found = [change for change in found if change.name != _HASH]
    order = list(About)
    return tuple(sorted(found, key=lambda change: order.index(change.about)))


def _facts(run: Run, metrics: Mapping[str, str]) -> dict[tuple[About, str], str]:
    manifest, source, identity = run.manifest, run.manifest.source, run.manifest.identity
    data = source.fingerprint or identity.get("data fingerprint", "")
    facts: dict[tuple[About, str], object] = {
        (About.JUDGE, "judge"): manifest.judge,
        (About.JUDGE, _HASH): identity.get("judge setup", "")[:_DIGEST],
        (About.DATA, "data set"): source.name,
        (About.DATA, "fingerprint"): data[:_DIGEST],
        (About.DATA, "rows"): source.rows,
        (About.DATA, "sample"): source.sample,
        (About.DATA, "judgments"): identity.get("judgements"),
        (About.DATA, "judgments (hash)"): identity.get("judgements fingerprint", "")[:_DIGEST],
        (About.DATA, "queries not ranked"): identity.get("missing"),
        (About.DATA, "equal scores"): identity.get("ties"),
        (About.DATA, "documents with their query's id"): identity.get("identical ids"),
        (About.TARGET, "target"): manifest.target,
        (About.VERSION, "ragstone"): manifest.version,
        (About.SETTINGS, "gates"): [
            f"{_SCOPES[gate.of]}{gate.metric} {gate.op} {gate.threshold:g}"
            for gate in manifest.plan.gates
        ],
    }
    settings = manifest.plan.model_dump(mode="json", exclude=_REPORTED_ELSEWHERE)
    facts |= {(_ABOUT.get(name, About.SETTINGS), name): value for name, value in settings.items()}
    for name, in_a in metrics.items():
        own = name if name in run.metrics else in_a
        info, other = run.metrics[own], f"{own}: " * (own != name)
        policy = f"{other}policy {info.policy}, " if info.policy else ""
        rule = f"{policy}{info.low:g} to {info.high:g}, {info.better} is better"
        facts[About.METRICS, name] = rule
    return {what: _text(value) for what, value in facts.items()}


def _text(value: object) -> str:
    if value is None or value in ("", [], {}):
        return NOTHING
    if isinstance(value, list):
        return ", ".join(map(_text, cast("list[object]", value)))
    if isinstance(value, dict):
        pairs = cast("dict[str, object]", value).items()
        return ", ".join(f"{name}={_text(each)}" for name, each in pairs)
    return value if isinstance(value, str) else json.dumps(value)


class Kind(StrEnum):
    """The worst first."""

    LOST = "no longer supported"
    GAINED = "now supported"
    APPEARED = "appeared"
    VANISHED = "vanished"


@dataclass(frozen=True)
class ClaimChange:
    """A claim that changed, with the reason of B's judge, or of A's for a claim that vanished."""

    sample_id: str
    text: str
    a: Label | None
    b: Label | None
    reason: str | None
    row_a: int


@dataclass(frozen=True)
class ClaimChanges:
    """How the claims of one metric changed, over the pairs that both runs scored."""

    metric: str
    unchanged: int  # supported in both runs, or in neither
    counts: Mapping[Kind, int]
    appeared_unsupported: int
    first: Mapping[Kind, tuple[ClaimChange, ...]]

    def to_dict(self) -> dict[str, object]:
        first = {kind.name.lower(): _listed(some) for kind, some in self.first.items()}
        counts = {kind.name.lower(): number for kind, number in self.counts.items()}
        return {
            "kept": self.unchanged,
            **counts,
            "appeared_unsupported": self.appeared_unsupported,
            "first": first,
        }


def _claim_changes(
    metrics: tuple[str, str],
    columns: tuple[paired.MetricColumn, paired.MetricColumn],
    *,
    runs: tuple[Run, Run],
    pairs: NDArray[np.int64],
    top: int,
) -> ClaimChanges:
    unchanged = 0
    # by kind, and whether B's judge supports the claim
    found = defaultdict[tuple[Kind, bool], list[tuple[int, int, int]]](list)
    for row_a, row_b in pairs.tolist():
        a, b = columns[0].claims(row_a), columns[1].claims(row_b)
        for key in b | a:
            if a.get(key) == b.get(key):
                unchanged += 1
                continue
            supported = b.get(key, False)
            kind = Kind.GAINED if supported else Kind.LOST
            if key not in a or key not in b:
                kind = Kind.APPEARED if key in b else Kind.VANISHED
            found[kind, supported].append((row_a, row_b, key))
    first: dict[Kind, tuple[ClaimChange, ...]] = {}
    for kind in Kind:
        made: list[ClaimChange] = []
        for row_a, row_b, key in (found[kind, False] + found[kind, True])[:top]:
            rows = runs[0].rows[row_a], runs[1].rows[row_b]
            same = [
                (c for c in row.scores[name].claims if paired.claim_key(c.text, c.against) == key)
                for row, name in zip(rows, metrics, strict=True)
            ]
            a, b = (next(claims, None) for claims in same)
            shown = b or a
            assert shown is not None
            labels = a and a.label, b and b.label
            made.append(ClaimChange(rows[1].sample.id, shown.text, *labels, shown.reason, row_a))
        first[kind] = tuple(made)
    counts = {kind: len(found[kind, False]) + len(found[kind, True]) for kind in Kind}
    return ClaimChanges(metrics[1], unchanged, counts, len(found[Kind.APPEARED, False]), first)


@dataclass(frozen=True)
class SampleChange:
    id_a: str
    id_b: str
    query: str
    a: float
    b: float
    row_a: int  # its place in the rows of A
    unanswered: bool = False  # B answered or ranked nothing


@dataclass(frozen=True)
class SampleChanges:
    metric: str
    worst: tuple[SampleChange, ...]
    best: tuple[SampleChange, ...]

    def to_dict(self) -> dict[str, object]:
        return {"worst": _listed(self.worst), "best": _listed(self.best)}


def _listed(changes: Sequence[ClaimChange | SampleChange]) -> list[dict[str, object]]:
    return [
        {name: value for name, value in vars(change).items() if name != "row_a"}
        for change in changes
    ]


@dataclass(frozen=True, repr=False)
class Comparison:
    """What changed from run A to run B.

    Attributes:
        a, b: the runs' ids.
        names: what reports call the runs: their tags, else their data, with the ids if equal.
        partial: the ids of those that were stopped before every row was finished.
        changes: differences between the configurations, the most important first.
        cluster: the tag that groups rows, if the user named one.
        only_a, only_b: metrics of one run only.
        metric_changes: metrics of both runs, in B's order.
        renamed: those with another name in A, such as another policy: they decide nothing.
        unchanged: whether both runs have the same metrics, judge, data, target and settings.
        scores: by metric, the numbers of all pairs that both runs scored.
        tests: the changes before they were corrected for their number, for tables of all pairs.
    """

    a: str
    b: str
    names: tuple[str, ...]
    partial: tuple[str, ...]
    changes: tuple[ConfigChange, ...]
    pairing: paired.Pairing
    cluster: str | None
    grouping: Grouping
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    metric_changes: tuple[MetricChange, ...]
    sample_changes: tuple[SampleChanges, ...]
    claims: tuple[ClaimChanges, ...]
    scores: Mapping[str, PairedScores] = field(compare=False)
    tests: Sequence[Test] = field(compare=False, default=())
    main: str | None = None  # the metric of B's verdict
    run: Run | None = field(compare=False, default=None)  # B
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    unchanged: bool = False

    @cached_property
    def headline(self) -> Headline:
        """The finding in one sentence, for the metric that matters most."""
        return paired.headline_of(self.metric_changes, self.names, self.main)

    def __repr__(self) -> str:
        pairs = count(len(self.pairing.pairs), "pair")
        return f"<Comparison {self.a} to {self.b}: {pairs}; {self.headline.words}>"

    def _repr_html_(self) -> str:
        from ragstone.reports import notebook

        return notebook.comparison_html(self)

    @property
    def judge_changed(self) -> bool:
        """Whether the judge, its settings, or how a compared metric is computed changed."""
        return any(change.about in (About.JUDGE, About.METRICS) for change in self.changes)

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as plain data, in the stable shape of `compare --json`."""
        return {
            "a": self.a,
            "b": self.b,
            "names": list(self.names),
            "finding": self.headline._asdict(),
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


def shared_metrics(a: Run, b: Run) -> dict[str, str]:
    """Return the metrics of both runs: name in B -> name in A, perhaps with another policy."""
    names = [name for name in a.metrics if name not in b.metrics and a.metrics[name].policy]
    left = {base_name(name): name for name in reversed(names)}
    found = ((x, x if x in a.metrics else left.get(base_name(x))) for x in b.metrics)
    return {name: other for name, other in found if other}


def choose_metrics(wanted: Sequence[str], known: Sequence[str], what: str) -> list[str]:
    """Return the known metrics with these names; parameters may be left out."""
    chosen: dict[str, None] = {}
    for name in wanted:
        same = [each for each in known if name in (each, split_threshold(each)[0])]
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
    names: Sequence[str] = (),
    columns: Sequence[paired.Columns] = (),
) -> Comparison:
    """Compare two runs, sample by sample; gains and drops are those of B relative to A.

    `metrics` restricts the comparison to some metrics; parameters may be left out. `cluster` is a
    tag that groups rows; `id` groups none. By default, pairs that share a query, contexts or a
    source in either run are grouped. `top` is the number of samples and claims to list of each
    kind. Each run is read once from end to end, and then the listed rows; `columns` are those
    of the chosen metrics, if the runs were read before. `names` are those of the runs.
    """
    shared = shared_metrics(a, b)
    chosen = [*shared]
    if columns:
        chosen = [*columns[0].metrics]
    elif metrics:
        chosen = choose_metrics(metrics, chosen, "metric of both runs")
    in_a = {name: shared[name] for name in chosen}
    made = columns or [paired.Columns(run, in_a, cluster=cluster) for run in (a, b)]
    columns_a, columns_b = made
    if columns_a.ids and cluster is not None and cluster not in (INDEPENDENT, *columns_a.tags):
        if columns_a.tags:
            raise UnknownNameError("tag", cluster, [INDEPENDENT, *columns_a.tags])
        raise UsageError(
            f"cluster {cluster}: the samples of A have no tags; omit cluster "
            "(queries of rankings from files never have tags)"
        )
    pairing = paired.pair_samples(columns_a, columns_b, a)
    places = pairing.pairs
    grouping = Grouping()
    if a.columns is None is b.columns:
        keys: dict[str, list[NDArray[np.int64]]] = {}
        for side, column in ((columns_a, 0),) if cluster else ((columns_a, 0), (columns_b, 1)):
            for kind, several in side.keys.keys.items():
                rows = places[:, column]
                keys.setdefault(kind, []).extend(hashes[rows] for hashes in several)
        grouping = Grouping.of(len(places), keys, explicit=cluster is not None)
    tested: list[Test] = []
    scores_by_metric: dict[str, PairedScores] = {}
    sample_changes: list[SampleChanges] = []
    claims: list[ClaimChanges] = []
    for name, other in in_a.items():
        sides = columns_a.metrics[name], columns_b.metrics[name]
        scores = scores_by_metric[name] = PairedScores.of(*sides, places)
        infos = a.metrics[other], b.metrics[name]
        change, test = paired.compare_metric(name, infos, scores, grouping.labels)
        tested.append((scores.key, change, test))
        steps = np.round(scores.b - scores.a, _DIGITS)
        both = places[scores.places]
        worst, best = (
            _most_changed((a, b), both, scores, ways, top)
            for ways in ((steps, -steps) if change.higher_is_better else (-steps, steps))
        )
        sample_changes.append(SampleChanges(name, worst, best))
        if any(column.judged for column in sides):
            own = other, name
            claims.append(_claim_changes(own, sides, runs=(a, b), pairs=both, top=top))
    return Comparison(
        a=a.manifest.run_id,
        b=b.manifest.run_id,
        names=names_of((a, b), names),
        partial=tuple(run.manifest.run_id for run in (a, b) if run.partial),
        changes=config_changes(a, b, in_a),
        pairing=pairing,
        cluster=cluster,
        grouping=grouping,
        only_a=tuple(name for name in a.metrics if name not in shared.values()),
        only_b=tuple(name for name in b.metrics if name not in shared),
        metric_changes=paired.correct(tested),
        sample_changes=tuple(sample_changes),
        claims=tuple(claims),
        scores=scores_by_metric,
        tests=tested,
        main=b.verdict.metric if b.columns is None else next(iter(chosen), None),
        run=b,
        renamed={name: other for name, other in in_a.items() if name != other},
        unchanged=a.metrics.keys() == b.metrics.keys()
        and not (pairing.only_a or pairing.only_b or config_changes(a, b, shared)),
    )


def names_of(runs: Sequence[Run], names: Sequence[str | None] = ()) -> tuple[str, ...]:
    """Return these names, or those of the data; with the run's id if two are equal."""
    manifests = [run.manifest for run in runs]
    given = zip(names or [None] * len(runs), manifests, strict=True)
    found = [name or manifest.source.name for name, manifest in given]
    ids = [f" ({manifest.run_id})" for manifest in manifests]
    return tuple(x + id_ * (found.count(x) > 1) for x, id_ in zip(found, ids, strict=True))


def _most_changed(
    runs: tuple[Run, Run], pairs: NDArray[np.int64], scores: PairedScores, ways: Numbers, top: int
) -> tuple[SampleChange, ...]:
    """Return the samples whose `ways` are lowest, if below 0."""
    found: list[SampleChange] = []
    changed = np.flatnonzero(ways < 0)
    for place in changed[lowest(ways[changed], top)].tolist():
        row_a, row_b = pairs[place].tolist()
        (id_a, _), (id_b, query) = runs[0].id_and_query(row_a), runs[1].id_and_query(row_b)
        a, b = float(scores.a[place]), float(scores.b[place])
        unanswered = bool(scores.empty[1][place])
        found.append(SampleChange(id_a, id_b, query, a, b, row_a, unanswered))
    return tuple(found)


@dataclass(frozen=True)
class Regressions:
    doubts: tuple[str, ...]  # why this cannot be decided
    beyond: tuple[MetricChange, ...]  # worse, significantly, by more than the minimum effect
    within: tuple[MetricChange, ...]  # worse, significantly, but by less
    corrected: bool = False  # whether people's labels decided about judged metrics


def find_regressions(
    comparison: Comparison,
    *,
    min_effect: float = 0.0,
    min_paired: float = MIN_PAIRED,
    corrected: bool = False,
) -> Regressions:
    """Return whether B is worse than A by more than `min_effect`.

    This cannot be decided if a run is partial, or if less than `min_paired` (0 to 1) of A's samples
    have a partner. A metric decides nothing if B has no score for more than 10% of the pairs that A
    scored: B is worse if another metric shows it, and else this cannot be decided either. With
    `corrected`, people's labels decide about judged metrics, and each must have enough of them.
    """
    doubts = [f"run {run} was stopped before every row was finished" for run in comparison.partial]
    pairs = len(comparison.pairing.pairs)
    samples = pairs + comparison.pairing.only_a
    if not pairs:
        doubts.append("no sample could be paired")
    elif pairs < (min_paired - EPSILON) * samples:
        share = f"{pairs:,} of {samples:,} samples of A ({pairs / samples:.0%})"
        doubts.append(f"only {share} have a partner in B; at least {min_paired:.0%} are needed")
    changes = [each for each in comparison.metric_changes if each.metric not in comparison.renamed]
    if pairs and not any(change.n for change in changes):
        doubts.append("no metric was scored in both runs")
    lost: dict[str, str] = {}
    for change in changes if not doubts else ():
        number, scored = change.only_in_a, change.n + change.only_in_a
        if number > (MAX_LOST + EPSILON) * scored:
            share = f"{number:,} of {count(scored, 'pair')} that A scored"
            lost[change.metric] = (
                f"B has no score for {share} ({number / scored:.0%}); "
                f"at most {MAX_LOST:.0%} may be missing"
            )
    unclear = [*join_by_reason(lost)]
    if corrected:
        judged = [change for change in changes if change.judged]
        unclear += (
            f"{change.metric}: {change.corrected.problem if change.corrected else 'no labels'}"
            for change in judged
            if change.corrected is None or change.corrected.problem
        )
        if not judged:
            doubts.append("no compared metric is judged, so labels cannot correct any")
    worse = [each for each in changes if each.is_regression(corrected=corrected)]
    beyond = [each for each in worse if each.is_regression(min_effect, corrected=corrected)]
    within = tuple(each for each in worse if each not in beyond)
    if sure := [each for each in beyond if each.metric not in lost]:
        beyond, unclear = sure, []
    return Regressions((*doubts, *unclear), tuple(beyond), within, corrected)


def correct_changes(
    comparison: Comparison, runs: Sequence[Run], labels: Sequence[Sequence[HumanLabel]]
) -> Comparison:
    """Correct the differences between judged metrics of two runs by the labels of both."""
    sides: list[Calibration | None] = []
    for run, given in zip(runs, labels, strict=True):
        side = None
        with suppress(UsageError):  # no labels, or none that can be compared
            side = run.calibrate(given, "")
        sides.append(side)
    changes = (
        replace(change, corrected=_corrected(comparison, change.metric, sides))
        if change.judged and change.metric not in comparison.renamed
        else change
        for change in comparison.metric_changes
    )
    return replace(comparison, metric_changes=tuple(changes))


def _corrected(
    comparison: Comparison, metric: str, sides: Sequence[Calibration | None]
) -> CorrectedDifference | None:
    labels = [side and side.find(metric) for side in sides]
    if not any(labels):
        return None
    problems = [f"run {run} is partial" for run in comparison.partial]
    for run, found in zip((comparison.a, comparison.b), labels, strict=True):
        if problem := found.problem if found else "no row is labelled":
            problems.append(f"run {run}: {problem}")
    if len({found.of for found in labels if found}) > 1:
        problems.append("one run has labels of claims, the other of whole responses")
    scores, groups = comparison.scores[metric], comparison.grouping.labels
    scored = scores.places
    if problems or not scored.size:
        return CorrectedDifference(problem="; ".join(problems) or "no pair was scored")
    rows: list[list[int]] = comparison.pairing.pairs[scored].T.tolist()
    units: list[int] = (scored if groups is None else groups[scored]).tolist()
    made: list[LabelledScores] = []
    for found, places, numbers in zip(labels, rows, (scores.a, scores.b), strict=True):
        assert found is not None
        unit_at = dict(zip(places, units, strict=True))
        keys: list[tuple[str, int]] = []
        for row in found.rows:  # a labelled row of a pair has the unit of the pair
            at = row.position  # also its place, because the run is complete
            keys.append(("pair", unit_at[at]) if at in unit_at else ("row", at))
        made.append(found.scores(numbers, units, keys=keys))
    result = corrected_difference(*made)
    of_a, of_b = (len(found.rows) for found in labels if found)
    return CorrectedDifference(result.mean, result.interval, (of_a, of_b))
