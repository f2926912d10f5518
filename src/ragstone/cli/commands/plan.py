"""`ragstone plan`: how many questions, repeats and labels show a difference of two systems."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from ragstone._internal.text import count
from ragstone.cli.options import RUN, STORE, json_file, open_store, option, read_by
from ragstone.cli.output import check_extension, check_files, write_document
from ragstone.errors import UsageError
from ragstone.evaluation.judge_testing.again import judge_variances
from ragstone.reports.format import NO_VALUE
from ragstone.reports.tables import STDOUT
from ragstone.reports.terminal import print_table
from ragstone.results.calibration import FEWEST, Calibration
from ragstone.results.compare.comparison import choose_metrics, compare
from ragstone.results.run import Run
from ragstone.results.stats.intervals import Clusters, Numbers
from ragstone.results.stats.paired_tests import (
    ALPHA,
    REPEATS,
    WORTH,
    labels_needed,
    questions_needed,
    spread_of_repeats,
)
from ragstone.store import find_run
from ragstone.types.gate import share
from ragstone.types.label import Label

SPREAD = 0.4
"""Assumed standard deviation of a metric's scores: that of a pass rate of 80%."""
CORRELATION = 0.5
"""Assumed correlation of two systems' scores of the same questions."""
PEOPLE = 0.6
"""Assumed correlation of the judge's scores with people's."""
HIGHEST = 0.95
"""The highest correlation that is planned with: few labels cannot show that it is higher."""
LABELS_OF = 2
"""Labels are planned for this many times the questions that the judge alone needs."""


@dataclass(frozen=True)
class Pilot:
    """What is known of a metric.

    Attributes:
        spread: standard deviation of paired differences, one per group of rows that are not
            independent.
        rows: mean number of rows in a group.
        step: scores are multiples of it; 1 for scores of 0 and 1, next to nothing for most.
        trial: variance of scores, as a share of the largest with their mean; 1 for 0 and 1.
        judge: variance of repeated judgments of one response; None if it was not measured.
        people: correlation of the judge's scores with people's; None if it was not measured.
        systems: correlation of the two systems' scores.
        judged: whether a judge is asked, so that labels correct its scores.
        most: the largest possible difference of two scores.
    """

    spread: float
    rows: float = 1.0
    step: float = 0.0
    trial: float = 1.0
    judge: float | None = None
    people: float | None = None
    systems: float = CORRELATION
    judged: bool = True
    most: float = 1.0


@dataclass(frozen=True)
class Needed:
    """What one metric needs.

    Attributes:
        questions: with `repeats` judgments of each response.
        by_repeats: number of judgments of each response -> questions.
        judged, labels: of `judged` questions, the number to label in both runs; None if the metric
            asks no judge.
    """

    spread: float
    judge_variance: float | None
    correlation_with_people: float | None
    correlation_of_systems: float
    questions: int
    repeats: int
    by_repeats: Mapping[int, int]
    judged: int
    labels: int | None


def needed(pilot: Pilot, difference: float, *, alpha: float, power: float) -> Needed:
    by_repeats: dict[int, int] = {}
    for repeats in REPEATS if pilot.judge else (1,):
        spread = spread_of_repeats(pilot.spread, (pilot.judge or 0.0) / pilot.rows, repeats)
        step = pilot.step / pilot.rows
        groups = questions_needed(spread, difference, step=step, alpha=alpha, power=power)
        by_repeats[repeats] = math.ceil(groups * pilot.rows)
    repeats = 1
    while by_repeats.get(repeats + 2, math.inf) <= (1 - WORTH) * by_repeats[repeats]:
        repeats += 2
    questions = by_repeats[repeats]
    judged = max(LABELS_OF * questions, FEWEST)
    people = PEOPLE if pilot.people is None else min(pilot.people, HIGHEST)
    labels = None
    if pilot.judged:
        groups = questions / pilot.rows
        least = labels_needed(
            groups,
            LABELS_OF * groups,
            people,
            spread=pilot.spread,
            systems=pilot.systems,
            trial=pilot.trial,
        )
        labels = min(max(FEWEST, math.ceil(least * pilot.rows)), judged)
    return Needed(
        spread=pilot.spread,
        judge_variance=pilot.judge,
        correlation_with_people=pilot.people,
        correlation_of_systems=pilot.systems,
        questions=questions,
        repeats=repeats,
        by_repeats=by_repeats,
        judged=judged,
        labels=labels,
    )


