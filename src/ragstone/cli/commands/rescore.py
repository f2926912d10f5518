"""`ragstone rescore`: score a stored run again, from what its judge answered then."""

import sys
from collections.abc import Sequence
from typing import Any

import click
from rich.console import Console

from ragstone.cli.options import (
    GATES,
    PLUGIN,
    RESULTS,
    RUN,
    STORE,
    WORKBOOK,
    Given,
    config_of,
    load_plugins,
    open_store,
    option,
    read_by,
)
from ragstone.cli.output import Outputs, finish, outputs_of, progress
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import metric_names
from ragstone.evaluation.rescore import TranscriptMissingError, rescore, save
from ragstone.store import RunInfo, Store, find_run
from ragstone.types.gate import FLAGS, gate
from ragstone.types.policy import POLICIES

ALL = "all"
_OWN = ("output", "no_export")
"""Options of results that mean something else here: a workbook is written where one is named."""


_PARAMS: Sequence[click.Parameter] = (
    click.Argument(["run"]),
    option(
        "--policy --policies policies",
        f"How verdicts become a number: {', '.join(POLICIES)}; several "
        "are compared, and `all` means every policy.  [default: the run's]",
        multiple=True,
        metavar="NAME",
    ),
    option(
        "-m --metric metrics",
        "Metrics or groups to score.  [default: the run's]",
        multiple=True,
        metavar="TEXT",
    ),
    PLUGIN,
    option("--save keep", "Store the result as a new run.", is_flag=True),
    *(each for each in GATES if each.name in FLAGS),
    WORKBOOK,
    *(each for each in RESULTS if each.name not in _OWN),
    STORE,
)


@click.command(
    name="rescore",
    params=list(_PARAMS),
    epilog=f"{RUN} Exit codes are the same as for run. Only the gates given here are applied, not "
    "those of the stored run.",
)
def command(**given: Any) -> None:
    """Score a stored run again using the stored replies of its judge; no calls are made.

    Choose other policies, or other metrics whose questions the judge has already answered.

    \b
    ragstone rescore last --policy all
    ragstone rescore last --policy ragas --save
    ragstone rescore baseline -m hit@10 ndcg@10
    """
    outputs = outputs_of(given, export=given["output"] is not None)
    load_plugins(*config_of().plugins, *given["plugin"])
    with open_store(given["store"], reading=not given["keep"]) as store:
        info = store.info(find_run(store, given["run"]))
        outputs.check(*read_by(store, info))
        code = _rescored(store, info, given, outputs)
    sys.exit(code)


def _rescored(store: Store, info: RunInfo, given: Given, outputs: Outputs) -> int:
    gates = [gate(text, *demand) for name, demand in FLAGS.items() for text in given[name]]
    policies = [name.strip() for text in given["policies"] for name in text.split(",")]
    if not all(policies):
        raise UsageError(
            "--policy: a name is empty; specify one policy, several separated by commas, or `all`"
        )
    with outputs.quiet(), progress(Console(stderr=True)) as on_row:
        run = rescore(
            store.load(info.id),
            metric_names(given["metrics"]),
            policies=list(dict.fromkeys(POLICIES if ALL in policies else policies)),
            gates=gates,
            on_row=on_row,
        )
    if not info.transcript and run.manifest.judge is not None:
        # all of its questions had failed, so no reply is stored
        raise TranscriptMissingError(info.id)
    if given["keep"]:
        save(run, store, transcript=info.transcript)
        outputs.console.print(f"stored as run {run.manifest.run_id}", markup=False)
    return finish(run, outputs)
