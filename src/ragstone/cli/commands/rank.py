"""`ragstone rank`: evaluate rankings of many queries from files; `run --ranking` is the same."""

import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Unpack, cast

import click
from rich.console import Console

from ragstone.cli import TOO_MUCH_FAILED, load, silent_pipes
from ragstone.cli.options import (
    GATES,
    PLUGIN,
    WORKBOOK,
    GroupedCommand,
    Groups,
    ResultArgs,
    load_plugins,
    place_here,
    setting,
    store_files,
    typed_settings,
    written,
)
from ragstone.cli.output import (
    REGRESSION_OPTIONS,
    WRITERS,
    Outputs,
    RegressionArgs,
    RegressionLimits,
    code_of,
    exit_code,
    outputs_of,
)
from ragstone.datasets.rankings import TieRule
from ragstone.errors import UsageError
from ragstone.evaluation.ranking import Missing, RankingEvaluation
from ragstone.reports.github import no_commands, report_to_github
from ragstone.reports.tables import STDOUT, write_json
from ragstone.reports.terminal import print_ranking, print_rows
from ragstone.results.run import Run
from ragstone.types.config import Plan

if TYPE_CHECKING:
    from ragstone.results.compare.comparison import Comparison, Regressions
    from ragstone.store import Store

_PATH = click.Path(path_type=Path)


class RankArgs(ResultArgs, RegressionArgs):
    """The options, as click passes them."""

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
        help="Relevance judgments: TREC qrels, .jsonl, .parquet, .arrow, or a BEIR folder: "
        "--qrels qrels.txt, --qrels scifact/.",
    ),
    click.Option(
        ["--ranking"],
        type=_PATH,
        required=True,
        multiple=True,
        metavar="FILE",
        help="Rankings: a TREC run, .jsonl, .parquet or .arrow; text files may be .gz or .zst. "
        " Repeat it to compare each with the first, query by query: "
        "--ranking bm25.run --ranking dense.run.",
    ),
    click.Option(
        ["--missing"],
        type=click.Choice(["zero", "skip"]),
        default="zero",
        show_default=True,
        help="How to score judged queries missing from the ranking: as zero, or skip them.",
    ),
    click.Option(
        ["--tie-rule"],
        type=click.Choice(["trec_eval", "given"]),
        default="trec_eval",
        show_default=True,
        help="Which of two documents with equal scores comes first: the greater id, as in "
        "trec_eval, or the one that is first in the file.",
    ),
    setting("columns", "Map a column to a field, e.g. --map document_id=pid."),
)

_METRICS = (
    click.Option(
        ["-m", "--metric", "metrics"],
        multiple=True,
        metavar="NAME",
        help="Ranking metrics; several may follow one -m: -m ndcg recall mrr@10.  "
        "[default: all_retrieval]",
    ),
    setting("k", "Cut-offs: --k 1,3,5,10."),
    PLUGIN,
)

_RESULTS = (
    click.Option(["-v", "--verbose"], is_flag=True, help="Print the values of each query."),
    WORKBOOK,
    written("html"),
    written("json"),
    written("rows", description="Write the values of each query: .jsonl, .csv or .parquet."),
    written("markdown"),
    written("junit", description="Write JUnit XML for CI: one test per query and metric."),
)

_COMPARISON = (
    click.Option(
        ["--baseline"],
        metavar="RUN",
        help="Compare with a stored run instead of the first ranking: an id, the start of an id, "
        "a tag, or `last`.",
    ),
    *REGRESSION_OPTIONS,
)