def trial_share(scores: Numbers) -> float:
    most = float(scores.mean() * (1 - scores.mean()))
    return min(1.0, float(scores.var()) / most) if most > 0 else 1.0


def correlations(run: Run, labels: Sequence[Label]) -> dict[str, float]:
    """Return metric -> the correlation of the judge's scores with people's, over labelled rows.

    Rows are weighted by 1 / their probability to be labelled. Metrics with fewer than FEWEST
    labelled rows, or without variation, are left out.
    """
    found: dict[str, float] = {}
    with suppress(UsageError):  # no labels, or none that can be compared
        known = Calibration.of(run.manifest, run.metrics, run.rows, labels=labels, name="")
        for metric, each in known.metrics.items():
            scores = np.array([[row.judged, row.human] for row in each.rows]).T
            weights = [1 / row.probability for row in each.rows]
            if len(weights) >= FEWEST and all(np.ptp(scores, axis=1) > 0):
                (judge, both), (_, people) = np.cov(scores, aweights=weights).tolist()
                found[metric] = max(0.0, both / math.sqrt(judge * people))
    return found


def pilots_of(
    runs: Sequence[Run], chosen: Sequence[str], labels: Sequence[Label]
) -> dict[str, Pilot]:
    """Return what one run, or two runs of the same questions, show of their metrics.

    `labels` are those of the first run.
    """
    spreads: dict[str, tuple[float, float, float]] = {}
    scores = runs[0].counts.scores
    if len(runs) == 2:
        for change in compare(*runs).metric_changes:
            if change.spread:
                systems = min(max(change.correlation, 0.0), HIGHEST)
                spreads[change.metric] = change.spread, change.n / change.groups, systems
    else:
        for name, column in scores.items():
            if len(column.values) > 1:
                groups = Clusters.of(
                    column.values, column.scored_groups(runs[0].counts.grouping.labels)
                )
                if groups.count > 1 and (spread := float(np.std(groups.linearized, ddof=1))):
                    paired = spread * math.sqrt(2 * (1 - CORRELATION))
                    spreads[name] = paired, len(column.values) / groups.count, CORRELATION
    judge = {k: v for run in runs for k, v in judge_variances(run.manifest.run_id).items()}
    people = correlations(runs[0], labels) if labels else {}
    steps = {name: np.diff(np.unique(scores[name].values)) for name in spreads}
    found = {
        name: Pilot(
            spread=spread,
            rows=rows,
            step=float(min(steps[name], default=0)),
            trial=trial_share(np.frombuffer(scores[name].values)),
            judge=judge.get(name),
            people=people.get(name),
            systems=systems,
            judged=runs[0].metrics[name].calls > 0,
            most=runs[0].metrics[name].high - runs[0].metrics[name].low,
        )
        for name, (spread, rows, systems) in spreads.items()
    }
    if not found:
        problem = "no metric of the run has scores that vary"
        if len(runs) == 2:
            problem = "the scores of the two runs do not differ, or all by the same amount"
        raise UsageError(
            f"{problem}, so the variance of differences is unknown; use another run, or omit --like"
        )
    if not chosen:
        return found
    return {
        name: found[name]
        for name in choose_metrics(chosen, list(found), "metric with scores that vary")
    }


