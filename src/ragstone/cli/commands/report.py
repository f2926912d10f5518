"""`ragstone report`: write again what a stored run wrote."""

import sys
from typing import Any

import click

from ragstone.cli.options import (
    RESULTS,
    RUN,
    STORE,
    STORED_CORRECTION,
    open_store,
    read_by,
    with_correction,
)
from ragstone.cli.output import finish, outputs_of
from ragstone.store import find_run


@click.command(
    name="report", params=[click.Argument(["run"]), *STORED_CORRECTION, *RESULTS, STORE], epilog=RUN
)
def command(**given: Any) -> None:
    """Write the reports of a stored run again and exit with the run's exit code.

    \b
    ragstone report last
    ragstone report baseline -o baseline.xlsx --rows rows.jsonl
    ragstone report last --no-export --json -
    ragstone report last --calibration support --gates-on corrected
    """
    outputs = outputs_of(given)
    with open_store(given["store"], reading=True) as store:
        info = store.info(find_run(store, given["run"]))
        outputs.check(*read_by(store, info))
        run = store.load(info.id)
        code = finish(run.with_plan(with_correction(run.manifest.plan, given)), outputs)
    sys.exit(code)
