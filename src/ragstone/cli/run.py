"""`ragstone run`: evaluate a RAG system, or answers it gave before."""

import sys
from pathlib import Path
from typing import Unpack

import click
from rich.console import Console

from ragstone.cli.catalogue import print_catalogue
from ragstone.cli.codes import INTERRUPTED
from ragstone.cli.given import Given, data_of, outputs_of, plan_of
from ragstone.cli.outcome import Outputs, conclude
from ragstone.cli.progress import progress
from ragstone.evaluation import evaluate
from ragstone.modules import user_module
from ragstone.plan import DEFAULT_API, Plan
from ragstone.run import Interrupted


@click.command(
    name="run",
    epilog="Exit codes: 0 fine, 1 a gate failed, 2 usage or input error, 3 too much failed or "
    "a gate with nothing scored, 130 interrupted.",
)
@click.argument("data", required=False)
@click.option(
    "-m",
    "--metric",
    multiple=True,
    help="Metrics or groups: all, all_retrieval, "
    "all_generation; several words are several metrics.  [default: all]",
)
@click.option(
    "-k",
    "--k",
    type=click.IntRange(1),
    default=5,
    show_default=True,
    help="Top results to consider, and to ask the target for.",
)
@click.option(
    "-t",
    "--threshold",
    type=float,
    default=0.0,
    show_default=True,
    help="Minimum retrieval similarity, sent to the target. No pass mark: that is --fail-under.",
)
@click.option("--test-data", help="The data set, as DATA.")
@click.option(
    "--api-url",
    help="URL of the RAG API, asked for every row.  [default: "
    f"{DEFAULT_API}, asked if the data lack what the metrics need]",
)
@click.option("--target", help="URL, YAML file that describes an API, or module:function.")
@click.option("--limit", type=click.IntRange(1), help="Only the first rows.")
@click.option(
    "--map",
    "columns",
    multiple=True,
    metavar="FIELD=COLUMN",
    help="Where a column has a name of its own: --map query=Frage.",
)
@click.option("--sheet", help="The workbook's sheet.  [default: the first]")
@click.option("-v", "--verbose", is_flag=True, help="Print each query's results.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    help="The workbook to write.  [default: named by metric and time, in ./results/]",
)
@click.option("--no-export", is_flag=True, help="Write no workbooks.")
@click.option("--list-metrics", is_flag=True, help="List the metrics and exit.")
@click.option(
    "--plugin",
    multiple=True,
    metavar="MODULE|FILE.py",
    help="Python that registers metrics of your own.",
)
@click.option("--judge", help="Who judges: offline.  [default: offline]")
@click.option("--model", help="An LLM as judge; this version has none yet.")
@click.option("--embedding-model", help="For response_relevancy; this version has none yet.")
@click.option("--policy", default="strict", show_default=True, help="How verdicts become a number.")
@click.option(
    "--concurrency",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="Rows in work at once.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30.0,
    show_default=True,
    help="Seconds that one call of the target may take.",
)
@click.option(
    "--max-retries",
    type=click.IntRange(0, 20),
    default=3,
    show_default=True,
    help="Further tries after a failed connection, a 429 or a 5xx.",
)
@click.option(
    "--delay",
    type=click.FloatRange(0),
    default=0.0,
    show_default=True,
    help="Seconds between two calls of the target, for fragile servers.",
)
@click.option(
    "--fail-under",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Exit 1 if the metric's mean is under the value.",
)
@click.option(
    "--fail-over",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Exit 1 if the metric's mean is over the value.",
)
@click.option(
    "--max-failed",
    metavar="SHARE",
    default="10%",
    show_default=True,
    help="Exit 3 if more of a metric's scores failed: 0.1 or 10%.",
)
@click.option(
    "--json",
    type=click.Path(path_type=Path),
    metavar="FILE|-",
    help="Write the summary as JSON.",
)
@click.option(
    "--rows",
    type=click.Path(path_type=Path),
    metavar="FILE|-",
    help="Write each row as a line of JSON.",
)
def command(**given: Unpack[Given]) -> None:
    """Evaluate a RAG system, or answers it gave before.

    DATA is .xlsx, .csv, .json, .jsonl or .yaml with a column `query`, and what is known of
    each query: point_ids, reference, response, contexts ... Whatever the metrics need and no
    row holds, the RAG API is asked for. Without DATA it is qr_smartphone_dataset.xlsx here,
    else the sample data set that comes with ragstone.

    \b
    ragstone run data.xlsx --metric hit recall --k 5
    ragstone run data.xlsx -m all --api-url http://localhost:8000 --fail-under hit=80%
    ragstone run answers.jsonl -m faithfulness --rows rows.jsonl
    """
    outputs = outputs_of(given)
    with outputs.quiet():
        for name in given["plugin"]:
            user_module(name)
    if given["list_metrics"]:
        print_catalogue(Console())
        return
    plan = plan_of(given)
    data = data_of(given)
    read = [name for name in (given["target"], *given["plugin"]) if name and Path(name).is_file()]
    outputs.check(data, *read)
    sys.exit(evaluated(data, plan, outputs=outputs))


def evaluated(data: str | Path, plan: Plan, *, outputs: Outputs) -> int:
    """Evaluate with progress shown, conclude, and return the exit code, also when interrupted."""
    with outputs.quiet(), progress(Console(stderr=True)) as on_row:
        try:
            run = evaluate(data, plan=plan, on_row=on_row)
            interrupted = False
        except Interrupted as stop:
            run = stop.run
            interrupted = True
    code = conclude(run, outputs)
    return INTERRUPTED if interrupted else code
