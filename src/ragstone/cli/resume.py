"""`ragstone resume`: go on with a stored run."""

import sys
from pathlib import Path
from typing import TypedDict, Unpack

import click

from ragstone.cli.options import STORE
from ragstone.cli.outcome import Outputs
from ragstone.cli.run import evaluated
from ragstone.cli.stored import open_store
from ragstone.errors import UsageError
from ragstone.metrics import load_plugin
from ragstone.store import Store, find

_PATH = click.Path(path_type=Path)


class Given(TypedDict):
    """What the command line said."""

    run: str | None
    store: str | None
    retry_failed: bool
    plugin: tuple[str, ...]
    verbose: bool
    output: Path | None
    no_export: bool
    json: Path | None
    rows: Path | None


_OPTIONS = (
    click.Argument(["run"], required=False),
    click.Option(
        ["--retry-failed"], is_flag=True, help="Do the rows again of which a score failed."
    ),
    click.Option(["--plugin"], multiple=True, metavar="MODULE|FILE", help="As the run was given."),
    click.Option(["-v", "--verbose"], is_flag=True, help="Print each query's results."),
    click.Option(["-o", "--output"], type=_PATH, help="The workbook to write."),
    click.Option(["--no-export"], is_flag=True, help="Write no workbooks."),
    click.Option(["--json"], type=_PATH, help="Write the summary as JSON."),
    click.Option(["--rows"], type=_PATH, help="Write each row as a line of JSON."),
    STORE,
)


@click.command(name="resume", params=list(_OPTIONS))
def command(**given: Unpack[Given]) -> None:
    """Go on with a stored run: the newest unfinished one, or RUN.

    RUN is an id, the beginning of one, a tag, or `last`. What was finished stays. The same command
    that began a run goes on with it too; this one needs neither its options nor its config file.
    Keys come from the environment.

    \b
    ragstone resume
    ragstone resume last --retry-failed
    """
    outputs = Outputs(
        workbook=given["output"],
        export=not given["no_export"],
        json=given["json"],
        rows=given["rows"],
        verbose=given["verbose"],
    )
    outputs.check()
    for name in given["plugin"]:
        load_plugin(name)
    with open_store(given["store"]) as store:
        code = _resumed(store, given, outputs)
    sys.exit(code)


def _resumed(store: Store, given: Given, outputs: Outputs) -> int:
    run_id = find(store, given["run"]) if given["run"] else _newest_unfinished(store)
    info = store.info(run_id)
    if info.finished and not given["retry_failed"]:
        raise UsageError(f"run {run_id} is finished; --retry-failed does its failed rows again")
    path = info.manifest.source.path
    if path is None:
        raise UsageError(f"run {run_id} is of samples in memory; go on with it from Python")
    outputs.check(path, store.name)
    return evaluated(
        path,
        info.manifest.plan,
        outputs=outputs,
        keeping={"store": store, "resume": run_id, "retry_failed": given["retry_failed"]},
    )


def _newest_unfinished(store: Store) -> str:
    for info in store.runs():
        if not info.finished:
            return info.id
    raise UsageError("there is no unfinished run; name one to do its failed rows again")
