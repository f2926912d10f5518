"""The options of `ragstone run`, in the groups that its help shows."""

from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType

import click

from ragstone.cli.gate_options import GATES
from ragstone.cli.grouped import Groups
from ragstone.cli.plugins import PLUGIN
from ragstone.cli.result_options import RESULTS
from ragstone.cli.setting import Setting
from ragstone.cli.store_place import store_here
from ragstone.config import FILE
from ragstone.plan import DEFAULT_API
from ragstone.policies import POLICIES, PRESETS

_DATA = (
    click.Option(
        ["--test-data", "--from-chat-responses", "test_data"], help="The data set, as DATA."
    ),
    Setting("limit", help="Only the first rows."),
    Setting("sheet", help="The workbook's sheet.  [default: the first]"),
    Setting(
        "columns",
        "--map",
        multiple=True,
        metavar="FIELD=COLUMN",
        help="Where a column has a name of its own: --map query=Frage.",
    ),
    click.Option(
        ["--config"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"Settings for all that no option says.  [default: {FILE} here, if there is one]",
    ),
)

_TARGET = (
    click.Option(
        ["--api-url"],
        help="URL of the RAG API, asked for every row.  [default: "
        f"{DEFAULT_API}, asked if the data lack what the metrics need]",
    ),
    Setting("target", help="URL, YAML file that describes an API, or module:function."),
    Setting(
        "threshold",
        "-t",
        "--threshold",
        help="Minimum retrieval similarity, sent to the target. No gate: that is --fail-under.",
    ),
    Setting("delay", help="Seconds between two calls of the target, for fragile servers."),
)

_METRICS = (
    Setting(
        "metrics",
        "-m",
        "--metric",
        multiple=True,
        help="Metrics or groups: all, all_retrieval, all_generation; several words are several "
        "metrics.",
    ),
    Setting(
        "k",
        "-k",
        "--k",
        metavar="N[,N...]",
        help="Top results to consider, and to ask the target for; several score each metric at "
        "each: --k 1,3,5,10.",
    ),
    click.Option(["--list-metrics"], is_flag=True, help="List the metrics and exit."),
    PLUGIN,
)

JUDGE = (
    Setting(
        "judge",
        help="Who judges: offline, local:FOLDER (a model on this machine), or provider:model, such "
        "as openai:gpt-4o-mini; several with commas are a panel; cascade:offline+openai:gpt-4o "
        "asks the second where the first is not sure. RAGSTONE_JUDGE says it for good.",
    ),
    click.Option(
        ["--model"], help="An LLM as judge: --model gpt-4o-mini is --judge openai:gpt-4o-mini."
    ),
    Setting(
        "base_url", help="Where the model is served: http://localhost:11434/v1 for a local one."
    ),
    Setting(
        "embedding_model",
        help="The model whose embeddings tell how alike texts are.  [default: "
        "text-embedding-3-small where OpenAI judges, else character n-grams, offline]",
    ),
    Setting("votes", help="How often each judge is asked; the majority decides."),
    Setting("temperature", help="Of the model; `none` leaves it to the provider."),
    Setting("max_tokens", help="The most that one reply may take."),
    Setting(
        "context_window",
        help="Tokens that one prompt may have; longer contexts are verified in windows.",
    ),
    Setting("strict_json", help="Read nothing but JSON in a reply."),
    Setting(
        "prompts",
        "--prompt",
        multiple=True,
        metavar="KIND=FILE",
        help="A prompt of your own: --prompt verify_claims=my.md.",
    ),
    Setting("cascade_mark", help="The confidence under which a cascade asks its second judge."),
    Setting("cascade_control", help="The share of the others that it asks both, to compare."),
    Setting("offline", help="Download nothing: a local model has to be on this machine."),
    Setting("cache", help="Keep replies, and use those kept before."),
)

_CLAIMS = (
    Setting(
        "policy",
        help=f"How verdicts become a number: {', '.join(POLICIES)}. See ragstone policies.",
    ),
    click.Option(
        ["--preset"],
        metavar="NAME",
        help=f"A policy and the way of asking of its document: {', '.join(PRESETS)}.",
    ),
    Setting(
        "verify",
        help="All claims in one call, one a call, or against facts taken from the contexts first.",
    ),
    Setting("claims", help="Who finds the claims: the judge, sentences, or those where it fails."),
    Setting("batch_size", help="Claims in one call."),
    Setting("truths_limit", help="Facts taken from one context.  [default: all]"),
    Setting("include_reason", help="Have the verdicts summed up in words; one call more."),
    Setting("partial", help="Let the judge say that a claim is supported in part."),
    click.Option(
        ["--compare-legacy"],
        is_flag=True,
        help="Score faithfulness as promptfoo does without RAGAS mode and with it, on the same "
        "responses, and print where the two differ; exit 0, or 3 where something cut it short.",
    ),
)

LIMITS = (
    Setting("concurrency", help="Rows in work, and calls under way, at once."),
    Setting("timeout", help="Seconds that one try of a call may take."),
    Setting(
        "retries",
        "--max-retries",
        help="Further tries after a failed connection, a 429 or a 5xx.",
    ),
    Setting("rpm", help="The most calls of the judge a minute."),
    Setting("tpm", help="The most tokens of the judge a minute."),
    Setting("max_calls", help="End the run, with exit code 3, after so many calls."),
    Setting("max_cost", help="End the run, with exit code 3, at this cost in US dollars."),
)

_DRY_RUN = click.Option(
    ["--dry-run"], is_flag=True, help="Print what the judge would take; ask nobody."
)

OTEL = click.Option(
    ["--otel"],
    is_flag=True,
    envvar="RAGSTONE_OTEL",
    help="Send spans to OTEL_EXPORTER_OTLP_ENDPOINT: one a sample, a question and a model's call. "
    "RAGSTONE_OTEL=1 says it for good.",
)

_RESULTS = (
    Setting(
        "cluster",
        metavar="TAG",
        help="Rows that share this tag (a source, a conversation) are drawn together for the "
        "intervals.",
    ),
    *RESULTS,
    OTEL,
)


def _store(default: Callable[[], str | None] | None = None) -> click.Option:
    return click.Option(
        ["--store"],
        envvar="RAGSTONE_STORE",
        default=default,
        show_default=False,
        metavar="PLACE",
        help="Where runs are kept: a file, or postgresql://user@host/name. RAGSTONE_STORE says it "
        f"for good, or `store` in {FILE}.  [default: .ragstone/ragstone.db here]",
    )


STORE = _store(store_here)

NO_STORE = click.Option(
    ["--no-store"], is_flag=True, help="Keep nothing but the results asked for."
)

_STORE = (
    _store(),
    NO_STORE,
    click.Option(
        ["--fresh"], is_flag=True, help="Begin a new run, even if this one is there unfinished."
    ),
    click.Option(["--no-transcript"], is_flag=True, help="Store no texts of the judge's replies."),
)

GROUPS: Groups = MappingProxyType(
    {
        "Data": _DATA,
        "RAG system": _TARGET,
        "Metrics": _METRICS,
        "Judge": JUDGE,
        "Claims and verdicts": _CLAIMS,
        "Limits": (*LIMITS, _DRY_RUN),
        "Gates": GATES,
        "Results": _RESULTS,
        "Store": _STORE,
    }
)
