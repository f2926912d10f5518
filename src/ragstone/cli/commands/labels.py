"""`ragstone labels`: verdicts of people on the claims of a run, and calibration of its judge."""

import webbrowser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from getpass import getuser
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any, cast

import click
from rich.console import Console

from ragstone._internal.text import count, one_line
from ragstone.cli import load, options, say, silent_pipes
from ragstone.cli.options import Given, option, setting
from ragstone.cli.output import check_files, write_document
from ragstone.errors import UsageError
from ragstone.evaluation import labelling
from ragstone.evaluation.labelling import LabelPlan, LabelSession
from ragstone.reports.format import percent
from ragstone.reports.labels import print_labels, write_claims, write_labels
from ragstone.reports.terminal import print_table
from ragstone.reports.view import Tone, correction
from ragstone.results.calibration import MIN_ROWS, Calibration, MetricCalibration, calibratable
from ragstone.results.run import Run
from ragstone.results.stats.intervals import Share
from ragstone.results.stats.labels import MIN_CLAIMS
from ragstone.store import RunInfo, Store
from ragstone.types.label import HumanLabel
from ragstone.types.score import Correction

_NUMBER = option(
    "--n labels",
    f"Claims to label; {MIN_ROWS} or more come from {MIN_ROWS} rows or more, which gates need.",
    least=1,
    default=60,
)


def _user() -> str:
    try:
        return getuser()
    except (OSError, KeyError, ImportError):  # a container may have no user name
        return "anonymous"


def _name(ctx: click.Context, param: click.Parameter, value: str) -> str:
    if not (name := one_line(value, 100)):
        raise click.BadParameter("is blank", ctx=ctx, param=param)
    return name


_ANNOTATOR = option(
    "--annotator",
    "Who labels.",
    default=_user,
    callback=_name,
    show_default="your user name",
    metavar="NAME",
)
_FIELDS = [*labelling.COLUMNS][1:]  # all but the labels
_METRIC = option(
    "-m --metric",
    "Which of the run's metrics is labelled.  [default: its first faithfulness]",
    metavar="METRIC",
)


@click.group(name="labels")
def command() -> None:
    """Label claims of a run, and compare the judge with the labels.

    \b
    ragstone labels start last                label in the browser
    ragstone labels draw last claims.xlsx     or in a spreadsheet
    ragstone labels import claims.xlsx --run last
    ragstone labels calibrate last
    """


@options.run_command(
    command,
    "start",
    *(_NUMBER, _ANNOTATOR, _METRIC),
    option("--no-open --no-browser no_open", "Print the URL; do not open a browser.", is_flag=True),
    option(
        "--port",
        "Port on 127.0.0.1.  [default: a free one]",
        type=click.IntRange(0, 65535),
        default=0,
        show_default=False,
    ),
)
def start(run: str, store: str | None, *, no_open: bool, port: int, **given: Any) -> None:
    """Judge claims of a run in the browser, without seeing the judge's verdicts.

    Rows are drawn at random, more of those that the judge is unsure about, and with all of their
    claims. Every answer is stored at once; the same command continues later. Another annotator
    gets the same claims.
    """
    with options.open_run(store, run, reading=False) as (opened, info):
        plan = _plan(opened, info, given)
        session = LabelSession(opened, info.id, given["annotator"], plan)
        _serve(session, port=port, browser=not no_open)
        labels = len(session.labels)
        left = plan.claims - labels
        what = (
            f"{count(left, 'claim')} left" if left else f"next: ragstone labels calibrate {info.id}"
        )
        click.echo(f"{count(labels, 'label')} by {session.annotator} of run {info.id}; {what}")


@options.run_command(command, "draw", options.file_argument(required=False), _NUMBER, _METRIC)
def draw(run: str, file: Path | None, store: str | None, **given: Any) -> None:
    """Show which rows to label; write their claims to FILE (.xlsx, .csv or .jsonl).

    Fill its column `human` with yes, no or ? (cannot tell), and import it. `ragstone labels start`
    shows the same claims in the browser.
    """
    with options.open_run(store, run) as (opened, info):
        check_files(file, inputs=options.read_by(opened, info))
        plan = _plan(opened, info, given)
        if file:
            write_claims(opened, info.id, plan, file)
            click.echo(f"wrote {file}: {count(plan.claims, 'claim')} to label")
            return
    with silent_pipes():
        drawn = [row.stratum for row in plan.rows]
        rows = (
            (
                stratum.name,
                f"{stratum.rows:,}",
                f"{drawn.count(stratum.name):,}",
                f"{drawn.count(stratum.name) / stratum.rows:.3f}",
                percent(stratum.rate),
            )
            for stratum in plan.sampling.strata
        )
        heads = ("stratum", "rows", "drawn", "probability", "expected support")
        print_table(Console(highlight=False), heads, rows)
        click.echo(f"\n{count(len(plan.rows), 'row')}, in the order of labelling:")
        for row in plan.rows:
            claims = count(row.claims, "claim")
            click.echo(f"  {one_line(row.sample_id, 40)}   {claims}   {row.stratum}")


