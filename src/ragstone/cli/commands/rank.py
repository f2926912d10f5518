"""`ragstone rank`: evaluate rankings of many queries from files; `run --ranking` is the same."""

import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Unpack, cast

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ragstone.cli import GATE_FAILED, TOO_MUCH_FAILED, later, silent_pipes
from ragstone.cli import options as result_options
from ragstone.cli.commands import compare as regression
from ragstone.cli.commands.compare import Limits, code_of
from ragstone.cli.options import (
    GATES,
    PLUGIN,
    WORKBOOK,
    GroupedCommand,
    Groups,
    load_plugins,
    place_here,
    setting,
    store_files,
    typed_settings,
    written,
)
from ragstone.cli.output import check_files
from ragstone.datasets.rankings import TieRule
from ragstone.errors import UsageError
from ragstone.evaluation.ranking import Missing, RankingEvaluation
from ragstone.reports.comparison import print_comparison, print_regressions
from ragstone.reports.tables import STDOUT, check_table, write_document, write_json, write_rows
from ragstone.reports.terminal import print_ranking
from ragstone.results.compare import Comparison, Regressions, compare
from ragstone.results.run import Run
from ragstone.types.config import Plan

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ragstone.cli.commands.rank_store import RankingReports, RankingStore


# The options of `ragstone rank`, in the groups that its help shows.

_PATH = click.Path(path_type=Path)


class Given(result_options.Given, regression.Given):
    """What the command line said."""

    qrels: Path
    ranking: tuple[Path, ...]
    metrics: tuple[str, ...]
    k: str | None
    missing: Missing
    tie_rule: TieRule
    columns: tuple[str, ...]
    plugin: tuple[str, ...]
    fail_under: tuple[str, ...]
    fail_over: tuple[str, ...]
    min_coverage: tuple[str, ...]
    gates_on: str | None
    max_failure_rate: str | None
    html: Path | None
    json: Path | None
    rows: Path | None
    markdown: Path | None
    junit: Path | None
    baseline: str | None
    store: str | None


_FILES = (
    click.Option(
        ["--qrels"],
        type=_PATH,
        required=True,
        metavar="FILE",
        help="What is relevant: TREC qrels, .jsonl, .parquet, .arrow, or a BEIR folder: "
        "--qrels qrels.txt, --qrels scifact/.",
    ),
    click.Option(
        ["--ranking"],
        type=_PATH,
        required=True,
        multiple=True,
        metavar="FILE",
        help="What was retrieved: a TREC run, .jsonl, .parquet or .arrow; text also packed as .gz "
        "or .zst. Of several, each is compared with the first, query by query: "
        "--ranking bm25.run --ranking dense.run.",
    ),
    click.Option(
        ["--missing"],
        type=click.Choice(["zero", "skip"]),
        default="zero",
        show_default=True,
        help="What a judged query comes to of which the ranking has nothing: 0, or no number.",
    ),
    click.Option(
        ["--tie-rule"],
        type=click.Choice(["trec_eval", "given"]),
        default="trec_eval",
        show_default=True,
        help="Which of two documents with equal scores comes first: the greater id, as in "
        "trec_eval, or the one that the file has first.",
    ),
    setting("columns", "Map a column to a field, e.g. --map document_id=pid."),
)

_METRICS = (
    click.Option(
        ["-m", "--metric", "metrics"],
        multiple=True,
        metavar="NAME",
        help="Ranking metrics; several words are several metrics: -m ndcg recall mrr@10.  "
        "[default: all_retrieval]",
    ),
    setting("k", "Cut-offs: --k 1,3,5,10."),
    PLUGIN,
)

_RESULTS = (
    click.Option(["-v", "--verbose"], is_flag=True, help="Print each query's values."),
    WORKBOOK,
    written("html"),
    written("json"),
    written("rows", said="Write each query's values: .jsonl, .csv or .parquet."),
    written("markdown"),
    written("junit", said="Write a test a query and metric as JUnit XML, for CI."),
)

_COMPARISON = (
    click.Option(
        ["--baseline"],
        metavar="RUN",
        help="Compare with a stored run instead of the first ranking: an id, the beginning of one, "
        "a tag, or `last`.",
    ),
    *regression.OPTIONS,
)

