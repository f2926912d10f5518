"""Run an evaluation from the command line: read the options, evaluate, and write the results."""

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from ragstone.cli.commands.metrics import print_catalogue
from ragstone.cli.commands.promptfoo import PromptfooTests, compare_ways, promptfoo_tests
from ragstone.cli.options import load_plugins
from ragstone.cli.output import Outputs, finish, outputs_of, print_estimate, progress
from ragstone.cli.parse import (
    config_of,
    data_of,
    files_read,
    keeping_of,
    plan_of,
    tracing_of,
)
from ragstone.evaluation.dry_run import estimate
from ragstone.evaluation.recorder import StoreOptions
from ragstone.evaluation.runner import evaluate
from ragstone.integrations.promptfoo.asserts import ProgressOptions, evaluate_tests
from ragstone.judges.instrumentation import UNTRACED, Tracing
from ragstone.results.run import RunInterruptedError
from ragstone.store import Store, StoreError
from ragstone.types.config import Plan

if TYPE_CHECKING:
    from ragstone.cli.commands.run import RunArgs


def run_evaluation(given: "RunArgs") -> int:
    """Evaluate, estimate or compare, by the options, and return the exit code."""
    config = config_of(given)
    outputs = outputs_of(given)
    load_plugins(*config.plugins, *given["plugin"])
    if given["list_metrics"]:
        print_catalogue(Console(highlight=False))
        return 0
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
