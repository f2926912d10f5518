"""What becomes of a finished run: printed, written where it was asked for, and an exit code."""

import os
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import click
from rich.console import Console

from ragstone.cli.codes import GATE_FAILED, INTERRUPTED, TOO_MUCH_FAILED
from ragstone.cli.pipes import silent_pipes
from ragstone.cli.writable import check_files
from ragstone.errors import UsageError
from ragstone.reports.github import no_commands, report_to_github
from ragstone.reports.junit import write_junit
from ragstone.reports.rows import STDOUT, write_json
from ragstone.reports.run_markdown import write_markdown
from ragstone.reports.table_files import check_table
from ragstone.reports.tables import write_claims, write_rows_table
from ragstone.reports.terminal import print_rows, print_run
from ragstone.reports.web.html_file import write_html
from ragstone.reports.workbooks import check_output, write_workbooks
from ragstone.run import Run

WRITERS: Mapping[str, Callable[[Run, Path], None]] = MappingProxyType(
    {
        "html": write_html,
        "json": write_json,
        "rows": write_rows_table,
        "claim_rows": write_claims,
        "markdown": write_markdown,
        "junit": write_junit,
    }
)
"""What writes each format."""
TABLES = frozenset({"rows", "claim_rows"})
"""Formats whose file's ending says what kind of table it is."""
PIPED = frozenset({"json", "rows", "claim_rows", "markdown"})
"""Formats that may go to standard output."""


@dataclass(frozen=True)
class Outputs:
    """Where a run's results go.

    `files` are by format, one of WRITERS; `-` is standard output, for one of PIPED.
    """

    workbook: Path | None = None
    folder: Path = Path("results")
    export: bool = True
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
    verbose: bool = False

    def check(self, *inputs: str | Path) -> None:
        """Refuse, before anything is asked, what could not be written in the end.

        Raises:
            UsageError: a path cannot be written, is an input, or is named twice.
        """
        if self.export:
            check_output(self.workbook or self.folder / "workbook.xlsx")
        for name in self.files.keys() - PIPED:
            if self.files[name] == STDOUT:
                raise UsageError(f"--{name}: name a file; this format is not for standard output")
        for name in TABLES & self.files.keys():
            check_table(self.files[name])
        check_files(*self.files.values(), inputs=inputs, written=self._workbooks())

    def _workbooks(self) -> list[Path]:
        """Return the files that a named workbook may become."""
        if not self.export or self.workbook is None:
            return []
        parts = ("", "_retrieval", "_generation")
        return [self.workbook.with_stem(self.workbook.stem + part) for part in parts]

    @contextmanager
    def quiet(self) -> Generator[None, None, None]:
        """Send what a target or a plugin prints to standard error where data goes to output."""
        with redirect_stdout(sys.stderr) if self.data_on_stdout else nullcontext():
            yield

    @property
    def data_on_stdout(self) -> bool:
        """Whether standard output is for machines."""
        return STDOUT in self.files.values()

    @property
    def console(self) -> Console:
        """Where people read: standard output, unless data goes there."""
        return Console(file=sys.stderr if self.data_on_stdout else sys.stdout, highlight=False)


def conclude(run: Run, outputs: Outputs, *, first: bool = False, interrupted: bool = False) -> int:
    """Write what was asked for, print the run, and return the exit code; why it is 3 is printed.

    `first` tells that no run was stored before. Files come first: whoever reads what is printed
    may stop reading.
    """
    files = [path for path in outputs.files.values() if path != STDOUT]
    for name, path in outputs.files.items():
        if path != STDOUT:
            WRITERS[name](run, path)
    if outputs.export and run.rows:
        files += write_workbooks(run, output=outputs.workbook, folder=outputs.folder)
    with silent_pipes():
        console = outputs.console
        with no_commands(console.file, os.environ):
            if outputs.verbose:
                print_rows(run, console)
            print_run(run, console, first=first)
            for path in files:
                console.print(f"wrote {path}", markup=False, soft_wrap=True)
        for line in report_to_github(run, os.environ):
            click.echo(line, err=outputs.data_on_stdout)
        for name, path in outputs.files.items():
            if path == STDOUT:
                WRITERS[name](run, path)
    if interrupted:
        return INTERRUPTED
    code = exit_code(run)
    if run.troubles:
        click.echo(f"Exit code {code}: {'; '.join(run.troubles)}", err=True)
    return code


def exit_code(run: Run) -> int:
    """Return 3 where the run's numbers decide nothing, 1 where a gate failed, else 0."""
    if run.troubles:
        return TOO_MUCH_FAILED
    return GATE_FAILED if any(gate.passed is False for gate in run.gates()) else 0
