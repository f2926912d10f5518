"""`ragstone run`: evaluate a RAG system, or answers it gave before."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click
from rich.console import Console

from ragstone._internal.text import count
from ragstone.cli import GATE_FAILED
from ragstone.cli.commands.metrics import print_catalogue
from ragstone.cli.options import (
    CONFIG,
    CORRECTION,
    GATES,
    JUDGE,
    LIMITS,
    NO_STORE,
    OTEL,
    PLUGIN,
    RESULTS,
    Given,
    GroupedCommand,
    Groups,
    config_of,
    data_of,
    explicit_settings,
    files_read,
    is_store_typed,
    load_plugins,
    option,
    plan_of,
    rare,
    setting,
    store_option,
    store_options_of,
    tracing_of,
)
from ragstone.cli.output import Outputs, finish, outputs_of, print_estimate, progress
from ragstone.datasets import Dataset, samples_of
from ragstone.errors import BatchPendingError, Cause, UsageError
from ragstone.evaluation.config_file import Config
from ragstone.evaluation.recorder import StoreOptions
from ragstone.evaluation.runner import Evaluation
from ragstone.integrations.promptfoo import RAGAS
from ragstone.integrations.promptfoo.configuration import (
    LEGACY,
    Configuration,
    ProgressOptions,
    asks_in_text,
    evaluate_tests,
    is_configuration,
    read_configuration,
)
from ragstone.integrations.promptfoo.legacy import legacy_model
from ragstone.judges.llm.model import UNTRACED, Tracing
from ragstone.results.run import Run, RunInterruptedError
from ragstone.store import Store, StoreError
from ragstone.store.errors import display_name
from ragstone.targets.base import Target
from ragstone.types.config import DEFAULT_API, Plan

GROUPS: Groups = MappingProxyType(
    {
        "Data": (
            rare("--test-data", "--from-chat-responses", "test_data", help="Same as DATA."),
            setting("limit"),
            setting("sample"),
            setting("sheet"),
            setting("columns"),
            CONFIG,
        ),
        "RAG system": (
            option(
                "--api-url",
                f"URL of the RAG API, called for every row.  [default: {DEFAULT_API}, called "
                "only if the metrics need it]",
            ),
            setting("target"),
            setting("min_similarity"),
            setting("delay"),
        ),
        "Metrics": (
            setting("metrics"),
            setting("k"),
            option("--list-metrics", "List the metrics and exit.", is_flag=True),
            PLUGIN,
        ),
        "Judge": JUDGE,
        "Claims and verdicts": (
            setting("policy"),
            setting("preset"),
            setting("verify"),
        ),
        "Limits": (
            *LIMITS,
            setting("workers"),
            setting("engine"),
            setting("batch_api"),
            setting("fail_fast"),
            option(
                "--dry-run",
                "Estimate the judge's calls, tokens and cost; make no calls.",
                is_flag=True,
            ),
        ),
        "Gates": (*GATES, *CORRECTION),
        "Results": (*RESULTS, OTEL),
        "Store": (
            store_option(),
            NO_STORE,
            option("--fresh", "Start a new run, even if this one can be resumed.", is_flag=True),
            rare("--no-transcript", is_flag=True, help="Do not store the text of judge replies."),
        ),
    }
)

EPILOG = (
    "Order of precedence: options, RAGSTONE_JUDGE, --preset, the config file. "
    "Exit codes: 0 success; 1 a gate or a promptfoo test failed; 2 usage, input or API key "
    "error; 3 too many failures, over budget, or a gate with nothing scored; 130 interrupted."
)


@click.command(
    name="run",
    cls=GroupedCommand,
    params=[click.Argument(["data"], required=False)],
    groups=GROUPS,
    brief=True,
    epilog=EPILOG,
)
def command(**given: Any) -> None:
    """Evaluate a RAG system, or saved answers.

    DATA is an .xlsx, .csv, .json, .jsonl or .yaml file with a `query` column, and other columns
    such as point_ids, reference, response or contexts. If no row has the fields that a metric
    needs, ragstone calls the RAG API. DATA can also be a promptfooconfig.yaml. Without DATA,
    ragstone uses qr_smartphone_dataset.xlsx in this folder if it exists, or a sample data set.

    \b
    ragstone run data.xlsx --metric hit recall --k 5
    ragstone run data.xlsx -m all --api-url http://localhost:8000 --fail-under hit=80%
    ragstone run answers.jsonl -m faithfulness --rows rows.jsonl
    ragstone run answers.jsonl -m faithfulness --model gpt-4o-mini --dry-run
    ragstone run answers.jsonl -m faithfulness --preset deepeval --max-cost 2
    ragstone run --qrels qrels.txt --ranking bm25.run     (see ragstone rank --help)
    """
    sys.exit(run_evaluation(given))


MODES: Mapping[str, str] = MappingProxyType(
    {LEGACY: "RAGAS mode is off: scored as promptfoo 0.121.20 does", RAGAS: "RAGAS mode is on"}
)
"""Policy -> what it is in promptfoo's words."""
MOST = 20
"""Failing tests whose ids are printed."""
NOTHING: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class PromptfooTests:
    """The tests of a configuration file."""

    file: Path
    configuration: Configuration

    @property
    def dataset(self) -> Dataset:
        """A sample for each test and prompt, with its response."""
        return self.configuration.dataset

    def limited(self, plan: Plan) -> tuple["PromptfooTests", Plan]:
        chosen = samples_of(self.dataset.samples, **plan.selection)
        source, noted = self.dataset.source, chosen.source.notes
        notes = tuple(dict.fromkeys((*source.notes, *noted)))
        source = source.model_copy(update={"rows": len(chosen.samples), "notes": notes})
        some = replace(self.dataset, samples=chosen.samples, source=source)
        tests = replace(self, configuration=replace(self.configuration, dataset=some))
        return tests, plan.model_copy(update={"limit": None, "sample": None})

    def plan(self, given: Given, config: Config) -> Plan:
        """Return the plan of a run of these tests, and print notes about it.

        The command line takes precedence over the configuration, and that over `ragstone.yaml`.
        Only a target that is named is called.
        """
        requirements, file = self.configuration.requirements, self.file.name
        if given["policy"] == LEGACY and given["preset"] is None:
            requirements = requirements.without_ragas()
        plan = plan_of(given, requirements.over(config))
        if plan.columns:
            raise UsageError(
                f"{file} has no columns, so --map cannot be used: promptfoo's assertions read the "
                "vars query and context"
            )
        if plan.sheet is not None:
            raise UsageError(f"{file} has no sheets; remove --sheet {plan.sheet}")
        if asks_in_text(plan):
            legacy_model(plan)
        how = MODES.get(plan.policy, "scored by ragstone's own rules")
        samples = count(len(self.dataset.samples), "sample")
        for note in (f"{samples}; {how} (policy {plan.policy})", *requirements.notes):
            click.echo(f"{file}: {note}", err=True)
        return plan.model_copy(update={"fallback_target": None})

    def checked(self, run: Run) -> Run:
        failing = [
            f"{row.sample.id} ({', '.join(names)})"
            for row in run.rows
            if (names := self.configuration.requirements.failing(row.scores))
        ]
        if not failing:
            return run
        more = f" and {len(failing) - MOST} more" if len(failing) > MOST else ""
        named = f"{', '.join(failing[:MOST])}{more}"
        words = f"{len(failing):,} of {len(run.rows):,} tests failed: {named}"
        return replace(run, failed_tests=words)


