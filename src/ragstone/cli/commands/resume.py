"""`ragstone resume`: resume a stored run."""

import sys
from pathlib import Path
from typing import Any

import click

from ragstone._internal.plugins import FILES
from ragstone.cli.commands.run import evaluated
from ragstone.cli.options import (
    OTEL,
    PLUGIN,
    RESULTS,
    STORE,
    STORED_CORRECTION,
    Given,
    config_of,
    load_plugins,
    open_store,
    option,
    store_files,
    tracing_of,
    with_correction,
)
from ragstone.cli.output import finish, outputs_of
from ragstone.errors import UsageError
from ragstone.evaluation.recorder import StoreOptions
from ragstone.evaluation.store_recorder import RunChangedError
from ragstone.store import RunInfo, Store, find_run
from ragstone.types.config import ORIGIN

_OPTIONS = (
    click.Argument(["run"], required=False),
    option("--retry-failed", "Retry rows with failed scores.", is_flag=True),
    PLUGIN,
    *STORED_CORRECTION,
    *RESULTS,
    STORE,
    OTEL,
)


@click.command(name="resume", params=list(_OPTIONS))
def command(**given: Any) -> None:
    """Resume a stored run: RUN, or the newest unfinished one that can be resumed.

    RUN is an id, the start of an id, a tag, or `last`. Finished rows are not evaluated again.
    Running the original command again also resumes a run; `resume` does not need its options, and
    writes the same reports. The data set is read from its original path, target and prompt files
    from the current folder, and keys from the environment.

    \b
    ragstone resume
    ragstone resume last --retry-failed
    """
    load_plugins(*config_of().plugins, *given["plugin"])
    with open_store(given["store"]) as store:
        if given["run"]:
            info = store.info(find_run(store, given["run"]))
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
                click.echo(f"Skipped: {error}", err=True)
                other = "other "
    raise UsageError(
        f"there is no {other}unfinished run of a file that can be resumed; to retry the "
        "failed rows of a finished run, specify it"
    )


def _resume(store: Store, info: RunInfo, given: Given) -> int:
    run_id, retries = info.id, given["retry_failed"]
    outputs = outputs_of(given, stored=info.manifest.reports)
    outputs.check(*store_files(given["store"]))
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
    plan = with_correction(info.manifest.plan, given)
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
        click.echo(f"run {run_id}: no score failed, so there is nothing to retry", err=True)
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
    storing: StoreOptions = {"store": store, "resume": run_id, "retry_failed": retries}
    with tracing_of(given["otel"]) as tracing:
        return evaluated(path, plan, outputs=outputs, storing=storing, tracing=tracing)
