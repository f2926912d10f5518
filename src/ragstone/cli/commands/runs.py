"""`ragstone runs`: list the stored runs, look at one, tag, delete, export and import them."""

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
from rich.console import Console

from ragstone.cli import silent_pipes
from ragstone.cli.options import STORE, json_file, option
from ragstone.cli.output import check_extension, check_files, write_document
from ragstone.cli.parse import RUN, open_store, read_by
from ragstone.errors import UsageError
from ragstone.reports.runs_table import print_info, print_runs, run_entry
from ragstone.reports.tables import STDOUT
from ragstone.reports.terminal import print_run
from ragstone.store import (
    delete,
    export,
    find_run,
    import_,
    old_runs,
    prune,
    running_runs,
    untag,
)
from ragstone.store import tag as set_tag
from ragstone.store.runs import check_export, summarize

_AGE = re.compile(r"(\d{1,5})\s*([hdw])")
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_YES = option("--yes", "Do not ask for confirmation.", is_flag=True)


class _Runs(click.Group):
    """Lists the runs if no command is named, as in `ragstone runs --limit 5`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group(name="runs", cls=_Runs)
def command() -> None:
    """List the stored runs; show, tag, delete, export or import them.

    Without a command, it lists them, newest first. RUN is an id, the start of an id, a tag, or
    `last`.

    \b
    ragstone runs --limit 5
    ragstone runs show last
    ragstone runs tag last baseline
    ragstone runs prune --older-than 30d
    """


@command.command(
    name="list",
    params=[
        option("--limit", "Number of runs to list.", least=1, default=20),
        json_file("list"),
        STORE,
    ],
)
def list_(limit: int, file: Path | None, store: str | None) -> None:
    """List the runs, newest first, with their data, progress and scores."""
    with open_store(store, reading=True) as opened:
        found = opened.runs(limit=limit + 1)
        infos = [summarize(opened, info) for info in found[:limit]]
        check_files(file, inputs=read_by(opened, *infos))
        check_extension("json", file or STDOUT)
        busy = running_runs(opened)
    if file is not None:
        write_document(file, [run_entry(info) for info in infos])
        return
    if not infos:
        click.echo(f"There are no runs in {opened.name} yet; `ragstone run` stores one.")
        return
    with silent_pipes():
        print_runs(infos, Console(highlight=False), in_progress=busy)
        if len(found) > limit:
            click.echo(f"Showing the newest {limit}; use --limit to show more.")


@command.command(name="show", params=[click.Argument(["run"]), STORE], epilog=RUN)
def show(run: str, store: str | None) -> None:
    """Print the settings and results of a run."""
    with open_store(store, reading=True) as opened, silent_pipes():
        run_id = find_run(opened, run)
        console = Console(highlight=False)
        print_info(opened.info(run_id), console)
        print_run(opened.load(run_id), console)


@command.command(
    name="tag", params=[click.Argument(["run"]), click.Argument(["name"]), STORE], epilog=RUN
)
def tag_(run: str, name: str, store: str | None) -> None:
    """Tag a run. RUN's earlier tag is replaced, and another run that has this tag loses it."""
    with open_store(store) as opened:
        run_id = find_run(opened, run)
        before = set_tag(opened, run_id, name)
    moved = f" (moved from run {before.run})" if before.run else ""
    replaced = f"; its tag {before.tag} was removed" if before.tag else ""
    click.echo(f"Tagged run {run_id} as {name}{moved}{replaced}")


@command.command(name="untag", params=[click.Argument(["run"]), STORE], epilog=RUN)
def untag_(run: str, store: str | None) -> None:
    """Remove a run's tag."""
    with open_store(store) as opened:
        run_id = find_run(opened, run)
        untag(opened, run_id)
    click.echo(f"Untagged run {run_id}")


@command.command(
    name="delete",
    params=[click.Argument(["runs"], nargs=-1, required=True, metavar="RUN..."), _YES, STORE],
    epilog=RUN,
)
def delete_(runs: tuple[str, ...], yes: bool, store: str | None) -> None:
    """Delete runs and all their rows, except runs in progress."""
    with open_store(store) as opened:
        run_ids = list(dict.fromkeys(find_run(opened, name) for name in runs))
        if not yes and not _confirmed(run_ids):
            return
        for run_id in run_ids:
            delete(opened, run_id)
            click.echo(f"deleted {run_id}")


@command.command(
    name="prune",
    params=[
        option("--older-than", "Minimum age: 12h, 30d or 8w.", required=True, metavar="AGE"),
        _YES,
        STORE,
    ],
)
def prune_(older_than: str, yes: bool, store: str | None) -> None:
    """Delete old runs, except tagged runs and runs in progress."""
    age = _AGE.fullmatch(older_than.strip())
    if age is None:
        raise UsageError(
            f"--older-than {older_than}: write hours, days or weeks, such as 12h, 30d or 8w"
        )
    before = datetime.now(UTC) - timedelta(hours=int(age[1]) * _HOURS[age[2]])
    with open_store(store) as opened:
        if not yes:
            busy = running_runs(opened)
            ids = [each for each in old_runs(opened, before=before) if each not in busy]
            if ids and not _confirmed(ids):
                return
        deleted = prune(opened, before=before)
    for run_id in deleted:
        click.echo(f"deleted {run_id}")
    if not deleted:
        click.echo(f"no untagged run was started before {before.astimezone():%Y-%m-%d %H:%M}")


@command.command(
    name="export",
    params=[
        click.Argument(["run"]),
        click.Argument(["file"], type=click.Path(path_type=Path)),
        STORE,
    ],
    epilog=RUN,
)
def export_(run: str, file: Path, store: str | None) -> None:
    """Export a run to one file: a store with this run, to be imported elsewhere."""
    with open_store(store, reading=True) as opened:
        info = opened.info(find_run(opened, run))
        check_files(file, inputs=read_by(opened, info))
        export(opened, info.id, file)
    click.echo(f"wrote {file}: run {info.id}")


@command.command(
    name="import",
    params=[
        click.Argument(["file"], type=click.Path(path_type=Path)),
        option("--tag", "Tag the run; another run that has this tag loses it.", metavar="NAME"),
        STORE,
    ],
)
def import__(file: Path, tag: str | None, store: str | None) -> None:
    """Import an exported run; it keeps its id."""
    check_export(file)
    with open_store(store, make=True) as opened:
        run_id = import_(opened, file)
        if tag:
            set_tag(opened, run_id, tag)
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
