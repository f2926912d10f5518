"""What becomes of a finished run: printed, written where it was asked for, and an exit code."""

import sys
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from ragstone.reports.files import check_writable
from ragstone.reports.rows import write_json, write_rows
from ragstone.reports.terminal import print_rows, print_run
from ragstone.reports.workbooks import check_output, write_workbooks
from ragstone.run import Run

GATE_FAILED, TOO_MUCH_FAILED = 1, 3
STDOUT = Path("-")


@dataclass(frozen=True)
class Outputs:
    """Where a run's results go; None for nowhere, `-` is standard output."""

    workbook: Path | None = None
    folder: Path = Path("results")
    export: bool = True
    json: Path | None = None
    rows: Path | None = None
    verbose: bool = False

    def check(self) -> None:
        """Refuse, before anything is asked, what could not be written in the end.

        Raises:
            UsageError: a path cannot be written.
        """
        if self.export and self.workbook is not None:
            check_output(self.workbook)
        for path in (self.json, self.rows):
            if path is not None and path != STDOUT:
                check_writable(path)

    @property
    def console(self) -> Console:
        """Where people read: standard output, unless data goes there."""
        taken = STDOUT in (self.json, self.rows)
        return Console(file=sys.stderr if taken else sys.stdout, highlight=False)


def conclude(run: Run, outputs: Outputs) -> int:
    """Print a run, write what was asked for, and return the exit code."""
    console = outputs.console
    if outputs.verbose:
        print_rows(run, console)
    print_run(run, console)
    if outputs.json:
        write_json(run, outputs.json)
    if outputs.rows:
        write_rows(run, outputs.rows)
    if outputs.export and run.rows:
        for path in write_workbooks(run, output=outputs.workbook, folder=outputs.folder):
            console.print(f"wrote {path}", markup=False, soft_wrap=True)
    return exit_code(run)


def exit_code(run: Run) -> int:
    """Return 3 if too much failed or a gate has nothing scored, else 1 if a gate failed, else 0."""
    if _too_much_failed(run) or any(gate.passed is None for gate in run.gates()):
        return TOO_MUCH_FAILED
    return GATE_FAILED if any(gate.passed is False for gate in run.gates()) else 0


def _too_much_failed(run: Run) -> bool:
    limit = run.manifest.plan.max_failed
    for summary in run.summary().values():
        arose = summary.scored + summary.failed
        share = summary.failed / arose if arose else 0.0
        if share == 1.0 or (limit is not None and share > limit):
            return True
    return False
