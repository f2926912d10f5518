"""`ragstone demo`: evaluate the demo RAG system, served within this process."""

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import click

from ragstone.cli.outcome import Outputs
from ragstone.cli.run import evaluated
from ragstone.demo.dataset import DATASET
from ragstone.demo.server import running
from ragstone.demo.service import make_service
from ragstone.plan import Plan


@click.command(name="demo")
@click.option(
    "-k",
    "--k",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Top results to consider.",
)
@click.option("--limit", type=click.IntRange(1), help="Only the first questions.")
@click.option("-v", "--verbose", is_flag=True, help="Print each question's results.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The workbooks' path; _retrieval and _generation are added to its name.",
)
@click.option("--no-export", is_flag=True, help="Write no workbooks.")
def command(k: int, limit: int | None, verbose: bool, output: Path | None, no_export: bool) -> None:
    """Evaluate the demo RAG system: no key, nothing to start.

    Serves a small RAG system over the manuals of a made-up phone, asks it the questions of
    qr_smartphone_dataset.xlsx, and scores what comes back with every metric that needs no LLM.
    """
    outputs = Outputs(workbook=output, export=not no_export, verbose=verbose)
    outputs.check()
    click.echo("The demo RAG system answers questions about a made-up phone; some of its answers")
    click.echo("have an error planted in them, which faithfulness should find.\n")
    with _served() as url:
        code = evaluated(DATASET, Plan(k=k, limit=limit, target=url), outputs=outputs, keeping={})
    sys.exit(code)


@contextmanager
def _served() -> Generator[str, None, None]:
    """Serve the demo from a thread of its own while the block lasts; gives its URL."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="ragstone demo", daemon=True)
    thread.start()
    server = running(make_service("good"))
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    finally:
        closing = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(closing, loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
