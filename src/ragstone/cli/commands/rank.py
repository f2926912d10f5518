"""`ragstone rank`: evaluate rankings of many queries from files; `run --ranking` is the same."""

import sys
from types import MappingProxyType
from typing import Any

import click

from ragstone.cli import load
from ragstone.cli.options import (
    GATES,
    PLUGIN,
    REGRESSION_OPTIONS,
    WORKBOOK,
    GroupedCommand,
    Groups,
    option,
    setting,
    written,
)

_FILES = (
    option(
        "--qrels",
        "Relevance judgments: TREC qrels, .jsonl, .parquet, .arrow, or a BEIR folder: "
        "--qrels qrels.txt, --qrels scifact/.",
        path="FILE",
        required=True,
    ),
    option(
        "--ranking",
        "Rankings: a TREC run, .jsonl, .parquet or .arrow; text files may be .gz or .zst. "
        " Repeat the option to compare each ranking with the first, query by query: "
        "--ranking bm25.run --ranking dense.run.",
        path="FILE",
        required=True,
        multiple=True,
    ),
    option(
        "--missing",
        "How to treat judged queries that are missing from the ranking: score them as "
        "zero, or skip them.",
        choices=["zero", "skip"],
        default="zero",
    ),
    option(
        "--tie-rule",
        "Which of two documents with equal scores comes first: the one with the "
        "greater id, as in trec_eval, or the one listed first in the file.",
        choices=["trec_eval", "given"],
        default="trec_eval",
    ),
    setting("columns", "Map a column to a field, e.g. --map document_id=pid."),
)

_METRICS = (
    option(
        "-m --metric metrics",
        "Ranking metrics; several may follow one -m: -m ndcg recall mrr@10.  "
        "[default: all_retrieval]",
        multiple=True,
        metavar="NAME",
    ),
    setting("k", "Cut-offs: --k 1,3,5,10."),
    PLUGIN,
)

_RESULTS = (
    option("-v --verbose", "Print the values of each query.", is_flag=True),
    WORKBOOK,
    written("html"),
    written("json"),
    written("rows", description="Write the values of each query: .jsonl, .csv or .parquet."),
    written("markdown"),
    written("junit", description="Write JUnit XML for CI: one test per query and metric."),
)

_COMPARISON = (
    option(
        "--baseline",
        "Compare with a stored run instead of the first ranking: an id, the start of an id, "
        "a tag, or `last`.",
        metavar="RUN",
    ),
    *REGRESSION_OPTIONS,
)

_STORE = (
    option(
        "--store",
        "Store the run, so that you can show, report and compare it later, in a file or in "
        "postgresql://user@host/name. Without PLACE: RAGSTONE_STORE, else `store` in "
        "ragstone.yaml, else .ragstone/ragstone.db.",
        is_flag=False,
        flag_value="",
        metavar="[PLACE]",
    ),
)

GROUPS: Groups = MappingProxyType(
    {
        "Files": _FILES,
        "Metrics": _METRICS,
        "Gates": GATES,
        "Comparison": _COMPARISON,
        "Results": _RESULTS,
        "Store": _STORE,
    }
)


@click.command(
    name="rank",
    cls=GroupedCommand,
    params=[],
    groups=GROUPS,
    epilog="Exit codes: 0 success; 1 a gate failed, or a regression with --fail-on-regression; 2 "
    "usage or input error; 3 too many failures, a gate with nothing scored, or regressions that "
    "could not be checked.",
)
def command(**given: Any) -> None:
    """Evaluate rankings for many queries, from the files that retrieval tools write.

    `ragstone run --qrels ... --ranking ...` is the same. Documents are ranked by score, highest
    first, with ties broken as in trec_eval (--tie-rule). Rankings in JSON Lines, or without
    scores, keep the order of the file.

    \b
    ragstone rank --qrels qrels.txt --ranking bm25.run --k 1,3,5,10,20
    ragstone rank --qrels scifact/ --ranking dense.parquet -m ndcg recall -k 10
    ragstone rank --qrels qrels.txt --ranking bm25.run --ranking dense.run -m ndcg@10
    ragstone rank --qrels qrels.txt --ranking new.run --baseline old --fail-on-regression
    """
    sys.exit(load("cli.ranking").rank(given))  # imports all that scoring needs
