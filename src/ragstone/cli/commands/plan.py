"""`ragstone plan`: how many questions and labels show a difference of two systems."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.console import Console

from ragstone._internal.text import count
from ragstone.cli.options import JSON_FILE, RUN, STORE, open_store, option, read_by
from ragstone.cli.output import check_files, write_document
from ragstone.errors import UsageError
from ragstone.reports.format import NO_VALUE
from ragstone.reports.terminal import print_table
from ragstone.results import planning
from ragstone.results.calibration import MIN_ROWS
from ragstone.results.comparison import choose_metrics
from ragstone.results.stats.paired_tests import ALPHA
from ragstone.store import find_run
from ragstone.types.gate import share


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
        JSON_FILE,
        STORE,
    ],
    epilog=f"{RUN} See docs/compare-and-plan.md#plan.",
)
def command(detect: str, power: str, like: tuple[str, ...], **given: Any) -> None:
    """Plan a comparison: how many questions and labels show a difference?

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
    if given["metric"] and not like:
        raise UsageError("--metric needs --like RUN: without a run, metrics do not differ")
    check_files(json=given["file"])
    ids: list[str] = []
    pilots = {"any metric": planning.PilotEstimate()}
    if like:
        with open_store(given["store"], reading=True) as opened:
            ids = [find_run(opened, each) for each in like]
            check_files(json=given["file"], inputs=read_by(opened, *map(opened.info, ids)))
            runs = [opened.load(each) for each in ids]
            pilots = planning.estimate_pilots(runs, opened.labels(ids[0]))
        if given["metric"]:
            chosen = choose_metrics(given["metric"], [*pilots], "metric with scores that vary")
            pilots = {name: pilots[name] for name in chosen}
    for name, pilot in pilots.items():
        if difference > pilot.max_difference:
            raise UsageError(
                f"--detect {detect}: scores of {name} differ by at most "
                f"{pilot.max_difference:g}; write 3 percent as 0.03 or 3%"
            )
    alpha = ALPHA / len(pilots)
    plan = {
        name: planning.required_sample_size(pilot, difference, alpha=alpha, power=chance)
        for name, pilot in pilots.items()
    }
    document = {
        "detect": difference,
        "power": chance,
        "alpha": alpha,
        "like": ids,
        "correlation": None if len(ids) == 2 else planning.CORRELATION,
        "metrics": {name: asdict(each) for name, each in plan.items()},
    }
    console = write_document(given["file"], document)
    _print(plan, ids, console, detect=detect, power=chance)


def _print(
    plan: Mapping[str, planning.SampleSize],
    ids: list[str],
    console: Console,
    *,
    detect: str,
    power: float,
) -> None:
    tests = f" (5% divided by {count(len(plan), 'metric')})" if len(plan) > 1 else ""
    console.print(
        f"To show a difference of {detect} between two systems on the same questions with "
        f"{power:.0%} power, at the 5% level{tests}:"
    )
    rows: list[Sequence[str]] = []
    for name, size in plan.items():
        labels = NO_VALUE if size.labels is None else f"{size.labels:,} of {size.judged:,}"
        rows.append((name, f"{size.spread:.2f}", f"{size.questions:,}", labels))
    print_table(console, ("metric", "spread", "questions", "labels"), rows)
    console.print()
    spread = "measured between the two runs"
    if len(ids) < 2:
        scores = f"measured in run {ids[0]}" if ids else f"{planning.SPREAD}, assumed"
        pairs = f"an assumed correlation of {planning.CORRELATION} between the systems"
        spread = f"from that of scores ({scores}) and {pairs}; two runs with --like measure both"
    lines = [f"spread: standard deviation of the paired differences, {spread}."]
    if judged := [size for size in plan.values() if size.labels is not None]:
        people = "measured"
        if any(size.correlation_with_people is None for size in judged):
            people = (
                f"assumed to be {planning.HUMAN_CORRELATION} with fewer than {MIN_ROWS} labelled"
            )
        lines.append(
            "labels: questions whose responses people label in both runs, if the corrected "
            f"difference has to show it; the correlation of judge and people is {people}."
        )
    if len(plan) > 1:
        lines.append("compare corrects for all metrics it tests; -m NAME plans for one.")
    console.print(*lines, sep="\n", markup=False)