def _plan(store: Store, info: RunInfo, given: Given) -> LabelPlan:
    metric, labels = labelling.metric_of(info, given["metric"]), given["labels"]
    rows = labelling.read_claims(store, info.id)
    plan = labelling.plan_labels(rows, metric, labels=labels, seed=f"{info.id} {metric}")
    if plan.claims - plan.rows[-1].claims >= labels:
        gates = f", and gates need {MIN_ROWS} rows" if labels >= MIN_ROWS else ""
        say(
            f"Note: this draws {count(plan.claims, 'claim')} instead of {labels:,}: rows have all "
            f"their claims, each stratum at least {MIN_CLAIMS}{gates}"
        )
    if (drawn := len(plan.rows)) < MIN_ROWS:
        every = sum(stratum.rows for stratum in plan.sampling.strata)
        fix = (
            f"use --n {MIN_ROWS} or more"
            if every >= MIN_ROWS
            else f"the run has {every} with claims"
        )
        say(f"Note: gates need labels of {MIN_ROWS} rows, but this draws {drawn}; {fix}")
    return plan


def _serve(session: LabelSession, *, port: int, browser: bool) -> None:
    try:
        serve = cast("Callable[..., None]", load("reports.viewer").serve_labels)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the labelling page needs {error.name}, which is not installed: use `ragstone labels "
            "draw`, or pip install 'ragstone[view]'"
        ) from error

    def ready(url: str) -> None:
        click.echo(f"Label {count(session.plan.claims, 'claim')} at {url} (Ctrl-C stops this).")
        if browser:
            # others can see a process's arguments, so the token is in a file, as in Jupyter
            page.touch(mode=0o600)
            page.write_text(
                f'<!doctype html><meta http-equiv="refresh" content="0; url={url}">'
                f'<title>Label claims</title><a href="{url}">Label claims</a>',
                encoding="utf-8",
            )
            # in a thread, because some browsers block the caller
            Thread(target=webbrowser.open, args=(page.as_uri(),), daemon=True).start()

    with TemporaryDirectory(prefix="ragstone-") as folder:  # of this user only
        page = Path(folder) / "label.html"
        serve(session, port=port, ready=ready)


@command.command(
    name="import",
    params=[
        options.file_argument(),
        option("--run", "The run that was labelled.", required=True, metavar="RUN"),
        option(
            "--map columns",
            f"Name the column with the labels (human=COLUMN), or for {', '.join(_FIELDS[:-1])} "
            f"or {_FIELDS[-1]}.",
            multiple=True,
            metavar="FIELD=COLUMN",
        ),
        option(
            "--yes-means",
            "What yes, true and 1 mean.",
            choices=["supported", "unsupported"],
            default="supported",
        ),
        _ANNOTATOR,
        _METRIC,
        *map(setting, ("sheet", "header_row")),
        options.STORE,
    ],
    epilog=options.RUN,
)
def import_(file: Path, run: str, store: str | None, **given: Any) -> None:
    """Import labels from a workbook, CSV or JSON Lines: one row per claim, or per response.

    The column `human` has yes or no (or 1, true, supported, hallucinated ...), or ? for "cannot
    tell". Blank cells are skipped. A claim is its text, or its number in the reports. All problems
    are reported at once, and then nothing is stored. Labels replace earlier ones of the same claim
    and annotator.
    """
    columns = options.pairs_of(given["columns"])
    empty = UsageError(
        f"{file.name} has no labels; write yes, no or ? into the column "
        f"{columns.get('human', 'human')!r}, with one row per claim or response"
    )
    if file.is_file() and not file.stat().st_size:
        raise empty
    with options.open_run(store, run, reading=False) as (opened, info):
        labels, notes = labelling.read_label_file(
            file,
            labelling.read_claims(opened, info.id),
            labelling.LabelDefaults(
                run=info.id,
                metric=labelling.metric_of(info, given["metric"]),
                annotator=given["annotator"],
                metrics=calibratable(info.metrics),
            ),
            sheet=given["sheet"],
            header_row=given["header_row"],
            columns=columns,
            yes_means=given["yes_means"] == "supported",
        )
        if not labels:
            raise empty
        opened.add_labels(info.id, labels)
    for note in notes:
        say(f"Note: {file.name}: {note}")
    click.echo(
        f"imported {count(len(labels), 'label')} into run {info.id}; next: ragstone labels "
        f"calibrate {info.id}"
    )


