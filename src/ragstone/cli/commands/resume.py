"""`ragstone resume`: resume a stored run."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Unpack

import click

from ragstone._internal.plugins import FILES
from ragstone.cli.commands.run import evaluated
from ragstone.cli.options import OTEL, PLUGIN, RESULTS, STORE, ResultArgs, load_plugins, store_files
from ragstone.cli.output import Outputs, finish, outputs_of
from ragstone.cli.parse import config_here, open_store, tracing_of
from ragstone.errors import UsageError
from ragstone.evaluation.recorder import RunChangedError, StoreOptions
from ragstone.store import RunInfo, Store, find_run
from ragstone.types.config import ORIGIN, Plan


class ResumeArgs(ResultArgs):
    """The options, as click passes them."""

    run: str | None
    store: str | None
    retry_failed: bool
    plugin: tuple[str, ...]
    otel: bool


_OPTIONS = (
    click.Argument(["run"], required=False),
    click.Option(["--retry-failed"], is_flag=True, help="Retry rows with failed scores."),
    PLUGIN,
    *RESULTS,
    STORE,
    OTEL,
)


@click.command(name="resume", params=list(_OPTIONS))
def command(**given: Unpack[ResumeArgs]) -> None:
    """Resume a stored run: RUN, or the newest unfinished one that can be resumed.

    RUN is an id, the start of an id, a tag, or `last`. Finished rows are not evaluated again.
    Running the original command again also resumes a run; `resume` does not need its options. The
    data set is read from its original path, target and prompt files from the current folder, and
    keys from the environment.

    \b
    ragstone resume
    ragstone resume last --retry-failed
    """
    outputs = outputs_of(given)
    outputs.check(*store_files(given["store"]))
    load_plugins(*config_here().plugins, *given["plugin"])
    with open_store(given["store"]) as store:
        code = _resumed(store, given, outputs)
    sys.exit(code)


def _resumed(store: Store, given: ResumeArgs, outputs: Outputs) -> int:
    if given["run"]:
        return _gone_on(store, store.info(find_run(store, given["run"])), given, outputs)
    passed_over = False
    for info in _unfinished(store):
        try:
            return _gone_on(store, info, given, outputs)
        except RunChangedError as error:
            click.echo(f"Skipped: {error}", err=True)
            passed_over = True
    other = "other " if passed_over else ""
    raise UsageError(
        f"there is no {other}unfinished run of a file that can be resumed; name a run to retry its "
        "failed rows again"
    )


def _unfinished(store: Store) -> Iterator[RunInfo]:
    """Yield the runs to go on with where none is named, newest first."""
    for info in store.runs():
        manifest = info.manifest
        resumable = manifest.source.path is not None and ORIGIN not in manifest.identity
        if not info.finished and resumable and store.unfinished(info.fingerprint) == info.id:
            yield info


def _gone_on(store: Store, info: RunInfo, given: ResumeArgs, outputs: Outputs) -> int:
    """Go on with a run, and return the exit code.

    Raises:
        RunChangedError: it cannot go on, as something is not what it was.
    """
    run_id, retries = info.id, given["retry_failed"]
    if info.ranked:
        raise UsageError(
            f"run {run_id} contains scores of a ranking file, and is complete; "
            "evaluate the file again with `ragstone rank`"
        )
    if info.finished and not retries:
        raise UsageError(f"run {run_id} is finished; --retry-failed retries its failed rows")
    if origin := info.manifest.identity.get(ORIGIN):
        raise UsageError(f"run {run_id} was scored again from run {origin}; resume that one")
    path, plan = info.manifest.source.path, info.manifest.plan
    if path is None:
        raise UsageError(f"run {run_id} has samples from memory; resume it from Python")
    files = _files(plan)
    outputs.check(path, store.name, *files)
    if info.finished and len(store.done(run_id, but_failed=True)) == info.rows:
        click.echo(f"run {run_id}: no score failed, so there is nothing to retry", err=True)
        return finish(store.load(run_id), outputs)
    _check_there(run_id, path, files)
    keeping: StoreOptions = {"store": store, "resume": run_id, "retry_failed": retries}
    with tracing_of(given["otel"]) as tracing:
        return evaluated(path, plan, outputs=outputs, keeping=keeping, tracing=tracing)


def _files(plan: Plan) -> list[str]:
    """Return the files that a plan names, as it names them."""
    target = plan.target or plan.fallback_target or ""
    file = target if Path(target).suffix in FILES else target.rpartition(":")[0]
    named = [file] if "://" not in target and Path(file).suffix in FILES else []
    return [*named, *plan.prompts.values()]


def _check_there(run_id: str, data: str, files: list[str]) -> None:
    """Refuse to go on without a file of the run, and say where it may have been begun.

    Raises:
        RunChangedError: there is none.
    """
    if not Path(data).exists():
        raise RunChangedError(
            f"run {run_id} needs the data set {data}, which does not exist; restore it"
        )
    if missing := [name for name in files if not Path(name).is_file()]:
        raise RunChangedError(
            f"run {run_id} needs {', '.join(missing)}, which the current folder "
            "does not contain; change to the folder where the run was started (its data set is in "
            f"{Path(data).absolute().parent})"
        )
