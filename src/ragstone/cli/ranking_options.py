"""The options of `ragstone rank`, in the groups that its help shows."""

from pathlib import Path
from types import MappingProxyType

import click

from ragstone.cli import regression, result_options
from ragstone.cli.gate_options import GATES
from ragstone.cli.grouped import Groups
from ragstone.cli.plugins import PLUGIN
from ragstone.cli.result_options import WORKBOOK, written
from ragstone.cli.setting import Setting
from ragstone.ranking_evaluation import Missing
from ragstone.ranking_files import TieRule

_PATH = click.Path(path_type=Path)


class Given(result_options.Given, regression.Given):
    """What the command line said."""

    qrels: Path
    ranking: tuple[Path, ...]
    metrics: tuple[str, ...]
    k: str | None
    missing: Missing
    tie_rule: TieRule
    columns: tuple[str, ...]
    plugin: tuple[str, ...]
    fail_under: tuple[str, ...]
    fail_over: tuple[str, ...]
    min_scored: tuple[str, ...]
    gates_on: str | None
    max_failed: str | None
    html: Path | None
    json: Path | None
    rows: Path | None
    markdown: Path | None
    junit: Path | None
    baseline: str | None
    store: str | None


_FILES = (
    click.Option(
        ["--qrels"],
        type=_PATH,
        required=True,
        metavar="FILE",
        help="What is relevant: TREC qrels, .jsonl, .parquet, .arrow, or a BEIR folder: "
        "--qrels qrels.txt, --qrels scifact/.",
    ),
    click.Option(
        ["--ranking"],
        type=_PATH,
        required=True,
        multiple=True,
        metavar="FILE",
        help="What was retrieved: a TREC run, .jsonl, .parquet or .arrow; text also packed as .gz "
        "or .zst. Of several, each is compared with the first, query by query: "
        "--ranking bm25.run --ranking dense.run.",
    ),
    click.Option(
        ["--missing"],
        type=click.Choice(["zero", "skip"]),
        default="zero",
        show_default=True,
        help="What a judged query comes to of which the ranking has nothing: 0, or no number.",
    ),
    click.Option(
        ["--tie-rule"],
        type=click.Choice(["trec_eval", "given"]),
        default="trec_eval",
        show_default=True,
        help="Which of two documents with equal scores comes first: the greater id, as in "
        "trec_eval, or the one that the file has first.",
    ),
    Setting(
        "columns",
        "--map",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Where a column has a name of its own: --map document_id=pid.",
    ),
)

_METRICS = (
    click.Option(
        ["-m", "--metric", "metrics"],
        multiple=True,
        metavar="NAME",
        help="Ranking metrics; several words are several metrics: -m ndcg recall mrr@10.  "
        "[default: all_retrieval]",
    ),
    Setting("k", "-k", "--k", metavar="N[,N...]", help="Cut-offs: --k 1,3,5,10."),
    PLUGIN,
)

_RESULTS = (
    click.Option(["-v", "--verbose"], is_flag=True, help="Print each query's values."),
    WORKBOOK,
    written("html"),
    written("json"),
    written("rows", said="Write each query's values: .jsonl, .csv or .parquet."),
    written("markdown"),
    written("junit", said="Write a test a query and metric as JUnit XML, for CI."),
)

_COMPARISON = (
    click.Option(
        ["--baseline"],
        metavar="RUN",
        help="Compare with a stored run instead of the first ranking: an id, the beginning of one, "
        "a tag, or `last`.",
    ),
    *regression.OPTIONS,
)

_STORE = (
    click.Option(
        ["--store"],
        is_flag=False,
        flag_value="",
        metavar="[PLACE]",
        help="Keep the run, to show, report and compare it later: in a file, or "
        "postgresql://user@host/name. Where no PLACE is named it is RAGSTONE_STORE, else `store` "
        "in ragstone.yaml, else .ragstone/ragstone.db here.",
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
