"""Two runs, swapped, tell the same the other way round; noise is not told apart, a drop is."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import Cause
from ragstone.metrics import get
from ragstone.results.comparison import Comparison, Kind, compare, find_regressions
from ragstone.results.paired import Finding
from ragstone.results.run import Run
from ragstone.types.claim import JudgedClaim, Label
from ragstone.types.config import Manifest, Plan, Source
from ragstone.types.row import Row
from ragstone.types.sample import Sample
from ragstone.types.score import Score

METRICS = ("faithfulness", "hallucination")
OTHER_WAY = {Finding.BETTER: Finding.WORSE, Finding.WORSE: Finding.BETTER}
MIRRORED = {
    Kind.LOST: Kind.GAINED,
    Kind.GAINED: Kind.LOST,
    Kind.APPEARED: Kind.VANISHED,
    Kind.VANISHED: Kind.APPEARED,
}

claims = st.lists(
    st.builds(
        lambda text, label: JudgedClaim(
            text=text, span=None, label=label, reason=None, confidence=None, evidence=()
        ),
        st.sampled_from(["It floats.", "IT FLOATS.", "It sings.", "It flies."]),
        st.sampled_from(Label),
    ),
    max_size=4,
)
scores: st.SearchStrategy[Score] = st.one_of(
    st.builds(
        lambda value, held: Score.scored(value, claims=held), st.sampled_from([0, 0.5, 1]), claims
    ),
    st.just(Score.undefined("no claims")),
    st.just(Score.failed(Cause.TIMEOUT, "late")),
)
samples = st.builds(
    lambda id_, query, tag: Sample(id=id_, query=query, tags={"source": tag}),
    st.sampled_from("abcdefgh"),
    st.sampled_from(["who?", "why?", "when?", "where?", "how?"]),
    st.just("manual"),
)
rows = st.lists(st.tuples(samples, scores, scores), max_size=8, unique_by=lambda found: found[0].id)


Found = Sequence[tuple[Sample, Score, Score]]


def run_of(found: Found, run_id: str) -> Run:
    manifest = Manifest(
        run_id=run_id,
        version="0",
        started_at=datetime(2026, 3, 1, tzinfo=UTC),
        plan=Plan(),
        source=Source(name="made", rows=len(found)),
        judge=None,
        judge_note=None,
        target=None,
        not_run={},
    )
    made = [
        Row(i, sample, scores=dict(zip(METRICS, each, strict=True)))
        for i, (sample, *each) in enumerate(found)
    ]
    return Run(manifest, {name: get(name).described for name in METRICS}, made)


@given(rows, rows)
def test_swapping_the_runs_mirrors_everything(one: Found, two: Found) -> None:
    a, b = run_of(one, "a"), run_of(two, "b")
    there, back = compare(a, b, top=99), compare(b, a, top=99)
    this, that = there.pairing, back.pairing
    assert len(this.pairs) == this.by_id + this.by_query
    assert {(y, x) for x, y in that.pairs.tolist()} == set(map(tuple, this.pairs.tolist()))
    assert (this.only_a, this.only_b) == (that.only_b, that.only_a)
    for this, that in zip(there.metric_changes, back.metric_changes, strict=True):
        assert that.finding is OTHER_WAY.get(this.finding, this.finding)
        assert (that.p, that.p_adjusted) == (this.p, this.p_adjusted)
        assert that.min_detectable_difference == pytest.approx(this.min_detectable_difference)
        assert (that.mean_a, that.mean_b) == (this.mean_b, this.mean_a)
        wins = this.win_loss_tie
        assert that.win_loss_tie == (wins.losses, wins.wins, wins.ties)
        assert (that.unscored_a, that.only_in_a) == (this.unscored_b, this.only_in_b)
        if this.interval and that.interval:
            assert that.interval == pytest.approx((-this.interval[1], -this.interval[0]))
    for this, that in zip(there.sample_changes, back.sample_changes, strict=True):
        assert {(m.id_b, m.id_a, m.b, m.a) for m in that.best} == {
            (m.id_a, m.id_b, m.a, m.b) for m in this.worst
        }
    for this, that in zip(there.claims, back.claims, strict=True):
        assert {MIRRORED[kind]: n for kind, n in that.counts.items()} == this.counts
        assert that.unchanged == this.unchanged
    for same in compare(a, run_of(one, "c")).metric_changes:
        assert same.finding in (Finding.NOT_SHOWN, Finding.TOO_FEW)
        assert same.difference in (None, 0.0)


def simulated(pair: int, *, drop: float = 0.0, n: int = 60) -> Comparison:
    """Compare two runs of a system whose answers vary from run to run, as the judge's do."""
    rng = np.random.default_rng(7000 + pair)
    levels = rng.beta(5, 1.5, size=n)

    def asked(level: float) -> tuple[float, float]:
        grades = rng.binomial(5, level, size=2) / 5
        return float(grades[0]), 1.0 - float(grades[1])

    def run(run_id: str, less: float) -> Run:
        found = [
            (
                Sample(id=f"q{i}", query=f"Why {i}?"),
                *map(Score.scored, asked(max(0.0, level - less))),
            )
            for i, level in enumerate(levels)
        ]
        return run_of(found, run_id)

    return compare(run("a", 0.0), run("b", drop), top=0)


@pytest.fixture
def rough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reckon roughly what no finding rests on: the intervals, and what could have been shown."""
    monkeypatch.setattr("ragstone.results.stats.intervals.RESAMPLES", 50)
    monkeypatch.setattr("ragstone.results.stats.paired_tests.NODES", 20)


@pytest.mark.slow  # a simulation
def test_two_runs_of_the_same_system_are_not_told_apart_and_of_a_worse_one_are(rough: None) -> None:
    comparisons = [simulated(pair) for pair in range(200)]
    alarms = sum(any(m.significant for m in each.metric_changes) for each in comparisons)
    assert alarms <= 0.07 * 200, alarms
    worse = [simulated(pair, drop=0.15) for pair in range(20)]
    assert sum(len(find_regressions(each).beyond) == 2 for each in worse) >= 19
