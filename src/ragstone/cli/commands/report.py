"""`ragstone report`: write again what a stored run wrote."""

import sys
from typing import Unpack

import click

from ragstone.cli import options as result_options
from ragstone.cli import parse as results
from ragstone.cli.options import STORE
from ragstone.cli.output import conclude
from ragstone.cli.parse import RUN, open_store, read_by
from ragstone.store import find_run


class Given(result_options.Given):
    """What the command line said."""

    run: str
    store: str | None


@click.command(
    name="report", params=[click.Argument(["run"]), *result_options.RESULTS, STORE], epilog=RUN
)
def command(**given: Unpack[Given]) -> None:
    """Write what `ragstone run` writes, of a stored run; with the exit code that it had.

    \b
    ragstone report last
    ragstone report baseline -o baseline.xlsx --rows rows.jsonl
    ragstone report last --no-export --json -
    """
    outputs = results.outputs_of(given)
    with open_store(given["store"]) as store:
        info = store.info(find_run(store, given["run"]))
        outputs.check(*read_by(store, info))
        code = conclude(store.load(info.id), outputs)
    sys.exit(code)
