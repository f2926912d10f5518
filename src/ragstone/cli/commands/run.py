"""`ragstone run`: evaluate a RAG system, or answers it gave before; `resume` and `collect`."""

import sys
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click
from rich.console import Console

from ragstone._internal.plugins import FILES
from ragstone._internal.text import count
from ragstone.cli import GATE_FAILED, UNUSABLE, load, options, say
from ragstone.cli.commands.metrics import print_catalogue
from ragstone.cli.options import Given, GroupedCommand, Groups, open_store, option, setting
from ragstone.cli.output import (
    Baseline,
    Outputs,
    check_lines,
    finish,
    outputs_of,
    print_estimate,
    progress,
    regression_limits,
)
from ragstone.demo.questions import DATASET
from ragstone.errors import Cause, InputError, RagstoneError, UsageError
from ragstone.evaluation.config_file import FILE, Config, read_config
from ragstone.evaluation.recorder import RunChangedError
from ragstone.evaluation.runner import Evaluation, Options
from ragstone.integrations.promptfoo import RAGAS
from ragstone.integrations.promptfoo import configuration as promptfoo
from ragstone.integrations.promptfoo.legacy import legacy_model
from ragstone.results.run import RunInterruptedError
from ragstone.types.config import DEFAULT_API, ORIGIN, Plan

if TYPE_CHECKING:
    from ragstone.store import RunInfo, Store

GROUPS: Groups = {
    "Data": (
        option("--test-data --from-chat-responses test_data", "Same as DATA.", common=False),
        *map(setting, ("limit", "sample", "sheet", "header_row", "columns")),
        options.CONFIG,
    ),
    "RAG system": (
        option(
            "--api-url",
            f"URL of the RAG API.  [default: {DEFAULT_API}, if the metrics need what it returns]",
        ),
        *map(setting, ("target", "min_similarity", "delay")),
    ),
    "Metrics": (
        setting("metrics"),
        setting("k"),
        option("--list-metrics", "List the metrics and exit.", is_flag=True),
        setting("plugin"),
    ),
    "Judge": options.JUDGE,
    "Claims and verdicts": tuple(map(setting, ("policy", "preset", "verify"))),
    "Limits": (
        *options.LIMITS,
        *map(setting, ("workers", "fail_fast")),
        options.DRY_RUN,
    ),
    "Gates": (*options.GATES, options.CORRECTION[0]),
    "Comparison": (
        option(
            "--baseline",
            "Compare with a stored run: an id, the start of an id, a tag, or `last`.",
            metavar="RUN",
        ),
        *options.REGRESSION_OPTIONS,
    ),
    "Results": (*options.RESULTS, options.OTEL),
    "Store": (
        options.store_option(),
        options.NO_STORE,
        option("--fresh", "Start a new run, and ask the target again.", is_flag=True),
        option(
            "--no-transcript", "Do not store the text of judge replies.", common=False, is_flag=True
        ),
    ),
}


@click.command(
    name="run",
    cls=GroupedCommand,
    params=[click.Argument(["data"], required=False), options.HELP_ALL],
    groups=GROUPS,
    epilog="Order of precedence: options, RAGSTONE_JUDGE, --preset, the config file. "
    "Exit codes: 0 success; 1 a gate or a promptfoo test failed, or a regression with "
    "--fail-on-regression; 2 usage, input or API key error; 3 too many failures, over budget, or "
    "an undecided gate; 130 interrupted.",
)
def command(**given: Any) -> None:
    """Evaluate a RAG system, or saved answers.

    DATA is an .xlsx, .csv, .json, .jsonl or .yaml file with a `query` column, and other columns
    such as point_ids, reference, response or contexts. If no row has the fields that a metric
    needs, ragstone calls the RAG API. DATA can also be a promptfooconfig.yaml. With --metric,
    --api-url or --target, but without DATA, ragstone uses qr_smartphone_dataset.xlsx in this
    folder if it exists, or a sample data set.

    \b
    ragstone run data.xlsx --metric hit recall --k 5
    ragstone run data.xlsx -m all --api-url http://localhost:8000 --fail-under hit=80%
    ragstone run data.xlsx --api-url http://localhost:8000 --baseline main --fail-on-regression
    ragstone run answers.jsonl -m faithfulness --model gpt-4o-mini --dry-run
    ragstone run answers.jsonl -m faithfulness --preset deepeval --max-cost 2
    ragstone run --qrels qrels.txt --ranking bm25.run     (see ragstone rank --help)
    """
    sys.exit(run_evaluation(given))


