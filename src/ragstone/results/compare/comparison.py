"""Comparison: two runs, what moved between them, and whether by more than chance."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from heapq import nsmallest

from ragstone.errors import UnknownNameError, UsageError
from ragstone.results.compare.claim_changes import ClaimChanges, claim_changes
from ragstone.results.compare.config_changes import About, Change, changes
from ragstone.results.compare.metric_change import Movement, PairedScores, adjusted, moved
from ragstone.results.compare.pairing import Columns, Pairing, paired
from ragstone.results.run import Run
from ragstone.types.gate import EPSILON

TOP = 5
_DIGITS = 12
"""Of a difference; further ones come from rounding."""
_PARAMETERS = re.compile("[@:,]")


@dataclass(frozen=True)
class Move:
    """One sample's scores by one metric in both runs."""

    id_a: str
    id_b: str
    query: str
    a: float
    b: float

    def to_dict(self) -> dict[str, object]:
        """Return the move as plain data."""
        return vars(self)


@dataclass(frozen=True)
class MetricMoves:
    """The samples that one metric moved most: the worst drops and the best gains, worst first."""

    metric: str
    worst: tuple[Move, ...]
    best: tuple[Move, ...]

    def to_dict(self) -> dict[str, object]:
        """Return the moves as plain data."""
        return {
            "worst": [move.to_dict() for move in self.worst],
            "best": [move.to_dict() for move in self.best],
        }


@dataclass(frozen=True)
class Comparison:
    """What moved from run A to run B.

    Attributes:
        a, b: the runs' ids.
        partial: those of the two that were stopped before every row was finished.
        changes: what the runs were asked or done with otherwise, what matters most first.
        cluster: the tag whose rows were taken together; None if none was.
        only_a, only_b: metrics that one run alone has.
        movements: metrics that both have, in B's order.
        moves: the samples that moved most, by metric.
        claims: what became of claims, by metric that has any.
    """

    a: str
    b: str
    partial: tuple[str, ...]
    changes: tuple[Change, ...]
    pairing: Pairing
    cluster: str | None
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    movements: tuple[Movement, ...]
    moves: tuple[MetricMoves, ...]
    claims: tuple[ClaimChanges, ...]

    @property
    def judge_changed(self) -> bool:
        """Whether the judge is not the same, or a metric makes its numbers by another rule."""
        return any(change.about in (About.JUDGE, About.METRICS) for change in self.changes)

    @property
    def tellable(self) -> bool:
        """Whether any metric was scored on both sides of a pair."""
        return any(movement.n for movement in self.movements)

    def regressions(self, min_effect: float = 0.0) -> tuple[Movement, ...]:
        """Return the metrics that got worse, significantly, by more than `min_effect`."""
        return tuple(each for each in self.movements if each.regressed(min_effect))

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
            "only_a": list(self.only_a),
            "only_b": list(self.only_b),
            "metrics": {each.metric: each.to_dict() for each in self.movements},
            "samples": {each.metric: each.to_dict() for each in self.moves},
            "claims": {each.metric: each.to_dict() for each in self.claims},
        }


def compare(
    a: Run,
    b: Run,
    *,
    metrics: Sequence[str] = (),
    cluster: str | None = None,
    top: int = TOP,
) -> Comparison:
    """Compare two runs, sample by sample; what is said of gains and drops is of B against A.

    `metrics` restricts it to some; `cluster` names a tag whose rows are taken together; `top` is
    how many samples and claims are told of each kind. Each run is read once from end to end, and
    then the rows that are told of.

    Raises:
        UnknownNameError: a metric is not in both runs, or no row of A has the tag.
        UsageError: no row of A has any tag.
    """
    names = _shared(a, b, metrics)
    one = Columns.of(a, names, cluster=cluster)
    two = Columns.of(b, names, cluster=cluster)
    if cluster is not None and one.ids:
        _check_tag(cluster, one.tags)
    pairing = paired(one, two)
    told = _Told((a, b), (one, two), pairing, top)
    found = [told.of(name) for name in names]
    return Comparison(
        a=a.manifest.run_id,
        b=b.manifest.run_id,
        partial=tuple(run.manifest.run_id for run in (a, b) if run.partial),
        changes=changes(a, b),
        pairing=pairing,
        cluster=cluster,
        only_a=tuple(name for name in a.metrics if name not in b.metrics),
        only_b=tuple(name for name in b.metrics if name not in a.metrics),
        movements=adjusted([movement for movement, _, _ in found]),
        moves=tuple(moves for _, moves, _ in found),
        claims=tuple(claims for _, _, claims in found if claims),
    )