@options.run_command(command, "list", options.file_argument(required=False))
def list_(run: str, file: Path | None, store: str | None) -> None:
    """List who labelled a run, and how far annotators agree; write the labels to FILE.

    Agreement is measured by Cohen's kappa and Gwet's AC1. FILE is .jsonl, .csv or .xlsx.
    """
    with options.open_run(store, run) as (opened, info):
        check_files(file, inputs=options.read_by(opened, info))
        labels = opened.labels(info.id)
        if file and labels:
            write_labels(labels, labelling.read_claims(opened, info.id), file)
    if not labels:
        none = f"run {info.id} has no labels yet; `ragstone labels start {info.id}` makes some"
        if file:
            raise UsageError(none)
        click.echo(none)
    elif file:
        click.echo(f"wrote {file}: {count(len(labels), 'label')}")
    else:
        with silent_pipes():
            print_labels(labels, Console(highlight=False))


@options.run_command(
    command,
    "calibrate",
    option(
        "--name",
        "Name of the calibration; an older one of this name is replaced.",
        default="default",
        metavar="NAME",
    ),
    options.json_file("figures"),
)
def calibrate(run: str, name: str, file: Path | None, store: str | None) -> None:
    """Compare the judge of a run with people's labels, and save a calibration.

    Prints how often judge and people agree, and the mean that people would have given. Reports of
    the run show that mean with --calibration NAME, and its gates can test it.

    \b
    ragstone labels calibrate last
    ragstone labels calibrate last --name support --json calibration.json
    ragstone runs show last --calibration support --gates-on corrected
    """
    with options.open_run(store, run) as (opened, info):
        check_files(json=file, inputs=options.read_by(opened, info))
        labelled = opened.load(info.id)
        labels = opened.labels(info.id)
        calibration = labelled.calibrate(labels, name)
        corrected = {
            metric: calibration.correct(metric, labelled.manifest, labelled.counts)
            for metric in calibration.metrics
        }
    path = calibration.save()
    with silent_pipes():
        console = write_document(file, _as_json(calibration, labelled, corrected))
        for metric, found in calibration.metrics.items():
            _note_unused(metric, found, labels)
            console.print(f"{metric}, judge {labelled.manifest.judge}", style="bold", markup=False)
            _print(found, corrected[metric], console)
        console.print(f"wrote {path}", markup=False, soft_wrap=True)


def _as_json(
    calibration: Calibration, run: Run, corrections: Mapping[str, Correction | None]
) -> dict[str, object]:
    metrics: dict[str, object] = {}
    for name, found in calibration.metrics.items():
        agreement, threshold, corrected = found.agreement, found.threshold(), corrections[name]
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
            "threshold": threshold and asdict(threshold) | {"accepted": threshold.accepted},
            "mean": run.summary()[name].mean,
            "corrected": corrected and corrected.model_dump(mode="json", exclude={"reliability"}),
        }
    about: dict[str, object] = {"name": calibration.name, "run": calibration.run}
    return about | {"judge": calibration.judge, "metrics": metrics}


def _note_unused(metric: str, found: MetricCalibration, labels: Sequence[HumanLabel]) -> None:
    of_claims = found.of == "claims"
    given = [label for label in labels if label.metric == metric]
    whole = [label for label in given if label.claim is None]
    units = {
        (label.position, label.claim) for label in given if (label.claim is not None) == of_claims
    }
    if unused := len(units) - found.agreement.n:
        what = count(unused, "claim" if of_claims else "response")
        say(
            f"Note: not used: {what} of {metric}, because annotators disagree or cannot tell, or "
            "the row has no score"
        )
    if of_claims and whole:
        people = one_line(", ".join(sorted({label.annotator for label in whole})))
        say(
            f"Note: not used: {count(len(whole), 'label')} of whole responses, by {people}, "
            f"because {metric} has labels of claims too"
        )


def _print(found: MetricCalibration, corrected: Correction | None, console: Console) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    agreement, kind = found.agreement, "claim" if found.of == "claims" else "response"
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
            right = agreement.both if of_human else agreement.neither
            how = ", weighted by how often rows are drawn" if abs(value - right / n) > 0.005 else ""
            words = f"{right:,} of {count(n, kind)} {people}"
            line(f"{name}: {value:.0%} ({low:.0%} to {high:.0%}{how}); {words}")
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
    if (threshold := found.threshold()) and threshold.accepted:
        low, high = threshold.interval
        line(
            f"Threshold: if claims counted as supported from a probability of "
            f"{threshold.value:.2f}, balanced accuracy would rise from {threshold.accuracy:.2f} by "
            f"{threshold.gain:.2f} ({low:.2f} to {high:.2f})"
        )
    elif threshold:
        line("Threshold: these labels show none that is better than the judge's own")
    for fact in correction(corrected) if corrected else ():
        bad = fact.tone is Tone.BAD
        line(fact.words if bad else f"Mean: {fact.words}", "bold red" if bad else "bold")
