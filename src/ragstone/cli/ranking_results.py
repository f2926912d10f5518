"""What becomes of the runs of `ragstone rank`: files, and an exit code."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import click
from rich.console import Console

from ragstone.cli import later
from ragstone.cli.codes import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.cli.pipes import silent_pipes
from ragstone.cli.ranking_options import Given
from ragstone.cli.regression import Limits, code_of
from ragstone.cli.store_place import place_here, store_files
from ragstone.cli.writable import check_files
from ragstone.comparison import Comparison, Regressions, compare
from ragstone.errors import UsageError
from ragstone.reports.comparison_terminal import print_comparison, print_regressions
from ragstone.reports.ranking_report import print_ranking
from ragstone.reports.rows import STDOUT, write_document, write_json
from ragstone.reports.table_files import check_table
from ragstone.reports.tables import write_rows_table
from ragstone.run import Run

if TYPE_CHECKING:
    from ragstone.cli.ranking_reports import RankingReports

PIPED = ("json", "rows", "markdown")
"""Formats that may go to standard output."""
_LIGHT = frozenset({"json", "rows"})
_OF_ONE = ("html", "rows", "markdown", "junit", "output")
"""Options that mean a file of one run."""


class RankingResults:
    """Where the results go, as the command line said."""

    def __init__(self, given: Given) -> None:
        """Take what was said, and tell before the work what could not be written.

        Raises:
            UsageError: a file cannot be written, is read, or is named twice.
        """
        said = cast("Mapping[str, Path | None]", given)
        paths = {name: path for name in {*_OF_ONE, *PIPED} if (path := said[name]) is not None}
        if len(given["ranking"]) > 1 and (of_one := sorted(paths.keys() & set(_OF_ONE))):
            flag = f"--{of_one[0]}"
            raise UsageError(
                f"{flag} is for one ranking; leave it out to compare several, or keep them with "
                f"--store and write each with `ragstone report RUN {flag} FILE`"
            )
        for name in paths.keys() - set(PIPED):
            if paths[name] == STDOUT:
                raise UsageError(f"--{name}: name a file; this format is not for standard output")
        if paths:
            check_files(*paths.values(), inputs=_read(given))
        if "rows" in paths:
            check_table(paths["rows"])
        self._piped = STDOUT in paths.values()
        self.console = Console(file=sys.stderr if self._piped else sys.stdout, highlight=False)
        self._reports: RankingReports | None = None
        in_actions = bool(os.environ.get("GITHUB_ACTIONS"))
        if paths.keys() - _LIGHT or given["verbose"] or in_actions:
            made: type[RankingReports] = later("ranking_reports").RankingReports
            workbook = paths.pop("output", None)
            self._reports = made(workbook=workbook, verbose=given["verbose"])
        self._files = paths
        self._limits = Limits.of(given)
        if self._limits.asked and given["baseline"] is None and len(given["ranking"]) < 2:
            raise UsageError(
                "--fail-on-regression: there is nothing to compare with; name a second --ranking, "
                "or a stored run with --baseline"
            )

    def compared(self, a: Run, b: Run) -> "Compared":
        """Compare two runs, and hold what moved against what was said of regressions.

        Raises:
            UsageError: any drop would pass.
        """
        comparison = compare(a, b)
        return Compared(a, b, comparison, self._limits.found(comparison))

    def conclude(
        self, runs: Sequence[Run], compared: Sequence["Compared"], stored: Sequence[str] = ()
    ) -> int:
        """Write what was asked for, print the rest, and return the exit code.

        `stored` says where runs are kept. Files come first: whoever reads what is printed may
        stop reading.
        """
        piped = {name: path for name, path in self._files.items() if path == STDOUT}
        files = {name: path for name, path in self._files.items() if path != STDOUT}
        for name, path in files.items():
            self._write(name, path, runs, compared)
        written = [
            *files.values(),
            *(self._reports.write_workbook(runs[0]) if self._reports else ()),
        ]
        console = self.console
        with silent_pipes():
            with self._reports.guarded(console) if self._reports else nullcontext():
                self._print(runs, compared)
                for line in (*stored, *(f"wrote {path}" for path in written)):
                    console.print(line, markup=False, soft_wrap=True)
            for run in runs if self._reports else ():
                assert self._reports is not None
                self._reports.annotate(run, err=self._piped)
            for name, path in piped.items():
                self._write(name, path, runs, compared)
        codes = [_exit_code(runs), *(code_of(each.found) for each in compared)]
        return max(codes)  # 3 says more than 1, and both more than 0

    def _write(
        self, name: str, path: Path, runs: Sequence[Run], compared: Sequence["Compared"]
    ) -> None:
        if name == "json" and compared:
            write_document(_told(compared), path)
        elif name == "json":
            write_json(runs[0], path)
        elif name == "rows":
            write_rows_table(runs[0], path)
        else:
            assert self._reports is not None
            self._reports.write(name, runs[0], path)

    def _print(self, runs: Sequence[Run], compared: Sequence["Compared"]) -> None:
        for run in runs:
            if self._reports:
                self._reports.print_values(run, self.console)
            print_ranking(run, self.console)
        for a, b, comparison, found in compared:
            self.console.print()
            if len(compared) > 1:
                names = f"{a.manifest.source.name} and {b.manifest.source.name}"
                self.console.print(names, style="bold", markup=False)
            print_comparison(comparison, self.console)
            if found is not None and not found.doubts:
                print_regressions(found, self.console)


def _read(given: Given) -> list[str | Path]:
    """Return the files that no output may write over; the store is, though it may not be read."""
    return [given["qrels"], *given["ranking"], *store_files(place_here(given["store"]))]


class Compared(NamedTuple):
    """Two runs, what moved between them, and whether b is worse; None if that was not asked."""

    a: Run
    b: Run
    comparison: Comparison
    found: Regressions | None


def _told(compared: Sequence[Compared]) -> dict[str, object]:
    """Return comparisons with one run as plain data: it, another, and all further ones."""
    first, *more = [
        {"b": each.b.to_dict(), "comparison": each.comparison.to_dict()} for each in compared
    ]
    return {"a": compared[0].a.to_dict(), **first, "more": more}


def _exit_code(runs: Sequence[Run]) -> int:
    """Return 3 where a run's numbers decide nothing, and say why; 1 where a gate failed; else 0."""
    for run in runs:
        if run.troubles:
            click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(run.troubles)}", err=True)
            return TOO_MUCH_FAILED
    failed = any(result.passed is False for run in runs for result in run.gates())
    return GATE_FAILED if failed else 0
