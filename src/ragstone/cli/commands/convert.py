"""`ragstone convert`: a data set that ragstone reads, in another format."""

from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory

import click

from ragstone._internal.files import write_file
from ragstone._internal.text import count, strip_controls
from ragstone.cli.options import READING, pairs_of
from ragstone.cli.output import check_files
from ragstone.datasets import load
from ragstone.datasets.export import check_format, losses, texts_in, write_samples
from ragstone.errors import UsageError
from ragstone.reports.tables import csv_safe


@click.command(
    name="convert",
    params=[
        click.Argument(["source"], metavar="IN"),
        click.Argument(["out"], metavar="OUT", type=click.Path(path_type=Path)),
        *READING,
    ],
)
def command(
    source: str,
    out: Path,
    columns: tuple[str, ...],
    sheet: str | None,
    limit: int | None,
    sample: int | None,
    seed: int | None,
) -> None:
    """Convert a data set from any supported tool to .jsonl, .json, .csv or .xlsx.

    The result is read back before it replaces OUT, and anything that OUT's format cannot store is
    reported. JSON and JSON Lines store everything. OUT must differ from IN.

    \b
    ragstone convert ragchecker.json answers.jsonl
    ragstone convert answers.jsonl questions.xlsx
    """
    check_files(out, inputs=[source])
    suffix = check_format(out.suffix)
    given = load(
        source, sheet=sheet, columns=pairs_of(columns), limit=limit, sample=sample, seed=seed or 0
    )
    with TemporaryDirectory() as folder:
        made = Path(folder) / out.name
        write_file(made, partial(write_samples, given.samples, suffix=suffix))
        try:
            lost = list(losses(given.samples, load(made).samples))
        except UsageError as error:
            raise UsageError(f"{suffix} cannot store these rows ({error}); use .jsonl") from error
        if given.failures:
            rows = count(len(given.failures), "row")
            lost.append(f"the causes of failed calls ({rows}), which only saved responses contain")
        write_file(out, partial(copyfile, made))
    for note in given.source.notes:
        click.echo(f"Note: {given.source.name}: {note}", err=True)
    for loss in lost:
        click.echo(f"{suffix} cannot store: {loss}", err=True)
    texts = texts_in(given.samples) if suffix == ".csv" else ()
    if found := sum(csv_safe(text) != strip_controls(text) for text in texts):
        click.echo(
            f"Note: {count(found, 'cell')} may be read as formulas by a spreadsheet (they begin "
            "with =, +, - or @); .xlsx stores them as text",
            err=True,
        )
    click.echo(f"wrote {out}: {count(len(given.samples), 'row')}")
