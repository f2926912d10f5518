"""Evaluate rankings from the command line: read the files, score, and write the results."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

import click
from rich.console import Console

from ragstone.cli import TOO_MUCH_FAILED, load
from ragstone.cli.options import (
    Given,
    explicit_settings,
    load_plugins,
    place_here,
    store_files,
    typed_settings,
)
from ragstone.cli.output import (
    Outputs,
    RegressionLimits,
    code_of,
    exit_code,
    outputs_of,
    progress_bar,
    write_results,
)
from ragstone.errors import UsageError
from ragstone.evaluation.effects import settings_without_effect
from ragstone.evaluation.ranking import RankingEvaluation
from ragstone.reports.terminal import print_ranking, print_rows
from ragstone.results.run import Run
from ragstone.types.config import Plan

if TYPE_CHECKING:
    from ragstone.results.compare.comparison import Comparison, Regressions
    from ragstone.store import Store

_SUMMARIES = frozenset({"json", "markdown"})
"""Formats that need no rows."""
_OF_ONE = ("html", "junit", "markdown", "output", "rows")
"""Options for the files of a single run."""


@dataclass(frozen=True)
class Compared:
    """A comparison of two runs, and what got worse; None if that was not asked for."""

    a: Run
    b: Run
    comparison: "Comparison"
    regressions: "Regressions | None"


def rank(given: Given) -> int:
    load_plugins(*given["plugin"])
    outputs = outputs_of(given, export=given["output"] is not None)
    several = len(given["ranking"]) > 1
    if several and (flags := [f"--{name}" for name in _OF_ONE if given[name] is not None]):
        raise UsageError(
            f"{flags[0]} applies to one ranking; omit it to compare several rankings, or "
            "store them with --store and write the results of each with `ragstone report RUN "
            f"{flags[0]} FILE`"
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
        return _rank(given, outputs, limits, None)
    place, saves = place_here(given["store"]), given["store"] is not None
    open_store, made_by = load("cli.parse").open_store, "ragstone rank --store"
    with open_store(place, make=saves, reading=not saves, made_by=made_by) as store:
        return _rank(given, outputs, limits, store)


def _rank(given: Given, outputs: Outputs, limits: RegressionLimits, store: "Store | None") -> int:
    typed = typed_settings(given)
    plan = Plan.of({"metrics": ("all_retrieval",), **typed})
    runs: list[Run] = []
    if store is not None and given["baseline"] is not None:
        runs.append(store.load(load("store").find_run(store, given["baseline"])))
    evaluation = RankingEvaluation.of(
        given["qrels"], plan, missing=given["missing"], ties=given["tie_rule"]
    )
    for notice in settings_without_effect(
        explicit_settings(given), plan, metrics=evaluation.metrics, target=None, own_judge=False
    ):
        click.echo(notice, err=True)
    same_names = len({path.name for path in given["ranking"]}) < len(given["ranking"])
    rows = store is not None or len(given["ranking"]) > 1 or outputs.verbose or outputs.export
    rows = rows or not outputs.files.keys() <= _SUMMARIES
    for path in given["ranking"]:
        with _progress(Console(stderr=True), path) as on_read:
            name = str(path) if same_names else None
            runs.append(evaluation.run(path, on_read, name=name, rows=rows))
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
    document: dict[str, object] | None = None
    if compared:  # the first comparison beside the run, others in a list
        first, *more = [
            {"b": each.b.to_dict(), "comparison": each.comparison.to_dict()} for each in compared
        ]
        document = {"a": compared[0].a.to_dict(), **first, "more": more}

    def show(console: Console) -> None:
        _print(evaluated, compared, console, verbose=outputs.verbose)
        for line in saved:
            console.print(line, markup=False, soft_wrap=True)

    write_results(evaluated, outputs, show, document=document)
    codes = [code_of(each.regressions) for each in compared]
    if trouble := next((run.troubles for run in evaluated if run.troubles), None):
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(trouble)}", err=True)
    return max(*codes, *map(exit_code, evaluated), 0)  # 3 outranks 1


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
        with progress_bar(console, path.name, total=total, of_bytes=True) as update:
            yield lambda done: update(completed=done)
        return
    last = monotonic()

    def on_read(done: int) -> None:
        nonlocal last
        if monotonic() - last >= SECONDS_BETWEEN_LINES and done < total:
            last = monotonic()
            console.print(f"{path.name}: {done / total:.0%} read", highlight=False)

    yield on_read
