"""The reports of `ragstone rank` that take more to make than its numbers do."""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import click
from rich.console import Console

from ragstone.cli.outcome import WRITERS
from ragstone.reports.github import no_commands, report_to_github
from ragstone.reports.terminal import print_rows
from ragstone.reports.workbooks import check_output, write_workbooks
from ragstone.run import Run


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

    def guarded(self, console: Console) -> AbstractContextManager[None]:
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
