"""`ragstone push`: send the scores of a stored run to the traces they came from."""

import asyncio
import os
import sys

import click

from ragstone._internal.text import count
from ragstone.cli import TOO_MUCH_FAILED
from ragstone.cli.options import STORE, option
from ragstone.cli.parse import RUN, open_store
from ragstone.errors import UsageError
from ragstone.integrations.push import PLATFORMS, Pushed, place_of, push, traced_scores
from ragstone.results.run import Run
from ragstone.store import find_run


@click.command(
    name="push",
    params=[
        click.Argument(["run"]),
        option("--to", "Where the traces are.", choices=PLATFORMS, required=True),
        option(
            "--trace-tag",
            "The tag with the id of a row's trace.  [default: trace_id and similar, or the row's "
            "id if it is that of a trace]",
            metavar="TAG",
        ),
        option("--dry-run", "Count the scores, and send nothing.", is_flag=True),
        STORE,
    ],
    epilog=f"{RUN}\n\nExit codes: 0 all were accepted; 2 usage error; 3 some were refused.",
)
def command(run: str, to: str, trace_tag: str | None, dry_run: bool, store: str | None) -> None:
    """Send the scores of a stored run to the traces that its rows came from.

    Failed and undefined scores are not sent, because they are not numbers. A second push of the
    same run replaces its scores. Keys are read from the environment variables that the platforms
    use themselves: LANGFUSE_PUBLIC_KEY and LANGFUSE_SECRET_KEY, PHOENIX_API_KEY, LANGSMITH_API_KEY.

    \b
    ragstone run otlp.jsonl -m faithfulness
    ragstone push last --to phoenix --dry-run
    ragstone push last --to phoenix
    """
    kind = PLATFORMS[to]
    platform = kind(os.environ, needs_key=not dry_run)
    with open_store(store, reading=True) as opened:
        loaded = opened.load(find_run(opened, run))
        if dry_run:
            counts = Pushed()
            counts.sent = sum(1 for _ in traced_scores(loaded, kind, counts, tag=trace_tag))
        else:
            counts = asyncio.run(push(loaded, platform, tag=trace_tag))
    if counts.untraced and counts.untraced == len(loaded.rows):
        raise UsageError(_no_traces(loaded, kind.title, trace_tag))
    sent = "would be sent" if dry_run else "sent"
    click.echo(f"{count(counts.sent, 'score')} {sent} to {kind.title} ({place_of(platform)})")
    for state, number in sorted(counts.unscored.items()):
        click.echo(f"  {number:,} {state}: not sent")
    if counts.untraced:
        click.echo(f"  {count(counts.untraced, 'row')} without the id of a trace: not sent")
    for reason, number in counts.refused.most_common(5):
        click.echo(f"  {number:,} refused: {reason}", err=True)
    if counts.stopped:
        fix = "run the same command to send all again"
        click.echo(f"Stopped: {counts.stopped}; {fix}", err=True)
    sys.exit(TOO_MUCH_FAILED if counts.refused or counts.stopped else 0)


def _no_traces(run: Run, title: str, tag: str | None) -> str:
    tags = ", ".join(dict.fromkeys(name for row in run.rows for name in row.sample.tags)) or "none"
    seen = f"no row has the tag {tag!r}" if tag else "no row names its trace"
    return f"{seen}, so nothing was sent to {title}; name a tag with --trace-tag (tags: {tags})"