def run_evaluation(given: Given) -> int:
    config = options.config_of(given["config"])
    outputs = outputs_of(given)
    options.load_plugins(*config.plugins, *given["plugin"])
    if given["list_metrics"]:
        print_catalogue(Console(highlight=False))
        return 0
    named = options.one_of("DATA", given["data"], "--test-data", given["test_data"]) or config.data
    if not named and not any(given[name] for name in ("metrics", "api_url", "target")):
        start = files("ragstone.cli").joinpath("templates/start.txt").read_text(encoding="utf-8")
        say(start.rstrip())
        return UNUSABLE
    data = named or Path(DATASET.name)
    if not named and not Path(data).exists():
        say(f"No DATA given: using ragstone's sample data set, {DATASET.name}.")
        data = DATASET
    tests = None
    if promptfoo.is_configuration(data):
        try:
            tests = promptfoo.read_configuration(data)
        except InputError:
            if not (given.get("target") or config.settings.get("target")):
                raise
            say(f"{Path(data).name}: its tests are read as questions, without their assertions")
    if tests is None:
        plan = options.plan_of(given, config)
        if given.get("collects"):  # the answers are judged later
            plan = plan.model_copy(update={"gates": ()})
    else:
        tests, plan = promptfoo.limit_tests(tests, _plan_of_tests(tests, Path(data), given, config))
    place = options.store_option_value(given) or config.store
    plugins = (*config.plugins, *given["plugin"])
    named_files = (plan.target, *plan.prompts.values(), *plugins, given["config"] or FILE)
    read = [name for name in named_files if name is not None and Path(name).is_file()]
    outputs.check(data, *read, *options.store_files(place))
    explicit = options.typed_settings(given).keys()
    baseline = _baseline_of(given, place)
    if given["dry_run"]:
        rows = tests.dataset if tests else data
        with outputs.quiet():
            estimated = Evaluation.estimate(rows, plan=plan, explicit=explicit, on_notice=say)
        print_estimate(estimated, Console(highlight=False))
        return 0
    made: Options = {"explicit": explicit, **options.tracing_options(given["otel"])}
    if not given["no_store"]:
        made |= {"store": place or True, "fresh": given["fresh"]}
        made |= {"transcript": not given["no_transcript"], "compared": baseline is not None}
    elif given["fresh"] or given["no_transcript"]:
        raise UsageError("--no-store stores nothing; remove --fresh and --no-transcript")
    return evaluated(tests or data, plan, outputs, baseline, **made)


def _baseline_of(given: Given, place: "str | Path | None") -> Baseline | None:
    """Return the run to compare with, found before the first call; None if none is named."""
    limits = regression_limits(given)
    if given["baseline"] is None:
        if limits:
            raise UsageError("--fail-on-regression: name the run to compare with: --baseline RUN")
        return None
    if given["no_store"]:
        raise UsageError("--baseline: the run is compared with a stored one; remove --no-store")
    with open_store(None if place is None else str(place), reading=True) as store:
        info = store.info(load("store").find_run(store, given["baseline"]))
        return Baseline(store.load(info.id), info.tag or given["baseline"], limits)


def _plan_of_tests(tests: promptfoo.Configuration, at: Path, given: Given, config: Config) -> Plan:
    """Return the plan of promptfoo's tests, and print notes about it.

    The command line takes precedence over the configuration, and that over `ragstone.yaml`.
    Only a target that is named is called.
    """
    requirements, file = tests.requirements, at.name
    options.require_trust(at, requirements.over())
    if given["policy"] == promptfoo.LEGACY and given["preset"] is None:
        requirements = requirements.without_ragas()
    plan = options.plan_of(given, requirements.over(config))
    if plan.columns:
        raise UsageError(
            f"{file} has no columns, so --map cannot be used: promptfoo's assertions read the "
            "vars query and context"
        )
    for name, what in ("sheet", "sheets"), ("header_row", "header"):
        if (value := getattr(plan, name)) is not None:
            raise UsageError(f"{file} has no {what}; remove --{name.replace('_', '-')} {value}")
    if promptfoo.asks_in_text(plan):
        legacy_model(plan)
    modes = {
        promptfoo.LEGACY: "RAGAS mode is off: scored as promptfoo 0.121.20 does",
        RAGAS: "RAGAS mode is on",
    }
    how = modes.get(plan.policy, "scored by ragstone's own rules")
    samples = count(len(tests.dataset.samples), "sample")
    for note in (f"{samples}; {how} (policy {plan.policy})", *requirements.notes):
        say(f"{file}: {note}")
    return plan.model_copy(update={"fallback_target": None})


