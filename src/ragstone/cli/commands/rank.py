"""`ragstone rank`: evaluate rankings of many queries from files; `run --ranking` is the same."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from ragstone.cli import load, options, output
from ragstone.cli.options import Given, GroupedCommand, Groups, option, setting
from ragstone.errors import UsageError
from ragstone.evaluation.ranking import RankingEvaluation
from ragstone.reports.terminal import print_ranking, print_rows
from ragstone.results.run import Run
from ragstone.types.config import Plan

if TYPE_CHECKING:
    from ragstone.results.comparison import Regressions
    from ragstone.results.systems import Systems
    from ragstone.store import Store

GROUPS: Groups = {
    "Files": (
        option(
            "--qrels",
            "Relevance judgments: TREC or MS MARCO qrels, CSV or TSV with a header, JSON, JSON "
            "Lines, Parquet, Arrow, or a BEIR folder: --qrels qrels.txt, --qrels scifact/.",
            path="FILE",
            required=True,
        ),
        option(
            "--ranking",
            "Rankings: a TREC or MS MARCO run, or a format as above; text files may be .gz or "
            ".zst.  Repeat the option to compare each ranking with the first, query by query: "
            "--ranking bm25.run --ranking dense.run.",
            path="FILE",
            required=True,
            multiple=True,
        ),
        option(
            "--missing",
            "How to treat judged queries that are missing from the ranking: score them as "
            "zero, or skip them.",
            choices=["zero", "skip"],
            default="zero",
        ),
        option(
            "--tie-rule",
            "Which of two documents with equal scores comes first: the one with the "
            "greater id, as in trec_eval, or the one listed first in the file.",
            choices=["trec_eval", "given"],
            default="trec_eval",
        ),
        option(
            "--ignore-identical-ids",
            "Leave out ranked documents that have the id of their query, as BEIR does.",
            is_flag=True,
        ),
        setting("columns", "Map a column to a field, e.g. --map document_id=pid."),
    ),
    "Metrics": (
        option(
            "-m --metric metrics",
            "Ranking metrics; several may follow one -m: -m ndcg recall mrr@10.  "
            "[default: all_retrieval]",
            multiple=True,
            metavar="NAME",
        ),
        setting("k", "Cut-offs: --k 1,3,5,10."),
        setting("plugin"),
    ),
    "Gates": options.GATES,
    "Comparison": (
        option(
            "--baseline",
            "Compare with a stored run instead of the first ranking: an id, the start of an "
            "id, a tag, or `last`.",
            metavar="RUN",
        ),
        *options.REGRESSION_OPTIONS,
    ),
    "Results": (
        options.VERBOSE,
        options.WORKBOOK,
        options.written("html"),
        options.written("json"),
        options.written("rows"),
        options.written("markdown"),
        options.written("junit"),
        options.written("latex"),
    ),
    "Store": (
        option(
            "--store",
            "Store the run, so that you can show, report and compare it later, in a file or in "
            "postgresql://user@host/name. Without PLACE: RAGSTONE_STORE, else `store` in "
            "ragstone.yaml, else .ragstone/ragstone.db.",
            is_flag=False,
            flag_value="",
            metavar="[PLACE]",
        ),
    ),
}


@click.command(
    name="rank",
    cls=GroupedCommand,
    params=[],
    groups=GROUPS,
    epilog="Exit codes: 0 success; 1 a gate failed, or a regression with --fail-on-regression; 2 "
    "usage or input error; 3 too many failures, a gate with nothing scored, or regressions that "
    "could not be checked.",
)
def command(**given: Any) -> None:
    """Evaluate rankings for many queries, from the files that retrieval tools write.

    `ragstone run --qrels ... --ranking ...` is the same. Documents are ranked by score, highest
    first, with ties broken as in trec_eval (--tie-rule). Rankings in JSON Lines, or without
    scores, keep the order of the file.

    \b
    ragstone rank --qrels qrels.txt --ranking bm25.run --k 1,3,5,10,20
    ragstone rank --qrels scifact/ --ranking dense.parquet -m ndcg recall -k 10
    ragstone rank --qrels qrels.txt --ranking bm25.run --ranking dense.run -m ndcg@10
    ragstone rank --qrels qrels.txt --ranking new.run --baseline old --fail-on-regression
    """
    sys.exit(rank(given))


def rank(given: Given) -> int:
    options.load_plugins(*given["plugin"])
    outputs = output.outputs_of(given, export=given["output"] is not None)
    several = len(given["ranking"]) > 1
    if several and given["junit"] is not None:
        raise UsageError("--junit applies to one ranking; omit it to compare several rankings")
    place = given["store"] or os.environ.get("RAGSTONE_STORE", "").strip() or options.store_here()
    if outputs.export or outputs.files:
        outputs.check(given["qrels"], *given["ranking"], *options.store_files(place))
    limits = output.regression_limits(given)
    if limits and given["baseline"] is None and not several:
        raise UsageError(
            "--fail-on-regression: there is nothing to compare with; add a second --ranking, or "
            "a stored run with --baseline"
        )
    saves, runs, saved = given["store"] is not None, list[Run](), list[str]()
    tags: list[str | None] = []
    opened: AbstractContextManager[Store | None] = nullcontext()
    if saves or given["baseline"] is not None:
        made_by = "ragstone rank --store"
        opened = options.open_store(place, make=saves, reading=not saves, made_by=made_by)
    with opened as store:
        plan = Plan.of({"metrics": ("all_retrieval",), **options.typed_settings(given)})
        if store and given["baseline"] is not None:
            info = store.info(load("store").find_run(store, given["baseline"]))
            runs.append(store.load(info.id))
            tags.append(info.tag or given["baseline"])
        evaluation = RankingEvaluation.of(
            given["qrels"],
            plan,
            missing=given["missing"],
            ties=given["tie_rule"],
            ignore_identical=given["ignore_identical_ids"],
        )
        same_names = len({path.name for path in given["ranking"]}) < len(given["ranking"])
        rows = store is not None or several or outputs.verbose or outputs.export
        rows = rows or not outputs.files.keys() <= {"json", "markdown"}
        for path in given["ranking"]:
            size = path.stat().st_size if path.is_file() else 0

            def line(done: int, total: int, name: str = path.name) -> str:
                return f"{name}: {done / total:.0%} read"

            with output.progress_bar(path.name, line=line, of_bytes=True) as update:
                name = str(path) if same_names else None
                on_read = partial(update, total=size)
                runs.append(evaluation.run(path, on_read, name=name, rows=rows, several=several))
        evaluated = runs[-len(given["ranking"]) :]
        systems = None
        if len(runs) > 1 or "latex" in outputs.files:
            names = [*tags, *[None] * len(evaluated)]
            systems = load("results.systems").side_by_side(runs, names=names)
        if store and saves:
            for run in evaluated:
                load("store").save_ranking(store, run)
                saved.append(f"stored as run {run.manifest.run_id} in {store.name}")
        return _finish(evaluated, systems, limits, outputs, saved)


def _finish(
    evaluated: Sequence[Run],
    systems: "Systems | None",
    limits: Mapping[str, float] | None,
    outputs: output.Outputs,
    saved: Sequence[str],
) -> int:
    verdicts: dict[str, Regressions | None] = {}
    contents: dict[str, object] = {"latex": systems}
    compared = systems.against_first if systems else ()
    if systems and compared:  # the first comparison beside the run, others in a list
        verdicts = {each.names[1]: output.regressions_in(each, limits) for each in compared}
        first, *more = [
            {"b": run.to_dict(), "comparison": each.to_dict()}
            for run, each in zip(systems.runs[1:], compared, strict=True)
        ]
        document = {"a": systems.runs[0].to_dict(), **first, "more": more}
        contents["json"] = {**document, "systems": systems.to_dict()}

    def show(console: Console, _: int) -> None:
        for run in evaluated:
            if outputs.verbose:
                print_rows(run, console)
            if outputs.verbose or not compared:
                print_ranking(run, console)
        if compared:
            load("reports.systems").print_systems(systems, console, verbose=outputs.verbose)
        for line in saved:
            console.print(line, markup=False, soft_wrap=True)

    several = systems if len(evaluated) > 1 else None
    output.write_results(evaluated, outputs, show, systems=several, **contents)
    output.print_verdicts(verdicts, outputs.console)
    codes = list(map(output.code_of, verdicts.values()))
    if trouble := next((run.troubles for run in evaluated if run.troubles), None):
        codes.append(output.undecided("; ".join(trouble)))
    return max(*codes, *map(output.code_of_gates, evaluated), 0)  # 3 outranks 1
