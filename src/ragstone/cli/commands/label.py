"""`ragstone label`: a person judges claims of a run, in the browser or in the terminal."""

import math
import sys
import webbrowser
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import cast

import click
from rich.console import Console
from rich.text import Text

from ragstone._internal.text import count, one_line, strip_controls
from ragstone.cli import load, silent_pipes
from ragstone.cli.options import ANNOTATOR, LABEL_METRIC, RUN, STORE, open_store, option, read_by
from ragstone.cli.output import check_files
from ragstone.errors import UsageError
from ragstone.evaluation.label_files import WORDS
from ragstone.evaluation.labelling import (
    RULE,
    Item,
    LabelPlan,
    LabelSession,
    metric_of,
    plan_labels,
    read_claims,
)
from ragstone.reports.format import percent
from ragstone.reports.labels import write_claims
from ragstone.reports.tables import describe_claim
from ragstone.reports.terminal import print_table
from ragstone.results.calibration import FEWEST
from ragstone.results.stats.sampling import LEAST
from ragstone.store import find_run
from ragstone.types.claim import JudgedClaim

WIDTHS = 30, 60, 120
"""Numbers of labels for which the plan has the expected width of the interval."""
_VALUES = {"y": True, "n": False, "c": None}


@click.command(
    name="label",
    params=[
        click.Argument(["run"]),
        option(
            "--n labels",
            f"Claims to label: about so many, and at least {LEAST} of each stratum.",
            least=1,
            default=60,
        ),
        ANNOTATOR,
        LABEL_METRIC,
        option("--plan", "Only show which rows to label, and why.", is_flag=True),
        option(
            "--export",
            "Write the claims with their questions, answers and contexts to .xlsx, .csv or .jsonl, "
            "to be labelled there; `ragstone labels import` reads the file.",
            type=click.Path(path_type=Path),
            metavar="FILE",
        ),
        option("--terminal", "Label in the terminal, not the browser.", is_flag=True),
        option(
            "--no-open --no-browser no_open", "Print the URL; do not open a browser.", is_flag=True
        ),
        option(
            "--port",
            "Port on 127.0.0.1.  [default: a free one]",
            type=click.IntRange(0, 65535),
            default=0,
            show_default=False,
        ),
        STORE,
    ],
    epilog=RUN,
)
def command(
    run: str,
    labels: int,
    annotator: str,
    metric: str | None,
    plan: bool,
    export: Path | None,
    terminal: bool,
    no_open: bool,
    port: int,
    store: str | None,
) -> None:
    """Judge claims of a run yourself, one at a time, without seeing the judge's verdicts.

    Rows are drawn at random, more of those that the judge is unsure about, and with all of their
    claims. Every answer is stored at once; the same command continues later. Another annotator
    gets the same claims.

    \b
    ragstone label last --plan
    ragstone label last --n 60 --annotator ana
    ragstone label last --terminal
    ragstone label last --export claims.xlsx
    """
    if terminal and not plan and not (sys.stdin and sys.stdin.isatty()):
        raise UsageError("--terminal needs a terminal to read keys from")
    with open_store(store, reading=plan or bool(export)) as opened:
        info = opened.info(find_run(opened, run))
        check_files(export, inputs=read_by(opened, info))
        name = metric_of(info, metric)
        seed = f"{info.id} {name}"
        widths = WIDTHS if plan else ()
        made = plan_labels(
            read_claims(opened, info.id), name, labels=labels, seed=seed, widths=widths
        )
        if made.claims > labels:
            click.echo(
                f"Note: this draws {count(made.claims, 'claim')} instead of {labels:,}: rows have "
                f"all their claims, each stratum at least {LEAST}, and --n is an average",
                err=True,
            )
        if 0 < len(made.rows) < FEWEST:
            more = math.ceil(FEWEST * made.claims / len(made.rows) / 10 + 1) * 10
            click.echo(
                f"Note: gates on corrected means need labels of {FEWEST} rows, but this draws "
                f"{len(made.rows)}; use --n {more}, if the run has more rows",
                err=True,
            )
        console = Console(highlight=False)
        if plan:
            with silent_pipes():
                _print_plan(made, console)
            return
        session = LabelSession(opened, info.id, name, annotator, made)
        if export:
            write_claims(session, export)
            click.echo(f"wrote {export}: {count(made.claims, 'claim')} to label")
            return
        if terminal:
            _label_in_terminal(session, console)
        else:
            _label_in_browser(session, port=port, browser=not no_open)
        left = made.claims - len(session.labels)
        what = f"{count(left, 'claim')} left" if left else f"next: ragstone calibrate {info.id}"
        click.echo(f"{count(len(session.labels), 'label')} by {annotator} of run {info.id}; {what}")


