"""`ragstone run`: evaluate a RAG system, or answers it gave before."""

import sys
from pathlib import Path
from types import MappingProxyType
from typing import Any

import click

from ragstone.cli import load
from ragstone.cli.options import (
    CONFIG,
    CORRECTION,
    GATES,
    JUDGE,
    LIMITS,
    NO_STORE,
    OTEL,
    PLUGIN,
    RESULTS,
    GroupedCommand,
    Groups,
    option,
    rare,
    setting,
    store_option,
)
from ragstone.types.config import DEFAULT_API

GROUPS: Groups = MappingProxyType(
    {
        "Data": (
            rare("--test-data", "--from-chat-responses", "test_data", help="Same as DATA."),
            setting("limit"),
            setting("sample"),
            setting("seed"),
            setting("sheet"),
            setting("columns"),
            click.Option(
                ["--scored"],
                type=click.Path(path_type=Path),
                metavar="FOLDER",
                help="Rows that other machines scored with ragstone.Scorer and the same settings; "
                "only the others are scored here.",
            ),
            CONFIG,
        ),
        "RAG system": (
            option(
                "--api-url",
                f"URL of the RAG API, called for every row.  [default: {DEFAULT_API}, called "
                "only if the metrics need it]",
            ),
            setting("target"),
            setting("min_similarity"),
            setting("delay"),
        ),
        "Metrics": (
            setting("metrics"),
            setting("k"),
            option("--list-metrics", "List the metrics and exit.", is_flag=True),
            PLUGIN,
        ),
        "Judge": JUDGE,
        "Claims and verdicts": (
            setting("policy"),
            setting("preset"),
            setting("verify"),
            setting("claim_source"),
            setting("batch_size"),
            setting("truths_limit"),
            setting("include_reason"),
            setting("allow_partial"),
        ),
        "Limits": (
            *LIMITS,
            setting("workers"),
            setting("engine"),
            setting("batch_api"),
            setting("fail_fast"),
            option(
                "--dry-run",
                "Estimate the judge's calls, tokens and cost; make no calls.",
                is_flag=True,
            ),
        ),
        "Gates": (*GATES, *CORRECTION),
        "Results": (setting("cluster"), *RESULTS, OTEL),
        "Store": (
            store_option(),
            NO_STORE,
            option("--fresh", "Start a new run, even if this one can be resumed.", is_flag=True),
            rare("--no-transcript", is_flag=True, help="Do not store the text of judge replies."),
        ),
    }
)

EPILOG = (
    "Order of precedence: options, RAGSTONE_JUDGE, --preset, the config file. "
    "Exit codes: 0 success; 1 a gate or a promptfoo test failed; 2 usage, input or API key "
    "error; 3 too many failures, over budget, or a gate with nothing scored; 130 interrupted."
)


@click.command(
    name="run",
    cls=GroupedCommand,
    params=[click.Argument(["data"], required=False)],
    groups=GROUPS,
    brief=True,
    epilog=EPILOG,
)
def command(**given: Any) -> None:
    """Evaluate a RAG system, or saved answers.

    DATA is an .xlsx, .csv, .json, .jsonl or .yaml file with a `query` column, and other columns
    such as point_ids, reference, response or contexts. If no row has the fields that a metric
    needs, ragstone calls the RAG API. DATA can also be a promptfooconfig.yaml. Without DATA,
    ragstone uses qr_smartphone_dataset.xlsx in this folder if it exists, or a sample data set.

    \b
    ragstone run data.xlsx --metric hit recall --k 5
    ragstone run data.xlsx -m all --api-url http://localhost:8000 --fail-under hit=80%
    ragstone run answers.jsonl -m faithfulness --rows rows.jsonl
    ragstone run answers.jsonl -m faithfulness --model gpt-4o-mini --dry-run
    ragstone run answers.jsonl -m faithfulness --preset deepeval --max-cost 2
    ragstone run --qrels qrels.txt --ranking bm25.run     (see ragstone rank --help)
    """
    sys.exit(load("cli.evaluate").run_evaluation(given))  # imports all that evaluating needs
