"""What becomes of the runs of `ragstone rank`: files, and an exit code."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import click
from rich.console import Console

from ragstone.cli import later
from ragstone.cli.codes import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.cli.ranking_options import Given
from ragstone.cli.writable import check_files
from ragstone.comparison import Comparison
from ragstone.errors import UsageError
from ragstone.ranked_values import RankedRows
from ragstone.reports.ranking_tables import check_values, write_values
from ragstone.reports.rows import STDOUT, write_document, write_json
from ragstone.run import Run

if TYPE_CHECKING:
    from ragstone.cli.ranking_reports import RankingReports

PIPED = ("json", "rows", "markdown")
"""Formats that may go to standard output."""
_LATE = ("html", "markdown", "junit")
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
        check_files(*paths.values(), inputs=(given["qrels"], *given["ranking"]))
        if "rows" in paths:
            check_values(paths["rows"])
        self._json, self._rows = paths.get("json"), paths.get("rows")
        piped = STDOUT in paths.values()
        self.console = Console(file=sys.stderr if piped else sys.stdout, highlight=False)
        late = {name: paths[name] for name in _LATE if name in paths}
        self._reports: RankingReports | None = None
        if late or "output" in paths or given["verbose"]:
            made: type[RankingReports] = later("ranking_reports").RankingReports
            workbook = paths.get("output")
            self._reports = made(late, workbook=workbook, verbose=given["verbose"])

    def write(self, runs: Sequence[Run], compared: Sequence["Compared"]) -> None:
        """Write what was asked for, and tell which files that are."""
        made: list[Path] = []
        if self._json is not None and compared:
            write_document(_told(compared), self._json)
        elif self._json is not None:
            write_json(runs[0], self._json)
        if self._rows is not None:
            rows = runs[0].rows
            assert isinstance(rows, RankedRows)
            write_values(rows, self._rows)
        for run in runs if self._reports else ():
            made += self._reports.write(run, self.console) if self._reports else []
        for path in (self._json, self._rows, *made):
            if path not in (None, STDOUT):
                self.console.print(f"wrote {path}", markup=False, soft_wrap=True)


class Compared(NamedTuple):
    """Two runs, and what moved between them."""

    a: Run
    b: Run
    comparison: Comparison


def _told(compared: Sequence[Compared]) -> dict[str, object]:
    """Return comparisons with one run as plain data: it, another, and all further ones."""
    first, *more = [
        {"b": each.b.to_dict(), "comparison": each.comparison.to_dict()} for each in compared
    ]
    return {"a": compared[0].a.to_dict(), **first, "more": more}


def exit_code(runs: Sequence[Run]) -> int:
    """Return 3 where a run's numbers decide nothing, and say why; 1 where a gate failed; else 0."""
    for run in runs:
        if run.troubles:
            click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(run.troubles)}", err=True)
            return TOO_MUCH_FAILED
    failed = any(result.passed is False for run in runs for result in run.gates())
    return GATE_FAILED if failed else 0