def promptfoo_tests(data: str | Path) -> PromptfooTests | None:
    file = Path(data)
    return PromptfooTests(file, read_configuration(file)) if is_configuration(file) else None


def run_evaluation(given: Given) -> int:
    config = config_of(given["config"])
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
    if given["dry_run"]:
        with outputs.quiet():
            explicit = explicit_settings(given)
            estimated = Evaluation.estimate(
                rows, plan=plan, explicit=explicit, on_notice=print_notice
            )
        print_estimate(estimated, Console(highlight=False))
        return 0
    with tracing_of(given["otel"]) as tracing:
        return evaluated(
            tests or data,
            plan,
            outputs=outputs,
            storing=store_options_of(given, config),
            explicit=explicit_settings(given),
            tracing=tracing,
        )


def print_notice(notice: str) -> None:
    click.echo(notice, err=True)


def evaluated(
    data: str | Path | PromptfooTests,
    plan: Plan,
    *,
    outputs: Outputs,
    storing: StoreOptions,
    explicit: Mapping[str, str] = NOTHING,
    tracing: Tracing = UNTRACED,
    target: Target | None = None,
) -> int:
    """Evaluate with progress shown, finish, and return the exit code, also when interrupted.

    `target` is the one that is called, if the plan's target does not name it well.
    """
    tests = data if isinstance(data, PromptfooTests) else None

    with outputs.quiet(), progress(Console(stderr=True)) as on_progress:
        options: ProgressOptions = {
            "on_progress": on_progress,
            "on_notice": print_notice,
            "explicit": explicit,
            "reports": outputs.options,
            "tracing": tracing,
        }
        try:
            if isinstance(data, PromptfooTests):
                tested = data.configuration
                run = evaluate_tests(tested.dataset, plan, options, finish=tested.finish, **storing)
            elif target is not None:
                made = Evaluation.prepare(data, plan=plan, target=target, **options, **storing)
                run = made.run_in_thread()
            else:
                run = Evaluation.prepare(data, plan=plan, **options, **storing).run_in_thread()
            interrupted = False
        except BatchPendingError as pending:
            outputs.console.print(str(pending), markup=False, soft_wrap=True)
            return 0
        except RunInterruptedError as stop:
            run = stop.run
            interrupted = True
    run = tests.checked(run) if tests else run
    code = finish(run, outputs, first=_is_first(storing), interrupted=interrupted)
    if (run.partial or run.stopped) and run.rows and "store" in storing:
        run_id = run.manifest.run_id
        place = f" --store {display_name(str(storing['store']))}" if is_store_typed() else ""
        how = "the same command" if tests else f"`ragstone resume{place}`"
        retry = ""
        causes = {cause for scores in run.counts.scores.values() for cause in scores.causes}
        if not tests and causes - {Cause.BUDGET}:
            command = f"ragstone resume {run_id} --retry-failed{place}"
            retry = f"; `{command}` also retries its failed rows"
        click.echo(f"Run {run_id} is stored: {how} continues it{retry}.", err=True)
    if run.failed_tests:
        click.echo(run.failed_tests, err=True)
        return code or GATE_FAILED
    return code


def _is_first(storing: StoreOptions) -> bool:
    place = storing.get("store")
    if not place or isinstance(place, Store):
        return False
    try:
        with Store.open(None if place is True else place, reading=True) as store:
            return len(store.runs(limit=2)) == 1
    except StoreError:  # the results count more than a hint beside them
        return False