def evaluated(
    data: str | Path | promptfoo.Configuration,
    plan: Plan,
    outputs: Outputs,
    baseline: Baseline | None = None,
    /,
    **given: Unpack[Options],
) -> int:
    """Evaluate with progress shown, finish, and return the exit code, also when interrupted."""
    tests, interrupted = isinstance(data, promptfoo.Configuration), False
    with outputs.quiet(), progress(Console(stderr=True)) as on_progress:
        made: Options = {"explicit": (), **given, "plan": plan, "reports": outputs.options}
        made |= {"on_progress": on_progress, "on_notice": say}
        try:
            if isinstance(data, promptfoo.Configuration):
                run = promptfoo.evaluate_tests(data.dataset, plan, finish=data.finish, **made)
            else:
                run = Evaluation(data, **made).run_in_thread()
        except RunInterruptedError as stop:
            run, interrupted = stop.run, True
    if isinstance(data, promptfoo.Configuration):
        run = promptfoo.with_failed_tests(run, data)
    store = given.get("store")
    first = _is_first(store)
    code = finish(run, outputs, baseline, first=first, interrupted=interrupted)
    if (run.partial or run.stopped) and run.rows and store:
        run_id = run.manifest.run_id
        name = str(getattr(store, "name", store))  # an open store, or its location
        shown = load("store.errors").display_name(name)
        place = f" --store {shown}" if options.is_store_typed() else ""
        how = "the same command" if tests else f"`ragstone resume{place}`"
        retry = ""
        causes = {cause for scores in run.counts.scores.values() for cause in scores.causes}
        if not tests and causes - {Cause.BUDGET}:
            command = f"ragstone resume {run_id} --retry-failed{place}"
            retry = f"; `{command}` also retries its failed rows"
        say(f"Run {run_id} is stored: {how} continues it{retry}.")
    if run.failed_tests:
        say(run.failed_tests)
        return code or GATE_FAILED
    return code


def _is_first(place: "Store | str | Path | bool | None") -> bool:
    if not isinstance(place, (str, Path)) and place is not True:
        return False
    try:
        with open_store(None if place is True else str(place), reading=True) as store:
            return len(store.runs(limit=2)) == 1
    except UsageError:  # the results count more than a hint beside them
        return False


@click.command(
    name="resume",
    params=[
        click.Argument(["run"], required=False),
        option("--retry-failed", "Retry rows with failed scores.", is_flag=True),
        setting("plugin"),
        *options.CORRECTION,
        *options.RESULTS,
        options.STORE,
        options.OTEL,
    ],
)
def resume(**given: Any) -> None:
    """Resume a stored run: RUN, or the newest unfinished one that can be resumed.

    RUN is an id, the start of an id, a tag, or `last`. Finished rows are not evaluated again.
    Running the original command again also resumes a run; `resume` does not need its options, and
    writes the same reports. The data set is read from its original path, target and prompt files
    from the current folder, and keys from the environment.

    \b
    ragstone resume
    ragstone resume last --retry-failed
    """
    options.load_plugins(*options.config_of().plugins, *given["plugin"])
    with open_store(given["store"]) as store:
        if given["run"]:
            info = store.info(load("store").find_run(store, given["run"]))
            sys.exit(_resume(store, info, given))
        other = ""
        for info in store.runs():
            manifest = info.manifest
            resumable = manifest.source.path is not None and ORIGIN not in manifest.identity
            if info.finished or not resumable or store.unfinished(info.fingerprint) != info.id:
                continue
            try:
                sys.exit(_resume(store, info, given))
            except RunChangedError as error:
                say(f"Skipped: {error}")
                other = "other "
    raise UsageError(
        f"there is no {other}unfinished run of a file that can be resumed; to retry the "
        "failed rows of a finished run, specify it"
    )