@click.command(
    name="plan",
    params=[
        option("--detect", "As 0.03 or 3%, in scores.", required=True, metavar="DIFFERENCE"),
        option(
            "--like",
            "Take variances from this run. Twice: two runs of the same questions, whose "
            "correlation is measured too.",
            multiple=True,
            metavar="RUN",
        ),
        option("-m --metric", "Plan for these.", multiple=True, metavar="NAME"),
        option(
            "--power",
            "Probability that a true difference of this size is found.",
            default="80%",
            metavar="SHARE",
        ),
        json_file("plan"),
        STORE,
    ],
    epilog=f"{RUN} See docs/plan-and-drift.md#formulas.",
)
def command(
    detect: str,
    like: tuple[str, ...],
    metric: tuple[str, ...],
    power: str,
    file: Path | None,
    store: str | None,
) -> None:
    """Plan a comparison: how many questions, repeats and labels show a difference?

    Two systems answer the same questions, and `ragstone compare` tests the paired differences at
    the 5% level. No calls are made.

    \b
    ragstone plan --detect 0.03
    ragstone plan --detect 3% --like last -m faithfulness
    ragstone plan --detect 0.03 --like run-a --like run-b --power 90%
    """
    difference, chance = share(detect), share(power)
    if difference <= 0:
        raise UsageError(f"--detect {detect}: the difference must be above 0, such as 0.03")
    if not 0.5 <= chance <= 0.99:
        raise UsageError(f"--power {power}: use a share from 50% to 99%")
    if len(like) > 2:
        raise UsageError(f"--like is given {len(like)} times; name one run or two")
    if metric and not like:
        raise UsageError("--metric needs --like RUN: without a run, metrics do not differ")
    check_extension("json", file or STDOUT)
    ids: list[str] = []
    pilots = {"any metric": Pilot(SPREAD * math.sqrt(2 * (1 - CORRELATION)), step=1.0)}
    if like:
        with open_store(store, reading=True) as opened:
            ids = [find_run(opened, each) for each in like]
            check_files(file, inputs=read_by(opened, *map(opened.info, ids)))
            runs = [opened.load(each) for each in ids]
            pilots = pilots_of(runs, metric, opened.labels(ids[0]))
    for name, pilot in pilots.items():
        if difference > pilot.most:
            raise UsageError(
                f"--detect {detect}: scores of {name} differ by at most {pilot.most:g}; write 3 "
                "percent as 0.03 or 3%"
            )
    alpha = ALPHA / len(pilots)
    plan = {
        name: needed(pilot, difference, alpha=alpha, power=chance) for name, pilot in pilots.items()
    }
    document = {
        "detect": difference,
        "power": chance,
        "alpha": alpha,
        "like": ids,
        "correlation": None if len(ids) == 2 else CORRELATION,
        "metrics": {name: asdict(each) for name, each in plan.items()},
    }
    console = write_document(file, document)
    _print(plan, ids, console, detect=detect, power=chance)


def _print(
    plan: Mapping[str, Needed], ids: list[str], console: Console, *, detect: str, power: float
) -> None:
    tests = f" (5% divided by {count(len(plan), 'metric')})" if len(plan) > 1 else ""
    console.print(
        f"To show a difference of {detect} between two systems on the same questions with "
        f"{power:.0%} power, at the 5% level{tests}:"
    )
    rows: list[Sequence[str]] = []
    for name, each in plan.items():
        labels = NO_VALUE if each.labels is None else f"{each.labels:,} of {each.judged:,}"
        rows.append((name, f"{each.spread:.2f}", f"{each.questions:,}", f"{each.repeats}", labels))
    print_table(console, ("metric", "spread", "questions", "judgments", "labels"), rows)
    console.print()
    spread = "measured between the two runs"
    if not ids:
        spread = f"assumed: scores with a standard deviation of {SPREAD}, and a correlation of "
        spread += f"{CORRELATION} between the systems; --like RUN measures the first"
    elif len(ids) == 1:
        spread = f"measured in run {ids[0]}, with an assumed correlation of {CORRELATION} between "
        spread += "the systems; a second --like RUN measures it"
    labels = "questions whose responses people label in both runs, if the corrected difference has "
    labels += "to show it; the correlation of judge and people is "
    judged = [each for each in plan.values() if each.labels is not None]
    known = all(each.correlation_with_people is not None for each in judged)
    labels += "measured" if known else f"assumed to be {PEOPLE} with fewer than {FEWEST} labelled"
    judge = "the judge's noise is measured"
    if any(each.judge_variance is None for each in judged):
        judge = "`ragstone judge noise RUN` measures what more of them would save"
    for line in (
        f"spread: standard deviation of the paired differences, {spread}.",
        *(
            (f"judgments: of each response (--votes); {judge}.", f"labels: {labels}.")
            if judged
            else ()
        ),
    ):
        console.print(line, markup=False)
    if len(plan) > 1:
        console.print("compare corrects for all metrics it tests; -m NAME plans for one.")
