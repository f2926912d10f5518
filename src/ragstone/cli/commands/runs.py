"""`ragstone runs`: list, show, rescore, tag, delete, export and import stored runs."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from ragstone.cli import options, output, silent_pipes
from ragstone.cli.options import option, setting
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import metric_names
from ragstone.evaluation.rescore import TranscriptMissingError, rescore, save
from ragstone.reports.terminal import print_info, print_runs, run_entry
from ragstone.store import runs as stored
from ragstone.types.gate import FLAGS, gate
from ragstone.types.policy import POLICIES


class _Runs(click.Group):
    """Lists the runs if no command is named, as in `ragstone runs --limit 5`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(name="runs", cls=_Runs)
def command() -> None:
    """List the stored runs; show, rescore, tag, delete, export or import them.

    Without a command, it lists them, newest first. RUN is an id, the start of an id, a tag, or
    `last`.

    \b
    ragstone runs --limit 5
    ragstone runs show last
    ragstone runs tag last baseline
    ragstone runs delete --older-than 30d
    """


@command.command(
    name="list",
    params=[
        option("--limit", "Number of runs to list.", least=1, default=20),
        options.JSON_FILE,
        options.STORE,
    ],
)
def list_(limit: int, file: Path | None, store: str | None) -> None:
    """List the runs, newest first, with their data, progress and scores."""
    with options.open_store(store, reading=True) as opened:
        found = opened.runs(limit=limit + 1)
        infos = [stored.summarize(opened, info) for info in found[:limit]]
        output.check_files(json=file, inputs=options.read_by(opened, *infos))
        busy = stored.running_runs(opened)
    if file is not None:
        output.write_document(file, [run_entry(info) for info in infos])
        return
    if not infos:
        click.echo(f"There are no runs in {opened.name} yet; `ragstone run` stores one.")
        return
    with silent_pipes():
        print_runs(infos, Console(highlight=False), in_progress=busy)
        if len(found) > limit:
            click.echo(f"Showing the newest {limit}; use --limit to show more.")


@options.run_command(command, "show", *options.CORRECTION, *options.STORED_RESULTS)
def show(**given: Any) -> None:
    """Print the settings and results of a run, and write reports of it.

    The exit code is that of the run.

    \b
    ragstone runs show last
    ragstone runs show baseline -o baseline.xlsx --rows rows.jsonl
    ragstone runs show last --json -
    ragstone runs show last --calibration support --gates-on corrected
    """
    outputs = output.outputs_of(given, export=given["output"] is not None)
    with options.open_run(given["store"], given["run"]) as (store, info):
        outputs.check(*options.read_by(store, info))
        run = store.load(info.id)
        run = run.with_plan(options.with_correction(run.manifest, given, store))
        with silent_pipes():
            print_info(info, outputs.console)
        sys.exit(output.finish(run, outputs))


@options.run_command(
    command,
    "rescore",
    option(
        "--policy --policies policies",
        f"How verdicts become a number: {', '.join(POLICIES)}; several "
        "are compared, and `all` means every policy.  [default: the run's]",
        multiple=True,
        metavar="NAME",
    ),
    option(
        "-m --metric metrics",
        "Metrics or groups to score.  [default: the run's]",
        multiple=True,
        metavar="TEXT",
    ),
    setting("plugin"),
    option("--save keep", "Store the result as a new run.", is_flag=True),
    *(each for each in options.GATES if each.name in FLAGS),
    *options.STORED_RESULTS,
    epilog="Exit codes are the same as for run. Only the gates given here are applied, not those "
    "of the stored run.",
)
def rescore_(**given: Any) -> None:
    """Score a stored run again using the stored replies of its judge; no calls are made.

    Choose other policies, or other metrics whose questions the judge has already answered.

    \b
    ragstone runs rescore last --policy all
    ragstone runs rescore last --policy ragas --save
    ragstone runs rescore baseline -m hit@10 ndcg@10
    """
    outputs = output.outputs_of(given, export=given["output"] is not None)
    options.load_plugins(*options.config_of().plugins, *given["plugin"])
    reading = not given["keep"]
    with options.open_run(given["store"], given["run"], reading=reading) as (store, info):
        outputs.check(*options.read_by(store, info))
        gates = [gate(text, *demand) for name, demand in FLAGS.items() for text in given[name]]
        policies = [name.strip() for text in given["policies"] for name in text.split(",")]
        if not all(policies):
            raise UsageError(
                "--policy: a name is empty; specify one policy, several separated by commas, or "
                "`all`"
            )
        with outputs.quiet(), output.progress(Console(stderr=True)) as on_row:
            run = rescore(
                store.load(info.id),
                metric_names(given["metrics"]),
                policies=list(dict.fromkeys(POLICIES if "all" in policies else policies)),
                gates=gates,
                on_row=on_row,
            )
        if not info.transcript and run.manifest.judge is not None:
            # all of its questions had failed, so no reply is stored
            raise TranscriptMissingError(info.id)
        if given["keep"]:
            save(run, store, transcript=info.transcript)
            outputs.console.print(f"stored as run {run.manifest.run_id}", markup=False)
        sys.exit(output.finish(run, outputs))


