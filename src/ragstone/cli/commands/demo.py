"""`ragstone demo`: evaluate the demo RAG system, served within this process."""

import asyncio
import sys
from collections.abc import Generator
from contextlib import contextmanager
from threading import Thread
from typing import Unpack

import click

from ragstone.cli.commands.demo_server import RETRIEVER
from ragstone.cli.evaluate import evaluated
from ragstone.cli.options import NO_STORE, RESULTS, STORE, ResultArgs, store_files
from ragstone.cli.output import outputs_of
from ragstone.cli.parse import place_said
from ragstone.demo.questions import DATASET
from ragstone.demo.server import running
from ragstone.demo.service import make_service
from ragstone.evaluation.recorder import StoreOptions
from ragstone.types.config import Plan

_INTRODUCTION = """\
The demo RAG system answers questions about a fictional phone; some of its answers
contain an injected error, which faithfulness should find.
"""


class DemoArgs(ResultArgs):
    """The options, as click passes them."""

    k: int
    limit: int | None
    retriever: str
    store: str | None
    no_store: bool


_OPTIONS = (
    click.Option(
        ["-k", "--k"],
        type=click.IntRange(1),
        default=5,
        show_default=True,
        help="Number of top results to score.",
    ),
    click.Option(["--limit"], type=click.IntRange(1), help="Use only the first questions."),
    RETRIEVER,
    *RESULTS,
    STORE,
    NO_STORE,
)


@click.command(name="demo", params=list(_OPTIONS))
def command(**given: Unpack[DemoArgs]) -> None:
    """Evaluate the demo RAG system; needs no key and no server.

    Starts a small RAG system over the manuals of a fictional phone, sends it the questions of
    qr_smartphone_dataset.xlsx, and scores the answers with every metric that needs no LLM.

    \b
    ragstone demo --html demo.html
    ragstone demo --retriever worse        # then: ragstone runs, ragstone compare, ragstone view
    """
    outputs = outputs_of(given)
    outputs.check(*store_files(given["store"]))
    click.echo(_INTRODUCTION, err=outputs.data_on_stdout)
    place_said(given["store"], no_store=given["no_store"])
    keeping: StoreOptions = {} if given["no_store"] else {"store": given["store"] or True}
    with _served(given["retriever"]) as url:
        plan = Plan(k=given["k"], limit=given["limit"], target=url)
        code = evaluated(DATASET, plan, outputs=outputs, keeping=keeping)
    sys.exit(code)


@contextmanager
def _served(retriever: str) -> Generator[str, None, None]:
    """Serve the demo from a thread of its own while the block lasts; gives its URL."""
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_forever, name="ragstone demo", daemon=True)
    thread.start()
    server = running(make_service(retriever))
    try:
        yield asyncio.run_coroutine_threadsafe(server.__aenter__(), loop).result()
    finally:
        closing = server.__aexit__(None, None, None)
        asyncio.run_coroutine_threadsafe(closing, loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
