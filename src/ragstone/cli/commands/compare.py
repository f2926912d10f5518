"""`ragstone compare`: what moved between two stored runs, and whether by more than chance."""

import json
import sys
from typing import Any

import click
from rich.console import Console

from ragstone._internal.files import write_text
from ragstone.cli import silent_pipes
from ragstone.cli.options import REGRESSION_OPTIONS, STORE, open_store, option, read_by
from ragstone.cli.output import check_files, code_of, regression_limits, regressions_in
from ragstone.errors import UsageError
from ragstone.reports.comparison import as_markdown, print_comparison, verdict
from ragstone.reports.format import finite
from ragstone.reports.tables import STDOUT
from ragstone.reports.terminal import print_line
from ragstone.results.comparison import TOP
from ragstone.store.runs import compare, find_run


@click.command(
    name="compare",
    params=[
        click.Argument(["a"]),
        click.Argument(["b"], required=False),
        option("-m --metric", "Compare these metrics only.", multiple=True, metavar="NAME"),
        option(
            "--cluster",
            "Treat rows with the same value of this tag as one unit: questions about one source "
            "are not independent. By default, rows that share a query, contexts, a source or a "
            "conversation are one unit; `id` treats rows as independent.",
            metavar="TAG",
        ),
        option(
            "--top", "Number of samples and claims to list in each section.", least=0, default=TOP
        ),
        *REGRESSION_OPTIONS,
        option(
            "--gates-on",
            "What --fail-on-regression tests: the difference of the means, or, of judged metrics, "
            "the one corrected with labels.",
            choices=["mean", "corrected"],
            default="mean",
        ),
        option("--json", "Write the comparison as JSON.", path="FILE|-"),
        option("--markdown", "Write the report as Markdown.", path="FILE|-"),
        STORE,
    ],
    epilog="Exit codes: 0 success; 1 a regression, with --fail-on-regression; 2 usage error; 3, "
    "with --fail-on-regression: a run is unfinished, too few samples were paired, or no metric was "
    "scored in both runs.",
)
def command(**given: Any) -> None:
    """Compare two stored runs sample by sample and test whether differences are significant.

    A and B are run ids, unique prefixes of ids, tags, or `last`. Without B, A is compared with the
    newest finished run. Changes are shown for B relative to A.

    \b
    ragstone compare baseline
    ragstone compare baseline last --fail-on-regression --min-effect 0.02
    ragstone compare 20260301 20260302 -m faithfulness --markdown report.md
    """
    limits = regression_limits(given)
    with open_store(given["store"], reading=True) as store:
        a = find_run(store, given["a"])
        if given["b"]:
            b = find_run(store, given["b"])
            if a == b:
                raise UsageError(f"A and B are the same run, {a}; specify two different runs")
        else:
            b = next((info.id for info in store.runs() if info.finished), None)
            if b is None:
                raise UsageError(f"{store.name} has no finished run; specify B")
            if a == b:
                raise UsageError(f"A is the newest finished run, {a}; specify B")
        read = read_by(store, *map(store.info, (a, b)))
        check_files(json=given["json"], markdown=given["markdown"], inputs=read)
        chosen = {name: given[name] for name in ("cluster", "top")}
        comparison = compare(a, b, metrics=given["metric"], **chosen, store=store)
    by_labels = given["gates_on"] == "corrected"
    found = regressions_in(comparison, limits, corrected=by_labels)
    # ASCII with escapes, because a lone surrogate in the data has no UTF-8
    whole = {**comparison.to_dict(), "verdict": found and verdict(found).words}
    document = json.dumps(finite(whole), allow_nan=False, indent=2) + "\n"
    pairs = (given["json"], document), (given["markdown"], as_markdown(comparison, found))
    texts = {path: text for path, text in pairs if path is not None}
    piped = texts.pop(STDOUT, "")
    for path, text in texts.items():
        write_text(path, text)
    console = Console(file=sys.stderr if piped else sys.stdout, highlight=False)
    with silent_pipes():
        print_comparison(comparison, console)
        for path in texts:
            console.print(f"wrote {path}", markup=False, soft_wrap=True)
        if found is not None and not found.doubts:
            print_line(verdict(found), console, soft_wrap=True)
        sys.stdout.write(piped)
    sys.exit(code_of(found))