def _resume(store: "Store", info: "RunInfo", given: Given) -> int:
    run_id, retries = info.id, given["retry_failed"]
    outputs = outputs_of(given, stored=info.manifest.reports)
    try:
        outputs.check(*options.store_files(given["store"]))
    except UsageError as error:
        raise RunChangedError(
            f"run {run_id}: {error}; its first command named this file, so name another one"
        ) from error
    if info.ranked:
        raise UsageError(
            f"run {run_id} contains the scores of a ranking file and is complete; "
            "evaluate the file again with `ragstone rank`"
        )
    if info.finished and not retries:
        raise UsageError(f"run {run_id} is finished; --retry-failed retries its failed rows")
    if origin := info.manifest.identity.get(ORIGIN):
        raise UsageError(f"run {run_id} was rescored from run {origin}; resume {origin}")
    path = info.manifest.source.path
    plan = options.with_correction(info.manifest, given, store)
    if path is None:
        raise UsageError(
            f"run {run_id} evaluated samples that were passed from Python; resume it from Python"
        )
    target = plan.target or plan.fallback_target or ""
    file = target if Path(target).suffix in FILES else target.rpartition(":")[0]
    files = [file] if "://" not in target and Path(file).suffix in FILES else []
    files += plan.prompts.values()
    outputs.check(path, store.name, *files)
    if info.finished and len(store.done(run_id, retry_failed=True)) == info.rows:
        say(f"run {run_id}: no score failed, so there is nothing to retry")
        return finish(store.load(run_id), outputs)
    if not Path(path).exists():
        raise RunChangedError(
            f"run {run_id} needs the data set {path}, which does not exist; restore it"
        )
    if missing := [name for name in files if not Path(name).is_file()]:
        raise RunChangedError(
            f"run {run_id} needs {', '.join(missing)}, which the current folder "
            "does not contain; change to the folder where the run was started (its data set is in "
            f"{Path(path).absolute().parent})"
        )
    storing: Options = {"store": store, "resume": run_id, "retry_failed": retries}
    storing |= options.tracing_options(given["otel"])
    labels = len(store.labels(run_id))
    code = evaluated(path, plan, outputs, **storing)
    if gone := labels - len(store.labels(run_id)):
        say(f"Note: deleted {count(gone, 'label')} of rows that changed; label them again")
    return code


@click.command(
    name="collect",
    context_settings={"ignore_unknown_options": True},
    params=[
        click.Argument(["data"]),
        click.Argument(["options"], nargs=-1, type=click.UNPROCESSED, metavar="[RUN OPTIONS]..."),
        option(
            "--mode",
            "chat saves answers and their contexts; search saves rankings.",
            choices=["chat", "search"],
            default="chat",
        ),
        option("-k --k", "Number of results to request.", least=1, default=5),
        option("-o --output", "The .jsonl file to write.  [default: in ./responses/]", path="FILE"),
    ],
)
def collect(data: str, options: tuple[str, ...], mode: str, k: int, output: Path | None) -> None:
    """Call the RAG system for every row of DATA and save the rows to judge them later.

    This is `ragstone run --judge offline --rows FILE`, whose other options apply, too: after a
    crash or Ctrl-C the same command goes on with the rows that are missing.

    \b
    ragstone collect questions.xlsx --api-url http://localhost:8000 --delay 7 -o answers.jsonl
    ragstone run answers.jsonl -m faithfulness --model gpt-4o-mini
    """
    check_lines("-o", output)
    now = datetime.now(UTC).astimezone()
    rows = output or Path("responses") / f"{mode}_responses_k{k}_{now:%Y%m%d_%H%M%S}.jsonl"
    metrics = "all_generation" if mode == "chat" else "all_retrieval"
    words = ["--metric", metrics, "--k", str(k), "--judge", "offline", "--no-export"]
    arguments = [data, *options, *words, "--rows", str(rows)]
    names = ["-h", "--help"]  # which click keeps for all contexts of the command
    trusts = click.get_current_context().meta
    with command.make_context("run", arguments, help_option_names=names) as context:
        given = context.params
        context.meta.update(trusts)
        file = given["config"] or FILE
        settings = (read_config(file) if Path(file).is_file() else Config()).settings
        if given["target"] is None and "target" not in settings:
            given["api_url"] = given["api_url"] or DEFAULT_API
        replaces = rows.exists() and rows.resolve() != Path(data).resolve()
        if replaces and not given["fresh"] and not _goes_on(given["store"], data):
            raise UsageError(
                f"{rows} already exists; choose another file with -o, or replace it with --fresh"
            )
        sys.exit(run_evaluation({**given, "collects": True}))


def _goes_on(place: str | None, data: str) -> bool:
    """Whether the last run of DATA is unfinished: the command continues it, and its file."""
    try:
        with open_store(place, reading=True) as store:
            return any(
                not info.finished
                and Path(info.manifest.source.path or "").resolve() == Path(data).resolve()
                for info in store.runs(limit=1)
            )
    except RagstoneError:
        return False