def _check_tag(name: str, tags: Collection[str]) -> None:
    if not tags:
        raise UsageError(
            f"cluster {name}: A's samples have no tags to be taken together by; leave it out "
            "(the queries of rankings from files never have any)"
        )
    if name not in tags:
        raise UnknownNameError("tag", name, tags)


def _shared(a: Run, b: Run, asked: Sequence[str]) -> list[str]:
    """Return the names of the metrics to compare; an asked one may leave its parameters out."""
    shared = [name for name in b.metrics if name in a.metrics]
    if not asked:
        return shared
    found: dict[str, None] = {}
    for name in asked:
        alike = [each for each in shared if name in (each, _PARAMETERS.split(each)[0])]
        if not alike:
            raise UnknownNameError("metric of both runs", name, shared)
        found |= dict.fromkeys(alike)
    return list(found)


@dataclass(frozen=True)
class _Told:
    """The two runs, read and paired; each metric's part of the comparison is made of it."""

    runs: tuple[Run, Run]
    columns: tuple[Columns, Columns]
    pairing: Pairing
    top: int

    def of(self, name: str) -> tuple[Movement, MetricMoves, ClaimChanges | None]:
        """Return what is told of one metric; claims only where it has any."""
        a, b = (columns.metrics[name] for columns in self.columns)
        scores = PairedScores.of(a, b, self.pairing.pairs)
        infos = [run.metrics[name] for run in self.runs]
        higher = infos[1].higher_is_better
        movement = moved(
            name,
            scores,
            higher_is_better=higher,
            span=max(info.high for info in infos) - min(info.low for info in infos),
            clusters=self.columns[0].clusters or None,
        )
        moves = MetricMoves(
            name,
            worst=self._furthest(scores, -1.0 if higher else 1.0),
            best=self._furthest(scores, 1.0 if higher else -1.0),
        )
        if not (a.judged or b.judged):
            return movement, moves, None
        claims = claim_changes(name, (a, b), runs=self.runs, pairs=scores.pairs, top=self.top)
        return movement, moves, claims

    def _furthest(self, scores: PairedScores, sign: float) -> tuple[Move, ...]:
        """Return the samples that moved furthest up, or with a sign of -1 down."""
        ways = (sign * round(b - a, _DIGITS) for a, b in zip(scores.a, scores.b, strict=True))
        far = nsmallest(self.top, ((-way, place) for place, way in enumerate(ways) if way > 0))
        return tuple(self._move(scores, place) for _, place in far)

    def _move(self, scores: PairedScores, place: int) -> Move:
        one, two = scores.pairs[place]
        return Move(
            id_a=self.columns[0].ids[one],
            id_b=self.columns[1].ids[two],
            query=self._query(two),
            a=scores.a[place],
            b=scores.b[place],
        )

    def _query(self, place: int) -> str:
        """Return a query of B, without making the row if it can."""
        run = self.runs[1]
        if run.columns is not None:
            return run.columns.queries[place]
        return run.rows[place].sample.query


# Regressions: whether a comparison shows any, for whoever has to decide by it.

MIN_PAIRED = 0.9
"""The share of A's samples that have to find a partner, unless another is named."""


@dataclass(frozen=True)
class Regressions:
    """Whether B is worse than A.

    Attributes:
        doubts: why nothing can be said of that; empty where it can.
        beyond: metrics that got worse, significantly, by more than the least effect.
        within: metrics that got worse, significantly, by no more than that.
    """

    doubts: tuple[str, ...]
    beyond: tuple[Movement, ...]
    within: tuple[Movement, ...]


def regressed(
    comparison: Comparison, *, min_effect: float = 0.0, min_paired: float = MIN_PAIRED
) -> Regressions:
    """Return whether B is worse than A by more than `min_effect`.

    There is no saying where a run is partial, or where less than `min_paired` (0 to 1) of A's
    samples have a partner.
    """
    beyond = comparison.regressions(min_effect)
    return Regressions(
        doubts=tuple(_doubts(comparison, min_paired)),
        beyond=beyond,
        within=tuple(each for each in comparison.regressions() if each not in beyond),
    )


def _doubts(comparison: Comparison, min_paired: float) -> Iterator[str]:
    for run in comparison.partial:
        yield f"run {run} was stopped before every row was finished"
    found = comparison.pairing
    pairs, of = len(found.pairs), len(found.pairs) + found.only_a
    if not pairs:
        yield "no sample could be paired"
    elif pairs < (min_paired - EPSILON) * of:
        share = f"{pairs:,} of {of:,} samples of A ({pairs / of:.0%})"
        yield f"only {share} have a partner in B, where {min_paired:.0%} is the least"
    if pairs and not comparison.tellable:
        yield "no metric was scored in both runs"
