"""`ragstone labels`: verdicts of people on the claims of a run, and calibration of its judge."""

import re
import webbrowser
from collections import Counter
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
from ragstone.evaluation.config_file import FILE, set_judge
from ragstone.evaluation.labelling import AGREEMENT, LabelPlan, LabelSession
from ragstone.judges.spec import is_model, split_names
from ragstone.reports.labels import print_labels, write_claims, write_labels
from ragstone.reports.terminal import print_table
from ragstone.reports.view import Tone, correction
from ragstone.results.calibration import MIN_ROWS, Calibration, MetricCalibration, calibratable
from ragstone.results.run import Run
from ragstone.results.stats.labels import Corrected, bin_of
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

    Rows are drawn at random, with all of their claims. Every answer is stored at once; the same
    command continues later. Another annotator gets the same claims.
    """
    with options.open_run(store, run, reading=False) as (opened, info):
        plan = _plan(opened, info, given)
        session = LabelSession(opened, info.id, given["annotator"], plan)
        _serve(session, port=port, browser=not no_open)
        labels = len(session.labels)
        left = plan.claims - labels
        following = f"next: ragstone labels calibrate {info.id}"
        what = f"{count(left, 'claim')} left" if left else following
        click.echo(f"{count(labels, 'label')} by {session.annotator} of run {info.id}; {what}")


@options.run_command(command, "draw", options.file_argument(required=False), _NUMBER, _METRIC)
def draw(run: str, file: Path | None, store: str | None, **given: Any) -> None:
    """Show which rows to label, and what that buys; write their claims to FILE.

    FILE is .xlsx, .csv or .jsonl. Fill its column `human` with yes, no or ? (cannot tell), and
    import it. `ragstone labels start` shows the same claims in the browser.
    """
    with options.open_run(store, run) as (opened, info):
        check_files(file, inputs=options.read_by(opened, info))
        plan = _plan(opened, info, given)
        if file:
            if file.exists():
                raise UsageError(f"{file} exists, perhaps with labels: import it, or name another")
            write_claims(opened, info.id, plan, file)
            click.echo(f"wrote {file}: {count(plan.claims, 'claim')} to label")
            return
    with silent_pipes():
        for rows in (20, 30):
            half = f"about ±{plan.half_width(rows):.2f}"
            click.echo(f"Labels of {rows} rows: a corrected interval of {half}")
        click.echo(f"(if people agree with {AGREEMENT:.0%} of the verdicts)\n")
        click.echo(f"{count(len(plan.rows), 'row')}, in the order of labelling:")
        for row in plan.rows:
            click.echo(f"  {one_line(row.sample_id, 40)}   {count(row.claims, 'claim')}")


def _plan(store: Store, info: RunInfo, given: Given) -> LabelPlan:
    metric, labels = labelling.metric_of(info, given["metric"]), given["labels"]
    rows = labelling.read_claims(store, info.id)
    plan = labelling.plan_labels(rows, metric, labels=labels)
    if (drawn := len(plan.rows)) < MIN_ROWS:
        of = f"this draws {drawn} of the {count(len(plan.every), 'row')} with claims"
        say(f"Note: gates need labels of {MIN_ROWS} rows, but {of}; see --n")
    return plan


def _serve(session: LabelSession, *, port: int, browser: bool) -> None:
    try:
        serve = cast("Callable[..., None]", load("reports.viewer").serve_labels)
    except ModuleNotFoundError as error:
        fix = "use `ragstone labels draw`, or pip install 'ragstone[view]'"
        raise UsageError(f"the page needs {error.name}, which is not installed: {fix}") from error

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
        rows = labelling.read_claims(opened, info.id)
        labels, notes = labelling.read_label_file(
            file,
            rows,
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
    option("--apply", "Write a better threshold of the judge into ragstone.yaml.", is_flag=True),
    options.JSON_FILE,
)
def calibrate(run: str, name: str, file: Path | None, store: str | None, *, apply: bool) -> None:
    """Compare the judge of a run with people's labels, and save a calibration.

    Prints how often judge and people agree, and the mean that people would have given. Reports of
    the run show that mean with --calibration NAME, and its gates can test it. --apply changes
    nothing unless the labels show a threshold that is better on labels left out.

    \b
    ragstone labels calibrate last
    ragstone labels calibrate last --apply
    ragstone labels calibrate last --name support --json calibration.json
    ragstone runs show last --calibration support --gates-on corrected
    """
    with options.open_run(store, run) as (opened, info):
        check_files(json=file, inputs=options.read_by(opened, info))
        labelled = opened.load(info.id)
        labels = opened.labels(info.id)
        calibration = labelled.calibrate(labels, name)
        corrected = {
            metric: calibration.correct(metric, labelled.manifest, labelled.counts, labelled.rows)
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
        if apply:
            console.print(_apply_threshold(calibration), markup=False, soft_wrap=True)


def _apply_threshold(calibration: Calibration) -> str:
    judge = calibration.judge or ""
    found = [each.threshold() for each in calibration.metrics.values()]
    better = [f"{each.value:.3f}" for each in found if each and each.accepted]
    if not better:
        return "no threshold was applied: these labels show none that is better"
    if len(better) > 1 or len(split_names(judge)) > 1 or is_model(judge):
        raise UsageError(f"--apply sets one threshold of one judge that has one, and not {judge}")
    judge = f"{re.sub(',threshold=[^,]+', '', judge)},threshold={better[0]}"
    set_judge(judge)
    return f"wrote {FILE}: judge: {judge}; the next run uses it"


def _as_json(
    calibration: Calibration, run: Run, corrections: Mapping[str, Correction | None]
) -> dict[str, object]:
    metrics: dict[str, object] = {}
    for name, found in calibration.metrics.items():
        table, threshold, corrected = found.table, found.threshold(), corrections[name]
        metrics[name] = {
            "rows": len(found.rows),
            "drawn": found.drawn,
            "of": found.of,
            "labelled": table.n,
            "annotators": found.annotators,
            "not_blind": found.not_blind,
            "table": asdict(table),
            "agreement": {k: figure and asdict(figure) for k, figure in found.agreement.items()},
            "threshold": threshold and asdict(threshold) | {"accepted": threshold.accepted},
            "mean": run.summary()[name].mean,
            "corrected": corrected and corrected.model_dump(mode="json"),
        }
    about: dict[str, object] = {"name": calibration.name, "run": calibration.run}
    return about | {"judge": calibration.judge, "metrics": metrics}


def _note_unused(metric: str, found: MetricCalibration, labels: Sequence[HumanLabel]) -> None:
    if found.gaps:
        say(f"Note: {metric}: {found.gaps}")
    claims = found.of == "claims"
    if others := [x for x in labels if x.metric == metric and (x.claim is None) is claims]:
        people = one_line(", ".join(sorted({label.annotator for label in others})))
        say(
            f"Note: not used: {count(len(others), 'label')} of "
            f"{'whole responses' if claims else 'claims'}, by {people}, because more rows have "
            f"labels of {found.of}"
        )


def _share(figure: Corrected) -> str:
    return "{:.0%} ({:.0%} to {:.0%})".format(figure.mean, *figure.interval)


def _print(found: MetricCalibration, corrected: Correction | None, console: Console) -> None:
    def line(text: str, style: str = "") -> None:
        console.print(text, style=style, markup=False, soft_wrap=True)

    table, agreement = found.table, found.agreement
    kind = "claim" if found.of == "claims" else "response"
    seen = f"; {count(found.not_blind, 'label')} not blind" if found.not_blind else ""
    line(
        f"{count(table.n, kind)} in {count(len(found.rows), 'row')}, labelled by "
        f"{', '.join(found.annotators)}{seen}"
    )
    judged = (
        ("judge: supported", f"{table.both:,}", f"{table.first_only:,}"),
        ("judge: not supported", f"{table.second_only:,}", f"{table.neither:,}"),
    )
    print_table(console, ("", "people: supported", "people: not supported"), judged)
    shown = (
        ("Sensitivity", "sensitivity", table.both, table.second_only, " that people support"),
        ("Specificity", "specificity", table.neither, table.first_only, " that people reject"),
        ("Agreement", "share", table.agreeing, table.n - table.agreeing, ""),
    )
    for name, key, right, wrong, people in shown:
        words = f"unknown, because there are no {kind}s{people}"
        if figure := agreement[key]:
            words = f"{_share(figure)}; {right:,} of {count(right + wrong, kind)}{people}"
        line(f"{name}: {words}")
    for name, key in (("Cohen's kappa", "kappa"), ("Gwet's AC1", "ac1")):
        words = "undefined"
        if figure := agreement[key]:
            words = "{:.2f} ({:.2f} to {:.2f})".format(figure.mean, *figure.interval)
        line(f"{name}: {words}")
    bins = Counter(bin_of(c.support) for c in found.claims if c.support is not None)
    if bins:
        figures = ((name, n, agreement[name]) for name, n in sorted(bins.items()))
        rows = ((name, f"{n:,}", _share(figure)) for name, n, figure in figures if figure)
        heads = ("judge's probability", f"{kind}s", "people support (95% interval)")
        print_table(console, heads, rows)
    if (threshold := found.threshold()) and threshold.accepted:
        low, high = threshold.interval
        line(
            f"Threshold: if claims counted as supported from a probability of "
            f"{threshold.value:.2f}, balanced accuracy would rise from {threshold.accuracy:.2f} by "
            f"{threshold.gain:.2f} ({low:.2f} to {high:.2f})"
        )
    elif threshold:
        line("Threshold: these labels show none that beats the judge's own")
    for fact in correction(corrected) if corrected else ():
        bad = fact.tone is Tone.BAD
        line(fact.words if bad else f"Mean: {fact.words}", "bold red" if bad else "bold")
