"""`ragstone run`: evaluate a RAG system, or answers it gave before."""

import sys
from pathlib import Path
from typing import Unpack

import click
from rich.console import Console

from ragstone.cli.commands.metrics import print_catalogue
from ragstone.cli.commands.promptfoo import PromptfooTests, compare_ways, promptfoo_tests
from ragstone.cli.options import GROUPS, GroupedCommand, load_plugins
from ragstone.cli.output import Outputs, finish, outputs_of, print_estimate, progress
from ragstone.cli.parse import (
    RunArgs,
    config_of,
    data_of,
    files_read,
    keeping_of,
    plan_of,
    tracing_of,
)
from ragstone.evaluation.config_file import Config
from ragstone.evaluation.dry_run import estimate
from ragstone.evaluation.recorder import StoreOptions
from ragstone.evaluation.runner import evaluate
from ragstone.integrations.promptfoo.asserts import ProgressOptions, evaluate_tests
from ragstone.judges.instrumentation import UNTRACED, Tracing
from ragstone.results.run import RunInterruptedError
from ragstone.store import Store, StoreError
from ragstone.types.config import Plan

EPILOG = (
    "Options take precedence over RAGSTONE_JUDGE, then --preset, then the config file. "
    "Exit codes: 0 success; 1 a gate or a promptfoo test failed; 2 usage, input or key error; 3 "
    "too many failures, over budget, or a gate with nothing scored; 130 interrupted."
)


@click.command(
    name="run",
    cls=GroupedCommand,
    params=[click.Argument(["data"], required=False)],
    groups=GROUPS,
    brief=True,
    epilog=EPILOG,
)
def command(**given: Unpack[RunArgs]) -> None:
    """Evaluate a RAG system, or answers that you saved.

    DATA is an .xlsx, .csv, .json, .jsonl or .yaml file with a column `query`, and other columns
    such as point_ids, reference, response or contexts. If no row has the fields that a metric
    needs, ragstone calls the RAG API. DATA can also be a promptfooconfig.yaml. Without DATA,
    ragstone uses qr_smartphone_dataset.xlsx in this folder, or else its own sample data set.

    \b
    ragstone run data.xlsx --metric hit recall --k 5
    ragstone run data.xlsx -m all --api-url http://localhost:8000 --fail-under hit=80%
    ragstone run answers.jsonl -m faithfulness --rows rows.jsonl
    ragstone run answers.jsonl -m faithfulness --model gpt-4o-mini --dry-run
    ragstone run answers.jsonl -m faithfulness --preset deepeval --max-cost 2
    ragstone run --qrels qrels.txt --ranking bm25.run     (see ragstone rank --help)
    """
    config = config_of(given)
    outputs = outputs_of(given)
    load_plugins(*config.plugins, *given["plugin"])
    if given["list_metrics"]:
        print_catalogue(Console(highlight=False))
        return
    sys.exit(_run(given, config, outputs))


def _run(given: RunArgs, config: Config, outputs: Outputs) -> int:
    """Evaluate, estimate or compare, by the options, and return the exit code."""
    data = data_of(given, config)
    tests = promptfoo_tests(data)
    plan = tests.plan(given, config) if tests else plan_of(given, config)
    if tests:
        tests, plan = tests.limited(plan)
    rows = tests.dataset if tests else data
    outputs.check(data, *files_read(given, config, plan))
    if given["compare_legacy"]:
        with tracing_of(given["otel"]) as tracing:
            return compare_ways(rows, plan, given, tracing=tracing)
    if given["dry_run"]:
        with outputs.quiet():
            estimated = estimate(rows, plan=plan)
        print_estimate(estimated, Console(highlight=False))
        return 0
    with tracing_of(given["otel"]) as tracing:
        work, keeping = tests or data, keeping_of(given, config)
        return evaluated(work, plan, outputs=outputs, keeping=keeping, tracing=tracing)


def evaluated(
    data: str | Path | PromptfooTests,
    plan: Plan,
    *,
    outputs: Outputs,
    keeping: StoreOptions,
    tracing: Tracing = UNTRACED,
) -> int:
    """Evaluate with progress shown, finish, and return the exit code, also when interrupted."""
    tests = data if isinstance(data, PromptfooTests) else None

    def print_notice(notice: str) -> None:
        click.echo(notice, err=True)

    with outputs.quiet(), progress(Console(stderr=True)) as on_row:
        options: ProgressOptions = {
            "on_row": on_row,
            "on_notice": print_notice,
            "tracing": tracing,
        }
        try:
            if isinstance(data, PromptfooTests):
                run = evaluate_tests(data.dataset, plan, options, **keeping)
            else:
                run = evaluate(data, plan=plan, **options, **keeping)
            interrupted = False
        except RunInterruptedError as stop:
            run = stop.run
            interrupted = True
    code = finish(run, outputs, first=_is_first(keeping), interrupted=interrupted)
    if (run.partial or run.stopped) and "store" in keeping:
        how = "the same command" if tests else "`ragstone resume`"
        click.echo(f"Run {run.manifest.run_id} is stored: {how} continues it.", err=True)
    return tests.code(run, code) if tests else code


def _is_first(keeping: StoreOptions) -> bool:
    """Whether a store has only one run."""
    place = keeping.get("store")
    if not place or isinstance(place, Store):
        return False
    try:
        with Store.open(None if place is True else place) as store:
            return len(store.runs(limit=2)) == 1
    except StoreError:  # the results count more than a hint beside them
        return False