@options.run_command(
    command,
    "tag",
    click.Argument(["name"], required=False),
    option("--remove", "Remove the run's tag.", is_flag=True),
)
def tag_(run: str, name: str | None, remove: bool, store: str | None) -> None:
    """Tag a run. RUN's earlier tag is replaced, and another run that has this tag loses it."""
    if remove == (name is not None):
        raise UsageError("specify either a tag, or --remove")
    with options.open_store(store) as opened:
        run_id = stored.find_run(opened, run)
        if name is None:
            stored.untag(opened, run_id)
            click.echo(f"Untagged run {run_id}")
            return
        before = stored.tag(opened, run_id, name)
    moved = f" (moved from run {before.run})" if before.run else ""
    replaced = f"; its tag {before.tag} was removed" if before.tag else ""
    click.echo(f"Tagged run {run_id} as {name}{moved}{replaced}")


@command.command(
    name="delete",
    params=[
        click.Argument(["runs"], nargs=-1, metavar="RUN..."),
        option(
            "--older-than",
            "Delete all runs of this age, except tagged ones: 12h, 30d or 8w.",
            metavar="AGE",
        ),
        option("--yes", "Do not ask for confirmation.", is_flag=True),
        options.STORE,
    ],
    epilog=options.RUN,
)
def delete_(runs: tuple[str, ...], older_than: str | None, yes: bool, store: str | None) -> None:
    """Delete runs and all their rows, except runs in progress."""
    if bool(runs) == (older_than is not None):
        raise UsageError("specify either runs, or --older-than AGE")
    if older_than is None:
        with options.open_store(store) as opened:
            run_ids = list(dict.fromkeys(stored.find_run(opened, name) for name in runs))
            if yes or _confirmed(run_ids):
                for run_id in run_ids:
                    stored.delete(opened, run_id)
                    click.echo(f"deleted {run_id}")
        return
    age = re.fullmatch(r"(\d{1,5})\s*([hdw])", older_than.strip())
    if age is None:
        raise UsageError(
            f"--older-than {older_than}: write hours, days or weeks, such as 12h, 30d or 8w"
        )
    hours = {"h": 1, "d": 24, "w": 7 * 24}[age[2]]
    before = datetime.now(UTC) - timedelta(hours=int(age[1]) * hours)
    with options.open_store(store) as opened:
        if not yes:
            busy = stored.running_runs(opened)
            ids = [each for each in stored.old_runs(opened, before=before) if each not in busy]
            if ids and not _confirmed(ids):
                return
        deleted = stored.prune(opened, before=before)
    for run_id in deleted:
        click.echo(f"deleted {run_id}")
    if not deleted:
        click.echo(f"no untagged run was started before {before.astimezone():%Y-%m-%d %H:%M}")


@options.run_command(command, "export", options.file_argument())
def export_(run: str, file: Path, store: str | None) -> None:
    """Export a run to one file: a store with this run, to be imported elsewhere."""
    with options.open_run(store, run) as (opened, info):
        output.check_files(file, inputs=options.read_by(opened, info))
        stored.export(opened, info.id, file)
    click.echo(f"wrote {file}: run {info.id}")


@command.command(
    name="import",
    params=[
        options.file_argument(),
        option("--tag", "Tag the run; another run that has this tag loses it.", metavar="NAME"),
        options.STORE,
    ],
)
def import__(file: Path, tag: str | None, store: str | None) -> None:
    """Import an exported run; it keeps its id."""
    stored.check_export(file)
    with options.open_store(store, make=True) as opened:
        run_id = stored.import_(opened, file)
        if tag:
            stored.tag(opened, run_id, tag)
        click.echo(f"imported run {run_id} into {opened.name}" + (f" as {tag}" if tag else ""))


def _confirmed(run_ids: list[str]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError(
            f"cannot ask to confirm without a terminal; add --yes to delete {', '.join(run_ids)}"
        )
    for run_id in run_ids:
        click.echo(run_id)
    what = "this run" if len(run_ids) == 1 else f"these {len(run_ids)} runs"
    if click.confirm(f"Delete {what}? (--yes skips this question)"):
        return True
    click.echo("nothing was deleted")
    return False
