"""The reports of `ragstone rank` that take more to make than its numbers do."""

from collections.abc import Mapping
from pathlib import Path

from rich.console import Console

from ragstone.cli.outcome import WRITERS
from ragstone.reports.rows import STDOUT
from ragstone.reports.terminal import print_rows
from ragstone.reports.workbooks import check_output, write_workbooks
from ragstone.run import Run


class RankingReports:
    """What is written of a run beside its JSON and its values; `files` are by format."""

    def __init__(self, files: Mapping[str, Path], *, workbook: Path | None, verbose: bool) -> None:
        """Take what was asked for.

        Raises:
            UsageError: the workbook cannot be written.
        """
        self._files, self._workbook, self._verbose = files, workbook, verbose
        if workbook is not None:
            check_output(workbook)

    def write(self, run: Run, console: Console) -> list[Path]:
        """Write and print what was asked for; return the files that were written."""
        if self._verbose:
            print_rows(run, console)
        for name, path in self._files.items():
            WRITERS[name](run, path)
        made = [path for path in self._files.values() if path != STDOUT]
        if self._workbook is not None:
            made += write_workbooks(run, output=self._workbook)
        return made
