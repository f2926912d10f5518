"""`ragstone calibrate`: compare the judge with people's labels, and save a calibration."""

from dataclasses import asdict
from pathlib import Path

import click
from rich.console import Console

from ragstone._internal.text import count, one_line
from ragstone.cli import silent_pipes
from ragstone.cli.options import RUN, STORE, json_file, open_store, option, read_by
from ragstone.cli.output import check_extension, check_files, write_document
from ragstone.reports.facts import correction
from ragstone.reports.tables import STDOUT
from ragstone.reports.terminal import print_table
from ragstone.results.calibration import Calibration, MetricCalibration
from ragstone.results.run import Run
from ragstone.results.stats.intervals import Share
from ragstone.store import find_run
from ragstone.types.score import Summary

LISTED = 5
"""Thresholds that are printed."""


@click.command(
    name="calibrate",
    params=[
        click.Argument(["run"]),
        option(
            "--name",
            "Name of the calibration; an older one of this name is replaced.",
            default="default",
            metavar="NAME",
        ),
        json_file("figures"),
        STORE,
    ],
    epilog=RUN,
)
def command(run: str, name: str, file: Path | None, store: str | None) -> None:
    """Compare the judge of a run with people's labels, and save a calibration.

    Prints how often judge and people agree, and the mean that people would have given. The labels
    come from `ragstone label` or `ragstone labels import`. Other runs of the same judge use the
    calibration with --calibration NAME.

    \b
    ragstone calibrate last
    ragstone calibrate last --name support --json calibration.json
    ragstone run new.jsonl -m faithfulness --calibration support \\
      --fail-under faithfulness=0.8 --gates-on corrected
    """
    with open_store(store, reading=True) as opened:
        info = opened.info(find_run(opened, run))
        check_files(file, inputs=read_by(opened, info))
        check_extension("json", file or STDOUT)
        labelled = opened.load(info.id)
        labels = opened.labels(info.id)
        calibration = labelled.calibrate(labels, name)
        summaries = {
            metric: summary.model_copy(
                update={
                    "corrected": calibration.correct(metric, labelled.manifest, labelled.counts)
                }
            )
            for metric, summary in labelled.summary().items()
            if metric in calibration.metrics
        }
    path = calibration.save()
    with silent_pipes():
        console = write_document(file, _as_json(calibration, summaries))
        for metric, found in calibration.metrics.items():
            kind = "claim" if found.of == "claims" else "response"
            given = [each for each in labels if each.metric == metric]
            whole = [each for each in given if each.claim is None]
            units = {
                (each.position, each.claim)
                for each in given
                if (each.claim is not None) == (kind == "claim")
            }
            if unused := len(units) - found.agreement.n:
                click.echo(
                    f"Note: not used: {count(unused, kind)} of {metric}, because annotators "
                    "disagree or cannot tell, or the row has no score",
                    err=True,
                )
            if kind == "claim" and whole:
                people = ", ".join(sorted({each.annotator for each in whole}))
                click.echo(
                    f"Note: not used: {count(len(whole), 'label')} of whole responses, by "
                    f"{one_line(people)}, because {metric} has labels of claims too",
                    err=True,
                )
            _print(metric, found, summaries[metric], labelled, console)
        console.print(f"wrote {path}", markup=False, soft_wrap=True)


def _as_json(calibration: Calibration, summaries: dict[str, Summary]) -> dict[str, object]:
    metrics: dict[str, object] = {}
    for name, found in calibration.metrics.items():
        agreement, corrected = found.agreement, summaries[name].corrected
        metrics[name] = {
            "rows": len(found.rows),
            "of": found.of,
            "labelled": agreement.n,
            "annotators": found.annotators,
            "not_blind": found.not_blind,
            "agreement": asdict(agreement) | {"kappa": agreement.kappa, "ac1": agreement.ac1},
            "sensitivity": found.share(of_human=True),
            "specificity": found.share(of_human=False),
            "reliability": found.reliability(),
            "thresholds": {
                slice_ or "all": asdict(each) | {"accepted": each.accepted}
                for slice_, each in found.thresholds().items()
            },
            "mean": summaries[name].mean,
            "corrected": corrected and corrected.model_dump(mode="json", exclude={"reliability"}),
        }
    about: dict[str, object] = {"name": calibration.name, "run": calibration.run}
    return about | {"judge": calibration.judge, "metrics": metrics}


def _print(
    metric: str, found: MetricCalibration, summary: Summary, run: Run, console: Console
) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    agreement, corrected = found.agreement, summary.corrected
    kind = "claim" if found.of == "claims" else "response"
    line(f"{metric}, judge {run.manifest.judge}", "bold")
    seen = f"; {count(found.not_blind, 'label')} not blind" if found.not_blind else ""
    line(
        f"{count(agreement.n, kind)} in {count(len(found.rows), 'row')}, labelled by "
        f"{', '.join(found.annotators)}{seen}"
    )
    judged = (
        ("judge: supported", f"{agreement.both:,}", f"{agreement.first_only:,}"),
        ("judge: not supported", f"{agreement.second_only:,}", f"{agreement.neither:,}"),
    )
    print_table(console, ("", "people: supported", "people: not supported"), judged)
    for of_human, name in ((True, "Sensitivity"), (False, "Specificity")):
        people = f"that people call {'supported' if of_human else 'not supported'}"
        if share := found.share(of_human=of_human):
            value, (low, high), n = share
            line(f"{name}: {value:.0%} ({low:.0%} to {high:.0%}) of {count(n, kind)} {people}")
        else:
            line(f"{name}: unknown, because there are no {kind}s {people}")
    kappa = "undefined" if agreement.kappa is None else f"{agreement.kappa:.2f}"
    ac1 = "undefined" if agreement.ac1 is None else f"{agreement.ac1:.2f}"
    base = Share(agreement.both + agreement.second_only, agreement.n)
    line(
        f"Agreement: {Share(agreement.agreeing, agreement.n)}; Cohen's kappa {kappa}, Gwet's AC1 "
        f"{ac1}; people support {base.seen}"
    )
    if bins := found.reliability():
        rows = (
            (f"{low:.1f} to {high:.1f}", f"{n:,}", f"{right / n:.0%}", Share(right, n).interval)
            for low, high, n, right in bins
        )
        heads = ("judge's probability", f"{kind}s", "people support", "95% interval")
        print_table(console, heads, rows)
    thresholds = found.thresholds()
    better = {name: each for name, each in thresholds.items() if each.accepted}
    for name, each in [*better.items()][:LISTED]:
        gain = f"{each.gain:.2f} ({each.interval[0]:.2f} to {each.interval[1]:.2f})"
        line(
            f"Threshold{f' for {name}' if name else ''}: if claims counted as supported from a "
            f"probability of {each.value:.2f}, balanced accuracy would rise from "
            f"{each.accuracy:.2f} by {gain}"
        )
    if thresholds and not better:
        line("Threshold: these labels show none that is better than the judge's own")
    for each in correction(corrected) if corrected else ():
        words = each.text if each.alarming else f"Mean: {each.text}"
        line(words, "bold red" if each.alarming else "bold")
