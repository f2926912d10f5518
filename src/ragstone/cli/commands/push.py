"""`ragstone push`: send the scores of a stored run to the traces they came from."""

import asyncio
import os
import sys

import click

from ragstone._internal.text import count, public_url
from ragstone.cli import TOO_MUCH_FAILED
from ragstone.cli.options import RUN, STORE, open_store, option
from ragstone.errors import UsageError
from ragstone.integrations.push import PLATFORMS, Pushed, push, traced_scores
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
    platform = PLATFORMS[to](os.environ)
    with open_store(store, reading=True) as opened:
        loaded = opened.load(find_run(opened, run))
        if dry_run:
            counts = Pushed()
            counts.sent = sum(1 for _ in traced_scores(loaded, platform, counts, tag=trace_tag))
        else:
            counts = asyncio.run(push(loaded, platform, tag=trace_tag))
        if counts.untraced == len(loaded.rows):
            names = dict.fromkeys(name for row in loaded.rows for name in row.sample.tags)
            seen = f"no row has the tag {trace_tag!r}" if trace_tag else "no row names its trace"
            fix = f"name a tag with --trace-tag (tags: {', '.join(names) or 'none'})"
            raise UsageError(f"{seen}, so nothing was sent; {fix}")
    sent = "would be sent" if dry_run else "sent"
    place = public_url(platform.url)
    click.echo(f"{count(counts.sent, 'score')} {sent} to {platform.title} ({place})")
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
