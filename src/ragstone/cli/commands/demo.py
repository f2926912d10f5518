"""`ragstone demo`: evaluate the demo RAG system, or serve it."""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import click

from ragstone._internal.concurrency import BackgroundLoop
from ragstone.cli import options, say
from ragstone.cli.commands.run import evaluated
from ragstone.cli.options import Given, option
from ragstone.cli.output import outputs_of
from ragstone.demo.questions import DATASET, write_manuals
from ragstone.demo.server import Service, Variant, make_service, running, serve
from ragstone.errors import UsageError
from ragstone.targets.factory import get_target
from ragstone.types.config import Plan


@click.command(
    name="demo",
    params=[
        option("-k --k", "Number of top results to score.", least=1, default=5),
        option("--limit", "Use only this many questions.", least=1),
        option(
            "--retriever",
            "`worse` finds fewer relevant documents, for comparisons.",
            choices=[str(variant) for variant in Variant],
            default="good",
        ),
        option("--serve", "Serve the system over HTTP instead, until Ctrl-C.", is_flag=True),
        option("--host", "Address to listen on.  [default: 127.0.0.1]"),
        option("--port", "0 picks a free port.  [default: 8000]", type=click.IntRange(0, 65535)),
        option("--manuals", "With --serve: write the manuals as Markdown files.", path="FOLDER"),
        *options.RESULTS,
        options.STORE,
        options.NO_STORE,
    ],
)
def command(**given: Any) -> None:
    """Evaluate the demo RAG system, or serve it; no key or server needed.

    Starts a small RAG system over the manuals of a fictional phone, with some injected errors,
    sends it the questions in qr_smartphone_dataset.xlsx, and scores the answers with every metric
    that needs no LLM.

    \b
    ragstone demo --html demo.html
    ragstone demo --retriever worse        # then: ragstone runs, ragstone compare, ragstone view
    ragstone demo --serve --port 8000      # then, in another terminal: ragstone run --metric all
    """
    service = make_service(given["retriever"])
    if given["serve"]:
        return _serve(service, given)
    served = [name for name in ("host", "port", "manuals") if given[name] is not None]
    if served:
        raise UsageError(f"{', '.join(f'--{name}' for name in served)}: only with --serve")
    outputs = outputs_of(given)
    outputs.check(*options.store_files(given["store"]))
    say("Some answers of this demo contain an injected error, which faithfulness should find.")
    options.store_option_value(given)
    store = None if given["no_store"] else given["store"] or True
    with _served(service) as url:
        plan = Plan(k=given["k"], limit=given["limit"], target=url)
        target = get_target(url, plan, k=max(plan.cutoffs))
        target.name = f"demo, {given['retriever']} retriever"  # the port is another each time
        code = evaluated(DATASET, plan, outputs, store=store, target=target)
    sys.exit(code)


@contextmanager
def _served(service: Service) -> Generator[str, None, None]:
    loop = BackgroundLoop()
    server = running(service)
    try:
        yield loop.call(server.__aenter__())
    finally:
        loop.call(server.__aexit__(None, None, None))
        loop.close()


def _serve(service: Service, given: Given) -> None:
    def print_url(url: str) -> None:
        click.echo(f"The demo RAG system answers at {url} (Ctrl-C stops it).")
        click.echo(f"Evaluate it from another terminal: ragstone run --api-url {url}")

    if given["manuals"] is not None:
        write_manuals(given["manuals"])
        click.echo(f"The manuals are in {given['manuals']}.")
    port = 8000 if given["port"] is None else given["port"]
    serve(service, host=given["host"] or "127.0.0.1", port=port, ready=print_url)
