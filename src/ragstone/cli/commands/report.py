"""`ragstone report`: write again what a stored run wrote."""

import sys
from typing import Unpack

import click

from ragstone.cli.options import RESULTS, STORE, ResultArgs
from ragstone.cli.output import finish, outputs_of
from ragstone.cli.parse import RUN, open_store, read_by
from ragstone.store import find_run


class ReportArgs(ResultArgs):
    """The options, as click passes them."""

    run: str
    store: str | None


@click.command(name="report", params=[click.Argument(["run"]), *RESULTS, STORE], epilog=RUN)
def command(**given: Unpack[ReportArgs]) -> None:
    """Write the reports of a stored run again and exit with the run's exit code.

    \b
    ragstone report last
    ragstone report baseline -o baseline.xlsx --rows rows.jsonl
    ragstone report last --no-export --json -
    """
    outputs = outputs_of(given)
    with open_store(given["store"], reading=True) as store:
        info = store.info(find_run(store, given["run"]))
        outputs.check(*read_by(store, info))
        code = finish(store.load(info.id), outputs)
    sys.exit(code)
