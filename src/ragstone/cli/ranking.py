"""`ragstone rank`: evaluate rankings of many queries from files; `run --ranking` is the same."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Unpack, cast

import click
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from ragstone.cli import later
from ragstone.cli.grouped import GroupedCommand
from ragstone.cli.plugins import load_plugins
from ragstone.cli.ranking_options import GROUPS, Given
from ragstone.cli.ranking_results import RankingResults
from ragstone.cli.reading import pairs_of
from ragstone.config import metric_names
from ragstone.gates import FLAGS, gate, share
from ragstone.plan import Plan
from ragstone.ranking_evaluation import RankingEvaluation
from ragstone.run import Run

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from ragstone.cli.ranking_store import RankingStore

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
    evaluation = RankingEvaluation.of(
        given["qrels"], _plan(given), missing=given["missing"], ties=given["tie_rule"]
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
    stores: type[RankingStore] = later("ranking_store").RankingStore
    return stores.open(given["store"] or "", keeps=given["store"] is not None)


def _plan(given: Given) -> Plan:
    typed = cast("dict[str, tuple[str, ...]]", given)
    said: dict[str, object] = {
        "metrics": metric_names(given["metrics"]) or ("all_retrieval",),
        "columns": pairs_of(given["columns"], form="FIELD=COLUMN, such as document_id=pid"),
        "gates": tuple(
            gate(text, *demand) for name, demand in FLAGS.items() for text in typed[name]
        ),
        "k": given["k"],
        "gates_on": given["gates_on"],
        "max_failed": None if given["max_failed"] is None else share(given["max_failed"]),
    }
    return Plan.of({name: value for name, value in said.items() if value is not None})


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
