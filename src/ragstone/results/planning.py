"""How many questions, judgments and labels a comparison of two systems needs."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from ragstone.errors import UsageError
from ragstone.results.calibration import MIN_ROWS
from ragstone.results.comparison import compare
from ragstone.results.run import Run
from ragstone.results.stats import paired_tests
from ragstone.results.stats.intervals import Clusters, Numbers
from ragstone.types.label import HumanLabel

SPREAD = 0.4  # assumed standard deviation of a metric's scores: that of a pass rate of 80%
CORRELATION = 0.25  # assumed of two systems' scores of the same questions; real ones: 0.2 to 0.4
HUMAN_CORRELATION = 0.6  # assumed correlation of the judge's scores with people's
MAX_CORRELATION = 0.95  # few labels cannot show that it is higher
MIN_QUESTIONS = 10  # fewer (or their groups) have less power than the t-test's formula says
JUDGED_PER_QUESTION = 2  # labels are planned for this many times as many questions


@dataclass(frozen=True)
class PilotEstimate:
    """What is known of a metric before a comparison; the defaults are assumed without a run."""

    spread: float = SPREAD * math.sqrt(2 * (1 - CORRELATION))  # of differences, one per group
    rows: float = 1.0  # in a group of dependent rows, on average
    score_step: float = 1.0  # scores are multiples of it; next to nothing for most
    binomial_variance_share: float = 1.0  # as a share of the largest variance with the scores' mean
    human_correlation: float | None = None  # of the judge's scores with people's, if measured
    system_correlation: float = CORRELATION
    judged: bool = True
    max_difference: float = 1.0


@dataclass(frozen=True)
class SampleSize:
    """Questions, and labels among `judged` ones, in both runs."""

    spread: float
    correlation_with_people: float | None
    correlation_of_systems: float
    questions: int
    judged: int
    labels: int | None


def required_sample_size(
    pilot: PilotEstimate, difference: float, *, alpha: float, power: float
) -> SampleSize:
    step = pilot.score_step / pilot.rows
    groups = paired_tests.questions_needed(
        pilot.spread, difference, step=step, alpha=alpha, power=power
    )
    questions = math.ceil(max(groups, MIN_QUESTIONS) * pilot.rows)
    judged = max(JUDGED_PER_QUESTION * questions, MIN_ROWS)
    people = HUMAN_CORRELATION
    if pilot.human_correlation is not None:
        people = min(pilot.human_correlation, MAX_CORRELATION)
    labels = None
    if pilot.judged:
        groups = questions / pilot.rows
        needed = paired_tests.labels_needed(
            groups,
            JUDGED_PER_QUESTION * groups,
            people,
            spread=pilot.spread,
            systems=pilot.system_correlation,
            trial=pilot.binomial_variance_share,
        )
        labels = min(max(MIN_ROWS, math.ceil(needed * pilot.rows)), judged)
    return SampleSize(
        spread=pilot.spread,
        correlation_with_people=pilot.human_correlation,
        correlation_of_systems=pilot.system_correlation,
        questions=questions,
        judged=judged,
        labels=labels,
    )


def binomial_variance_share(scores: Numbers) -> float:
    largest = float(scores.mean() * (1 - scores.mean()))
    return min(1.0, float(scores.var()) / largest) if largest > 0 else 1.0


def human_correlations(run: Run, labels: Sequence[HumanLabel]) -> dict[str, float]:
    """Return the correlation of the judge's scores with people's, of metrics with enough labels."""
    correlations: dict[str, float] = {}
    with suppress(UsageError):  # no labels, or none that can be compared
        for metric, calibration in run.calibrate(labels, "").metrics.items():
            scores = np.array([[row.judged, row.human] for row in calibration.rows]).T
            if scores.shape[1] >= MIN_ROWS and all(np.ptp(scores, axis=1) > 0):
                (judge, both), (_, people) = np.cov(scores).tolist()
                correlations[metric] = max(0.0, both / math.sqrt(judge * people))
    return correlations


def estimate_pilots(runs: Sequence[Run], labels: Sequence[HumanLabel]) -> dict[str, PilotEstimate]:
    """Return what one run, or two runs of the same questions, show; labels are of the first."""
    spreads: dict[str, tuple[float, float, float]] = {}
    scores = runs[0].counts.scores
    if len(runs) == 2:
        for change in compare(*runs).metric_changes:
            if change.spread:
                systems = min(max(change.correlation, 0.0), MAX_CORRELATION)
                spreads[change.metric] = change.spread, change.n / change.groups, systems
    else:
        grouping = runs[0].counts.grouping.labels
        for name, column in scores.items():
            if len(column.values) > 1:
                groups = Clusters.of(column.values, column.scored_groups(grouping))
                if groups.count > 1 and (spread := float(np.std(groups.linearized, ddof=1))):
                    paired = spread * math.sqrt(2 * (1 - CORRELATION))
                    spreads[name] = paired, len(column.values) / groups.count, CORRELATION
    if not spreads:
        problem = "no metric of the run has scores that vary"
        if len(runs) == 2:
            problem = "the scores of the two runs do not differ, or all by the same amount"
        raise UsageError(
            f"{problem}, so the variance of differences is unknown; use another run, or none"
        )
    people = human_correlations(runs[0], labels) if labels else {}
    return {
        name: PilotEstimate(
            spread=spread,
            rows=rows,
            score_step=float(min(np.diff(np.unique(scores[name].values)), default=0)),
            binomial_variance_share=binomial_variance_share(np.frombuffer(scores[name].values)),
            human_correlation=people.get(name),
            system_correlation=systems,
            judged=runs[0].metrics[name].calls > 0,
            max_difference=runs[0].metrics[name].high - runs[0].metrics[name].low,
        )
        for name, (spread, rows, systems) in spreads.items()
    }
