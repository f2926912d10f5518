"""The options that say what a run is held against, and the exit codes that come of it."""

import click

from ragstone.cli.setting import Setting

GATES = (
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="METRIC=VALUE",
        help="Exit 1 if the metric's mean is under the value: faithfulness=0.8, hit@5=80%.",
    ),
    click.Option(
        ["--fail-over"],
        multiple=True,
        metavar="METRIC=VALUE",
        help="Exit 1 if the metric's mean is over the value.",
    ),
    click.Option(
        ["--min-scored"],
        multiple=True,
        metavar="METRIC=SHARE",
        help="Exit 1 if less of the rows was scored: faithfulness=90%.",
    ),
    Setting(
        "gates_on",
        help="What --fail-under and --fail-over look at: the mean, or the end of its 95 % interval "
        "that is nearer to failing.",
    ),
    Setting(
        "max_failed",
        metavar="SHARE",
        help="Exit 3 if more of a metric's scores failed: 0.1 or 10%.",
    ),
)