_STORE = (
    click.Option(
        ["--store"],
        is_flag=False,
        flag_value="",
        metavar="[PLACE]",
        help="Store the run, to show, report and compare it later: in a file, or "
        "postgresql://user@host/name. Without PLACE: RAGSTONE_STORE, else `store` in "
        "ragstone.yaml, else .ragstone/ragstone.db here.",
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


_OF_ONE = ("html", "junit", "markdown", "output", "rows")
"""Options for the files of a single run."""


@dataclass(frozen=True)
class Compared:
    """A comparison of two runs, and what got worse; None if that was not asked for."""

    a: Run
    b: Run
    comparison: "Comparison"
    regressions: "Regressions | None"


@click.command(
    name="rank",
    cls=GroupedCommand,
    params=[],
    groups=GROUPS,
    epilog="Exit codes: 0 success; 1 a gate failed, or a regression with --fail-on-regression; 2 "
    "usage or input error; 3 too many failures, a gate with nothing scored, or regressions that "
    "could not be checked.",
)
def command(**given: Unpack[RankArgs]) -> None:
    """Evaluate rankings of many queries, from the files that retrieval tools write.

    `ragstone run --qrels ... --ranking ...` is the same. Documents are ranked by score, highest
    first, with ties broken as in trec_eval (--tie-rule). Rankings in JSON Lines, or without
    scores, keep the order of the file.

    \b
    ragstone rank --qrels qrels.txt --ranking bm25.run --k 1,3,5,10,20
    ragstone rank --qrels scifact/ --ranking dense.parquet -m ndcg recall -k 10
    ragstone rank --qrels qrels.txt --ranking bm25.run --ranking dense.run -m ndcg@10
    ragstone rank --qrels qrels.txt --ranking new.run --baseline old --fail-on-regression
    """
    load_plugins(*given["plugin"])
    options = cast("Mapping[str, object]", given)
    outputs = outputs_of(given, export=given["output"] is not None)
    several = len(given["ranking"]) > 1
    if several and (flags := [f"--{name}" for name in _OF_ONE if options[name] is not None]):
        raise UsageError(
            f"{flags[0]} is for one ranking; leave it out to compare several, or save them with "
            f"--store and write each with `ragstone report RUN {flags[0]} FILE`"
        )
    if outputs.export or outputs.files:
        place = place_here(given["store"])
        outputs.check(given["qrels"], *given["ranking"], *store_files(place))
    limits = RegressionLimits.of(given)
    if limits.asked and given["baseline"] is None and not several:
        raise UsageError(
            "--fail-on-regression: there is nothing to compare with; add a second --ranking, or "
            "a stored run with --baseline"
        )
    if given["store"] is None and given["baseline"] is None:
        sys.exit(_rank(given, outputs, limits, None))
    place, saves = place_here(given["store"]), given["store"] is not None
    with load("cli.parse").open_store(place, make=saves, made_by="ragstone rank --store") as store:
        sys.exit(_rank(given, outputs, limits, store))


def _rank(
    given: RankArgs, outputs: Outputs, limits: RegressionLimits, store: "Store | None"
) -> int:
    """Evaluate, save and compare the rankings, write the results, and return the exit code."""
    typed = typed_settings(cast("Mapping[str, object]", given))
    plan = Plan.of({"metrics": ("all_retrieval",), **typed})
    runs: list[Run] = []
    if store is not None and given["baseline"] is not None:
        runs.append(store.load(load("store").find_run(store, given["baseline"])))
    evaluation = RankingEvaluation.of(
        given["qrels"], plan, missing=given["missing"], ties=given["tie_rule"]
    )
    same_names = len({path.name for path in given["ranking"]}) < len(given["ranking"])
    for path in given["ranking"]:
        with _progress(Console(stderr=True), path) as on_read:
            runs.append(evaluation.run(path, on_read, name=str(path) if same_names else None))
    evaluated = runs[-len(given["ranking"]) :]
    compared: list[Compared] = []
    for run in runs[1:]:
        comparison = load("results.compare.comparison").compare(runs[0], run)
        compared.append(Compared(runs[0], run, comparison, limits.found(comparison)))
    saved: list[str] = []
    if store is not None and given["store"] is not None:
        for run in evaluated:
            load("store").save_ranking(store, run)
            saved.append(f"stored as run {run.manifest.run_id} in {store.name}")
    return _finish(evaluated, compared, outputs, saved)


def _finish(
    evaluated: Sequence[Run], compared: Sequence[Compared], outputs: Outputs, saved: Sequence[str]
) -> int:
    """Write and print the results, and return the exit code."""
    # files first: a reader of what is printed may stop reading
    document: dict[str, object] | None = None
    if compared:  # the first comparison beside the run, others in a list
        first, *more = [
            {"b": each.b.to_dict(), "comparison": each.comparison.to_dict()} for each in compared
        ]
        document = {"a": compared[0].a.to_dict(), **first, "more": more}
    for name, path in outputs.files.items():
        if path != STDOUT:
            _write(name, path, evaluated[0], document)
    files = [path for path in outputs.files.values() if path != STDOUT]
    if outputs.workbook is not None:
        files += load("reports.excel").write_workbooks(evaluated[0], output=outputs.workbook)
    with silent_pipes():
        console = outputs.console
        with no_commands(console.file, os.environ):
            _print(evaluated, compared, console, verbose=outputs.verbose)
            for line in (*saved, *(f"wrote {path}" for path in files)):
                console.print(line, markup=False, soft_wrap=True)
        for line in (line for run in evaluated for line in report_to_github(run, os.environ)):
            click.echo(line, err=outputs.data_on_stdout)
        for name, path in outputs.files.items():
            if path == STDOUT:
                _write(name, path, evaluated[0], document)
    codes = [code_of(each.regressions) for each in compared]
    if trouble := next((run.troubles for run in evaluated if run.troubles), None):
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(trouble)}", err=True)
    return max(*codes, *map(exit_code, evaluated), 0)  # 3 outranks 1


def _write(name: str, path: Path, run: Run, document: Mapping[str, object] | None) -> None:
    if name == "json" and document:
        write_json(document, path)
    else:
        WRITERS[name](run, path)


def _print(
    runs: Sequence[Run], compared: Sequence[Compared], console: Console, *, verbose: bool
) -> None:
    for run in runs:
        if verbose:
            print_rows(run, console)
        print_ranking(run, console)
    for each in compared:
        console.print()
        if len(compared) > 1:
            names = f"{each.a.manifest.source.name} and {each.b.manifest.source.name}"
            console.print(names, style="bold", markup=False)
        load("reports.comparison").print_comparison(each.comparison, console)
        if each.regressions is not None and not each.regressions.doubts:
            load("reports.comparison").print_regressions(each.regressions, console)


SECONDS_BETWEEN_LINES = 10.0
"""How often progress is reported if standard error is not a terminal."""


@contextmanager
def _progress(console: Console, path: Path) -> Generator[Callable[[int], None], None, None]:
    """Show how much of a file has been read; yields a function that takes the bytes read so far."""
    total = path.stat().st_size if path.is_file() else 0
    if console.is_terminal:
        from rich.progress import (
            BarColumn,
            DownloadColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (TextColumn(path.name), BarColumn(), DownloadColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as bar:
            task = bar.add_task("reading", total=total)
            yield lambda done: bar.update(task, completed=done)
        return
    last = monotonic()

    def on_read(done: int) -> None:
        nonlocal last
        if monotonic() - last >= SECONDS_BETWEEN_LINES and done < total:
            last = monotonic()
            console.print(f"{path.name}: {done / total:.0%} read", highlight=False)

    yield on_read
