"""The store of `ragstone rank`: its runs are kept there, and compared with what is."""

import os
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Self

import click
from rich.console import Console

from ragstone.cli.options import place_here
from ragstone.cli.output import WRITERS
from ragstone.cli.parse import open_store
from ragstone.reports.excel import check_output, write_workbooks
from ragstone.reports.github import no_commands, report_to_github
from ragstone.reports.terminal import print_rows
from ragstone.results.run import Run
from ragstone.store import Store, find_run, save_ranking


class RankingStore:
    """An open store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    @classmethod
    @contextmanager
    def open(cls, place: str, *, keeps: bool) -> Generator[Self, None, None]:
        """Open the store at a place; "" is what RAGSTONE_STORE or the config file says.

        With `keeps`, a SQLite file is made where there is none.

        Raises:
            UsageError: there is none, and nothing is to be kept.
            StoreError: the place cannot be used.
        """
        made_by = "ragstone rank --store"
        with open_store(place_here(place), make=keeps, made_by=made_by) as store:
            yield cls(store)

    def run(self, name: str) -> Run:
        """Return the run of that id, tag, or unique beginning of an id; or the `last`.

        Raises:
            StoreError: there is none, or several begin so.
        """
        return self._store.load(find_run(self._store, name))

    def keep(self, run: Run) -> str:
        """Keep a run; say where, in a line.

        Raises:
            StoreError: it could not be written.
        """
        save_ranking(self._store, run)
        return f"stored as run {run.manifest.run_id} in {self._store.name}"


# The reports of `ragstone rank` that take more to make than its numbers do.


class RankingReports:
    """What is written, printed and told of a run beside its JSON, its values and its table."""

    def __init__(self, *, workbook: Path | None, verbose: bool) -> None:
        """Take what was asked for.

        Raises:
            UsageError: the workbook cannot be written.
        """
        self._workbook, self._verbose = workbook, verbose
        if workbook is not None:
            check_output(workbook)

    def csv_safe(self, console: Console) -> AbstractContextManager[None]:
        """Have GitHub Actions obey nothing that is printed meanwhile."""
        return no_commands(console.file, os.environ)

    def write(self, name: str, run: Run, path: Path) -> None:
        """Write the file of one format."""
        WRITERS[name](run, path)

    def write_workbook(self, run: Run) -> Sequence[Path]:
        """Write the workbook, if one was named; return the files that were written."""
        return write_workbooks(run, output=self._workbook) if self._workbook else ()

    def print_values(self, run: Run, console: Console) -> None:
        """Print each query's values, if that was asked for."""
        if self._verbose:
            print_rows(run, console)

    def annotate(self, run: Run, *, err: bool) -> None:
        """Tell GitHub Actions of a run, where it runs it."""
        for line in report_to_github(run, os.environ):
            click.echo(line, err=err)
