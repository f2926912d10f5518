"""`ragstone validate`: whether data files can be read, and what could be done with them."""

import os
import sys
from collections.abc import Collection

import click

from ragstone._internal.text import count
from ragstone.cli import UNUSABLE
from ragstone.cli.options import COLUMNS, SHEET, pairs_of
from ragstone.datasets import Dataset, load
from ragstone.errors import InputError, UsageError
from ragstone.metrics import catalogue, select
from ragstone.reports.github import error_annotation, no_commands
from ragstone.targets.base import FIELDS
from ragstone.types.sample import Sample

_NEEDS = frozenset(need for info in catalogue().values() for need in info.needs)


@click.command(
    name="validate",
    params=[
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE..."),
        COLUMNS,
        SHEET,
    ],
)
def command(files: tuple[str, ...], columns: tuple[str, ...], sheet: str | None) -> None:
    """Read data files and report all problems; no calls are made.

    A valid file is reported in one line: its rows, how many of them have each field, and which
    metrics can run on it. Exit code 2 if a file cannot be used.

    \b
    ragstone validate questions.xlsx
    ragstone validate data/*.jsonl
    """
    mapped = pairs_of(columns)
    bad = 0
    for file in dict.fromkeys(files):
        try:
            click.echo(described(file, load(file, sheet=sheet, columns=mapped)))
        except UsageError as error:
            bad += 1
            with no_commands(sys.stderr, os.environ):
                problems = error.problems if isinstance(error, InputError) else ()
                # the message of an InputError names only the first problems
                first = str(error).splitlines()[0] if problems else str(error)
                click.echo("\n".join([first, *(f"  {each}" for each in problems)]), err=True)
            if annotation := error_annotation(error, os.environ):
                click.echo(annotation, err=True)
    if bad:
        sys.exit(UNUSABLE)


def described(name: str, dataset: Dataset) -> str:
    """Describe a data set in a line."""
    samples = dataset.samples
    fields = [field for field in Sample.model_fields if field not in ("id", "tags")]
    counts = {field: sum(getattr(each, field) is not None for each in samples) for field in fields}
    held = ", ".join(f"{field} {count:,}" for field, count in counts.items() if count)
    tags = ", ".join(dict.fromkeys(tag for sample in samples for tag in sample.tags))
    met = {need for need in _NEEDS if any(each.held(need) is not None for each in samples)}
    asked = met | set(FIELDS) - dataset.absent.keys()
    ready, later = _metrics(met), _metrics(asked)
    could = f"can run: {ready or 'nothing'}" + (
        f"; with a RAG system's answers: {later}" if later != ready else ""
    )
    notes = "".join(f"; {note}" for note in dataset.source.notes)
    tagged = f"; tags: {tags}" if tags else ""
    return f"{name}: {count(len(samples), 'row')}: {held}{tagged}{notes}; {could}"


def _metrics(met: Collection[str]) -> str:
    """Return the metrics that these fields suffice for: those of `all`, and how many others."""
    known = {name: info for name, info in catalogue().items() if set(info.needs) <= set(met)}
    usual = [metric.name for metric in select(["all"]) if metric.name in known]
    names = usual or list(known)[:3]
    more = len(known) - len(names)
    return ", ".join(names) + (f" and {more} more (`ragstone metrics`)" if more else "")