def _print_plan(plan: LabelPlan, console: Console) -> None:
    draw = plan.draw
    click.echo(
        f"{count(len(plan.rows), 'row')} with {count(plan.claims, 'claim')}: a draw from each "
        f"stratum, more where the judge is unsure, and {count(draw.random, 'row')} from all rows.\n"
        "A row is drawn with all of its claims.\n"
    )
    drawn = [row.stratum for row in plan.rows]
    rows = (
        (
            stratum.name,
            f"{stratum.rows:,}",
            f"{drawn.count(stratum.name):,}",
            f"{chance:.3f}",
            percent(stratum.rate),
        )
        for stratum, chance in zip(draw.strata, draw.probabilities, strict=True)
    )
    heads = ("stratum", "rows", "drawn", "probability", "expected support")
    print_table(console, heads, rows)
    click.echo("\nExpected width of the 95% interval of the corrected mean:")
    for labels, width in plan.widths.items():
        click.echo(f"  {labels:>4} labels   {width:.2f} (about ±{width / 2:.2f})")
    click.echo("\nRows, in the order of labelling:")
    for row in plan.rows:
        name = one_line(row.sample_id, 40)
        click.echo(f"  {name}   {count(row.claims, 'claim')}   {row.stratum}")


def _label_in_browser(session: LabelSession, *, port: int, browser: bool) -> None:
    try:
        serve = cast("Callable[..., None]", load("reports.viewer.label_app").serve_labels)
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the labelling page needs {error.name}, which is not installed: use --terminal, or "
            "pip install 'ragstone[view]'"
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


def _label_in_terminal(session: LabelSession, console: Console) -> None:
    last: Item | None = None
    shown: Item | None = None
    while item := session.next():
        if item != shown:
            _print_claim(session, item, console)
            shown = item
        key = click.getchar().lower()
        if key in _VALUES:
            session.answer(item, _VALUES[key])
            last = item
            click.echo(f"-> {WORDS[_VALUES[key]]}")
        elif key == "s":
            session.skip(item)
        elif key == "u":
            last = None
            shown = None if session.undo() else shown
        elif key == "v" and last and (verdict := session.verdict(last)):
            _print_verdict(verdict)
        elif key == "q":
            break


def _print_claim(session: LabelSession, item: Item, console: Console) -> None:
    row = session.row(item)
    claim = row.scores[session.metric].claims[item.claim]
    response = Text(strip_controls(row.sample.response or ""))
    if claim.span:
        response.stylize("reverse", *claim.span)
    console.rule(f"{len(session.labels) + 1} of {session.plan.claims}")
    for number, context in enumerate(row.sample.contexts or (), 1):
        console.print(Text(f"Context {number}:", "bold"), Text(strip_controls(context.text)))
    console.print(Text("Question:", "bold"), Text(strip_controls(row.sample.asked)))
    console.print(Text("Answer:", "bold"), response)
    console.print(Text("\nClaim:", "bold"), Text(strip_controls(claim.text), "reverse"))
    console.print(Text(f"\n{RULE}", "dim"))
    click.echo("y supported, n not supported, c cannot tell, s skip, u undo,")
    click.echo("v judge's verdict on the last claim, q quit")


def _print_verdict(verdict: JudgedClaim) -> None:
    click.echo(f"The judge on your last claim: {strip_controls(describe_claim(verdict))}")
    for each in verdict.evidence:
        click.echo(f"  context {each.context + 1}: {one_line(each.quote, 300)}")
