"""`ragstone labels`: import, export and list the labels of a run."""

from pathlib import Path

import click
from rich.console import Console

from ragstone._internal.text import count
from ragstone.cli import silent_pipes
from ragstone.cli.options import (
    ANNOTATOR,
    LABEL_METRIC,
    RUN,
    SHEET,
    STORE,
    open_store,
    option,
    pairs_of,
    read_by,
)
from ragstone.cli.output import check_files
from ragstone.errors import UsageError
from ragstone.evaluation.label_files import LabelDefaults, read_label_file
from ragstone.evaluation.labelling import metric_of, read_claims
from ragstone.reports.labels import print_labels, write_labels
from ragstone.results.calibration import calibratable
from ragstone.store import find_run


@click.group(name="labels")
def command() -> None:
    """Import, export or list labels: verdicts of people on the claims of a run.

    \b
    ragstone labels import labels.xlsx --run last --column human
    ragstone labels list last
    ragstone labels export last labels.csv
    """


@command.command(
    name="import",
    params=[
        click.Argument(["file"], type=click.Path(path_type=Path)),
        option("--run", "The run that was labelled.", required=True, metavar="RUN"),
        option("--column", "The column with the labels.", default="human"),
        option(
            "--map columns",
            "Name a column for id, position, claim, number, metric, annotator, at, "
            "probability or blind.",
            multiple=True,
            metavar="FIELD=COLUMN",
        ),
        option(
            "--by",
            "How rows are matched: by position means the column `position`, or the order.",
            choices=["id", "position"],
            default="id",
        ),
        option(
            "--yes-means",
            "What yes, true and 1 mean.  [default: supported]",
            choices=["supported", "unsupported"],
        ),
        option("--blind", "The judge's verdicts were hidden from the annotator.", is_flag=True),
        ANNOTATOR,
        LABEL_METRIC,
        SHEET,
        STORE,
    ],
    epilog=RUN,
)
def import_(
    file: Path,
    run: str,
    column: str,
    columns: tuple[str, ...],
    by: str,
    yes_means: str | None,
    blind: bool,
    annotator: str,
    metric: str | None,
    sheet: str | None,
    store: str | None,
) -> None:
    """Import labels from a workbook, CSV or JSON Lines: one row per claim, or per response.

    Labels are yes or no in common spellings and languages: 1, true, ja, supported, faithful;
    hallucinated, not supported; ? for "cannot tell". Blank cells are skipped. A claim is its
    text, or its number in the reports. All problems are reported at once, and then nothing is
    stored. Labels replace earlier ones of the same claim and annotator.
    """
    empty = UsageError(
        f"{file.name} has no labels; write yes, no or ? into the column {column!r}, with one row "
        "per claim or response"
    )
    if file.is_file() and not file.stat().st_size:
        raise empty
    with open_store(store) as opened:
        info = opened.info(find_run(opened, run))
        found = read_label_file(
            file,
            read_claims(opened, info.id),
            LabelDefaults(
                run=info.id,
                metric=metric_of(info, metric),
                annotator=annotator,
                metrics=calibratable(info.metrics),
            ),
            column=column,
            sheet=sheet,
            columns=pairs_of(columns),
            by_position=by == "position",
            yes_means=None if yes_means is None else yes_means == "supported",
            blind=blind,
        )
        if not found.labels:
            raise empty
        opened.add_labels(info.id, found.labels)
    for note in found.notes:
        click.echo(f"Note: {file.name}: {note}", err=True)
    labels = count(len(found.labels), "label")
    click.echo(f"imported {labels} into run {info.id}; next: ragstone calibrate {info.id}")


@command.command(
    name="export",
    params=[
        click.Argument(["run"]),
        click.Argument(["file"], type=click.Path(path_type=Path)),
        STORE,
    ],
    epilog=RUN,
)
def export(run: str, file: Path, store: str | None) -> None:
    """Export the labels of a run to .jsonl, .csv or .xlsx."""
    with open_store(store, reading=True) as opened:
        info = opened.info(find_run(opened, run))
        check_files(file, inputs=read_by(opened, info))
        labels = opened.labels(info.id)
        if not labels:
            raise UsageError(f"run {info.id} has no labels; `ragstone label {info.id}` makes some")
        write_labels(labels, read_claims(opened, info.id), file)
    click.echo(f"wrote {file}: {count(len(labels), 'label')}")


@command.command(name="list", params=[click.Argument(["run"]), STORE], epilog=RUN)
def list_(run: str, store: str | None) -> None:
    """List who labelled a run, and how far annotators agree: Cohen's kappa and Gwet's AC1."""
    with open_store(store, reading=True) as opened:
        run_id = find_run(opened, run)
        labels = opened.labels(run_id)
    if not labels:
        click.echo(f"Run {run_id} has no labels yet; `ragstone label {run_id}` makes some.")
        return
    with silent_pipes():
        print_labels(labels, Console(highlight=False))
