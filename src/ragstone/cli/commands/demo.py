"""`ragstone demo` and `demo-server`: evaluate the demo RAG system, or serve it."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from ragstone._internal.concurrency import BackgroundLoop
from ragstone.cli.commands.run import evaluated
from ragstone.cli.options import NO_STORE, RESULTS, STORE, option, store_files, store_option_value
from ragstone.cli.output import outputs_of
from ragstone.demo.questions import DATASET, write_manuals
from ragstone.demo.server import Variant, make_service, running, serve
from ragstone.evaluation.recorder import StoreOptions
from ragstone.targets.factory import get_target
from ragstone.types.config import Plan

_INTRODUCTION = """\
The demo RAG system answers questions about a fictional phone; some of its answers
contain an injected error, which faithfulness should find.
"""


_RETRIEVER = option(
    "--retriever",
    "`worse` finds fewer relevant documents, for comparisons.",
    choices=[str(variant) for variant in Variant],
    default="good",
)
_OPTIONS = (
    option("-k --k", "Number of top results to score.", least=1, default=5),
    option("--limit", "Use only this many questions.", least=1),
    _RETRIEVER,
    *RESULTS,
    STORE,
    NO_STORE,
)


@click.command(name="demo", params=list(_OPTIONS))
def command(**given: Any) -> None:
    """Evaluate the demo RAG system; no key or server needed.

    Starts a small RAG system over the manuals of a fictional phone, sends it the questions in
    qr_smartphone_dataset.xlsx, and scores the answers with every metric that needs no LLM.

    \b
    ragstone demo --html demo.html
    ragstone demo --retriever worse        # then: ragstone runs, ragstone compare, ragstone view
    """
    outputs = outputs_of(given)
    outputs.check(*store_files(given["store"]))
    click.echo(_INTRODUCTION, err=outputs.data_on_stdout)
    store_option_value(given["store"], no_store=given["no_store"])
    storing: StoreOptions = {} if given["no_store"] else {"store": given["store"] or True}
    with _served(given["retriever"]) as url:
        plan = Plan(k=given["k"], limit=given["limit"], target=url)
        target = get_target(url, plan, k=max(plan.cutoffs))
        target.name = f"demo, {given['retriever']} retriever"  # the port is another each time
        code = evaluated(DATASET, plan, outputs=outputs, storing=storing, target=target)
    sys.exit(code)


@contextmanager
def _served(retriever: str) -> Generator[str, None, None]:
    """Serve the demo from a thread of its own while the block lasts; gives its URL."""
    loop = BackgroundLoop()
    server = running(make_service(retriever))
    try:
        yield loop.call(server.__aenter__())
    finally:
        loop.call(server.__aexit__(None, None, None))
        loop.close()


@click.command(
    name="demo-server",
    params=[
        _RETRIEVER,
        option("--host", "Address to listen on.", default="127.0.0.1"),
        option("--port", "0 picks a free port.", type=click.IntRange(0, 65535), default=8000),
        option(
            "--noise",
            "Maximum random change to a similarity score.",
            type=click.FloatRange(0, 1),
            default=0.0,
        ),
        option("--seed", "Random seed for --noise.", type=int, default=0),
        option("--manuals", "Also write the manuals as Markdown files.", path="FOLDER"),
    ],
)
def server_command(
    host: str, port: int, retriever: str, noise: float, seed: int, manuals: Path | None
) -> None:
    """Serve the demo RAG system over HTTP.

    A small RAG service over the manuals of a fictional phone, with some injected errors.

    \b
    ragstone demo-server --port 8000 --manuals manuals
    ragstone run --metric all --k 5                  in another terminal
    """

    def print_url(url: str) -> None:
        click.echo(f"The demo RAG system answers at {url} (Ctrl-C stops it).")
        click.echo(f"Evaluate it from another terminal: ragstone run --api-url {url}")

    if manuals is not None:
        write_manuals(manuals)
        click.echo(f"The manuals are in {manuals}.")
    service = make_service(retriever, noise=noise, seed=seed)
    serve(service, host=host, port=port, ready=print_url)
