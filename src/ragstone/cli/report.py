"""`ragstone report`: write again what a stored run wrote."""

import sys
from pathlib import Path

import click

from ragstone.cli.options import GROUPS, STORE
from ragstone.cli.outcome import Outputs, conclude
from ragstone.cli.stored import RUN, open_store
from ragstone.store import find

_RESULTS = ("verbose", "output", "no_export", "json", "rows")


@click.command(
    name="report",
    params=[
        click.Argument(["run"]),
        *(option for option in GROUPS["Results"] if option.name in _RESULTS),
        STORE,
    ],
    epilog=RUN,
)
def command(
    run: str,
    verbose: bool,
    output: Path | None,
    no_export: bool,
    json: Path | None,
    rows: Path | None,
    store: str | None,
) -> None:
    """Write what `ragstone run` writes, of a stored run; with the exit code that it had.

    \b
    ragstone report last
    ragstone report baseline -o baseline.xlsx --rows rows.jsonl
    ragstone report last --no-export --json -
    """
    outputs = Outputs(workbook=output, export=not no_export, json=json, rows=rows, verbose=verbose)
    with open_store(store) as opened:
        outputs.check(opened.name)
        code = conclude(opened.load(find(opened, run)), outputs)
    sys.exit(code)
