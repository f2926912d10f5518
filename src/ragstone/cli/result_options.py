"""The options that say where a run's results go."""

from pathlib import Path
from types import MappingProxyType
from typing import TypedDict

import click

_PATH = click.Path(path_type=Path)


class Given(TypedDict):
    """What the command line said of results; beside these stand the files, by format."""

    verbose: bool
    output: Path | None
    no_export: bool


FILES = MappingProxyType(
    {
        "html": ("FILE", "Write one page with all of it, to look at without a network."),
        "json": ("FILE|-", "Write the summary as JSON."),
        "rows": ("FILE|-", "Write a line a sample: .jsonl, .csv or .parquet."),
        "claim_rows": ("FILE|-", "Write a line a judged claim: .jsonl, .csv or .parquet."),
        "markdown": ("FILE|-", "Write the summary as Markdown, for a pull request."),
        "junit": ("FILE", "Write a test a sample and metric as JUnit XML, for CI."),
    }
)
"""Format -> what stands for its file, and its help."""

WORKBOOK = click.Option(["-o", "--output"], type=_PATH, metavar="FILE", help="Write a workbook.")
"""For commands that write none unless one is named."""


def written(name: str, *, said: str = "") -> click.Option:
    """Return the option for the file of a format; `said` stands in for its usual help."""
    metavar, usual = FILES[name]
    flags = [f"--{name.replace('_', '-')}", name]
    return click.Option(flags, type=_PATH, metavar=metavar, help=said or usual)


RESULTS = (
    click.Option(["-v", "--verbose"], is_flag=True, help="Print each query's results."),
    click.Option(
        ["-o", "--output"],
        type=_PATH,
        metavar="FILE",
        help="The workbook to write.  [default: named by metric and time, in ./results/]",
    ),
    click.Option(["--no-export"], is_flag=True, help="Write no workbooks."),
    *map(written, FILES),
)
