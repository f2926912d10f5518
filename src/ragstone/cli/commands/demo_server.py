"""`ragstone demo-server`: serve the demo RAG system over HTTP."""

import click

from ragstone.demo.retriever import Variant
from ragstone.demo.server import serve
from ragstone.demo.service import make_service

RETRIEVER = click.Option(
    ["--retriever"],
    type=click.Choice([str(variant) for variant in Variant]),
    default="good",
    show_default=True,
    help="`worse` finds fewer relevant documents, for comparisons.",
)


@click.command(name="demo-server", params=[RETRIEVER])
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="0 picks a free port.",
)
@click.option(
    "--noise",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Maximum random change of a similarity.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Random seed for --noise.")
def command(host: str, port: int, retriever: str, noise: float, seed: int) -> None:
    """Serve the demo RAG system over HTTP.

    A small RAG service over the manuals of a fictional phone, with some injected errors.

    \b
    ragstone demo-server --port 8000
    ragstone run --metric all --k 5                  in another terminal
    """
    service = make_service(retriever, noise=noise, seed=seed)
    serve(service, host=host, port=port, ready=_say)


def _say(url: str) -> None:
    click.echo(f"The demo RAG system answers at {url} (Ctrl-C stops it).")
    click.echo(f"Evaluate it from another terminal: ragstone run --api-url {url}")