_STORE = (
    click.Option(
        ["--store"],
        is_flag=False,
        flag_value="",
        metavar="[PLACE]",
        help="Keep the run, to show, report and compare it later: in a file, or "
        "postgresql://user@host/name. Where no PLACE is named it is RAGSTONE_STORE, else `store` "
        "in ragstone.yaml, else .ragstone/ragstone.db here.",
    ),
)

GROUPS: Groups = MappingProxyType(
    {
        "Files": _FILES,
        "Metrics": _METRICS,
        "Gates": GATES,
        "Comparison": _COMPARISON,
        "Results": _RESULTS,
        "Store": _STORE,
    }
)


# What becomes of the runs of `ragstone rank`: files, and an exit code.

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
            made: type[RankingReports] = later("rank_store").RankingReports
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
            with self._reports.csv_safe(console) if self._reports else nullcontext():
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
            write_rows(runs[0], path)
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


EVERY = 10.0
"""Seconds between two lines that tell how far the reading is, where there is no terminal."""


@click.command(
    name="rank",
    cls=GroupedCommand,
    params=[],
    groups=GROUPS,
    epilog="Exit codes: 0 fine, 1 a gate failed, or a regression with --fail-on-regression, 2 "
    "usage or input error, 3 too much failed, a gate with nothing scored, or no verdict on "
    "regressions.",
)
def command(**given: Unpack[Given]) -> None:
    """Evaluate rankings of many queries, from the files that retrieval tools write.

    `ragstone run --qrels ... --ranking ...` is the same. Scores rank the documents, the higher
    first, and of equal ones the greater id, as in trec_eval (--tie-rule); a ranking in JSON Lines,
    or without scores, is taken as it stands.

    \b
    ragstone rank --qrels qrels.txt --ranking bm25.run --k 1,3,5,10,20
    ragstone rank --qrels scifact/ --ranking dense.parquet -m ndcg recall -k 10
    ragstone rank --qrels qrels.txt --ranking bm25.run --ranking dense.run -m ndcg@10
    ragstone rank --qrels qrels.txt --ranking new.run --baseline old --fail-on-regression
    """
    load_plugins(*given["plugin"])
    results = RankingResults(given)
    with _opened(given) as store:
        sys.exit(_ranked(given, results, store))


def _ranked(given: Given, results: RankingResults, store: "RankingStore | None") -> int:
    """Evaluate, keep, compare and write what was asked for; return the exit code."""
    said, keeps = given["baseline"], given["store"] is not None
    baseline = store.run(said) if store is not None and said is not None else None
    typed = typed_settings(cast("Mapping[str, object]", given))
    plan = Plan.of({"metrics": ("all_retrieval",), **typed})
    evaluation = RankingEvaluation.of(
        given["qrels"], plan, missing=given["missing"], ties=given["tie_rule"]
    )
    runs: list[Run] = []
    alike = len({ranking.name for ranking in given["ranking"]}) < len(given["ranking"])
    for ranking in given["ranking"]:
        with _progress(Console(stderr=True), ranking) as on_read:
            runs.append(evaluation.run(ranking, on_read, name=str(ranking) if alike else None))
    first, *others = runs if baseline is None else [baseline, *runs]
    compared = [results.compared(first, run) for run in others]
    stored = [store.keep(run) for run in runs] if store is not None and keeps else []
    return results.conclude(runs, compared, stored)


def _opened(given: Given) -> "AbstractContextManager[RankingStore | None]":
    """Open the store, if runs are to be kept in it or compared with one of it."""
    if given["store"] is None and given["baseline"] is None:
        return nullcontext()
    stores: type[RankingStore] = later("rank_store").RankingStore
    return stores.open(given["store"] or "", keeps=given["store"] is not None)


@contextmanager
def _progress(console: Console, path: Path) -> Generator[Callable[[int], None], None, None]:
    """Show how much of a file is read; gives what to call with the bytes read by now."""
    total = path.stat().st_size if path.is_file() else 0
    if console.is_terminal:
        columns = (TextColumn(path.name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("reading", total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    last = monotonic()

    def on_read(done: int) -> None:
        nonlocal last
        if monotonic() - last >= EVERY and done < total:
            last = monotonic()
            console.print(f"{path.name}: {done / total:.0%} read", highlight=False)

    yield on_read
