"""`ragstone compare`: what moved between stored runs, and whether by more than chance."""

import sys
from typing import Any

import click
from rich.console import Console

from ragstone.cli import options, output
from ragstone.cli.options import REGRESSION_OPTIONS, STORE, open_store, option, read_by
from ragstone.errors import UsageError
from ragstone.reports.comparison import as_markdown, print_comparison, verdict
from ragstone.reports.systems import print_systems
from ragstone.results.comparison import TOP
from ragstone.results.systems import side_by_side
from ragstone.store.runs import find_run


@click.command(
    name="compare",
    params=[
        click.Argument(["runs"], nargs=-1, required=True),
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
        option("-v --verbose", "Print settings, tests, samples and claims too.", is_flag=True),
        options.WORKBOOK,
        options.written("html"),
        options.written("json"),
        options.written("rows", "Write scores and differences by row: .jsonl, .csv or .parquet."),
        option("--markdown", "Write the report as Markdown.", path="FILE|-"),
        options.written("latex"),
        STORE,
    ],
    epilog="Exit codes: 0 success; 1 a regression, with --fail-on-regression; 2 usage error; 3, "
    "with --fail-on-regression: a run is unfinished, too few samples were paired, or no metric was "
    "scored in both runs.",
)
def command(**given: Any) -> None:
    """Compare stored runs sample by sample and test whether differences are significant.

    RUNS are ids, unique prefixes of ids, tags, or `last`. A single one is compared with the newest
    finished run. Changes are shown for the second relative to the first; more runs are shown in a
    table, in which all pairs are tested.

    \b
    ragstone compare baseline
    ragstone compare baseline last --fail-on-regression --min-effect 0.02
    ragstone compare 20260301 20260302 -m faithfulness --markdown report.md
    ragstone compare bm25 dense hybrid --html systems.html --latex systems.tex
    """
    limits = output.regression_limits(given)
    outputs = output.outputs_of(given, export=given["output"] is not None)
    with open_store(given["store"], reading=True) as store:
        ids = [find_run(store, name) for name in given["runs"]]
        if len(ids) == 1:
            newest = next((info.id for info in store.runs() if info.finished), None)
            if newest is None:
                raise UsageError(f"{store.name} has no finished run; specify B")
            if newest in ids:
                raise UsageError(f"A is the newest finished run, {newest}; specify B")
            ids.append(newest)
        if twice := [name for name in ids if ids.count(name) > 1]:
            raise UsageError(f"two of the runs are the same, {twice[0]}; specify different runs")
        infos = [store.info(name) for name in ids]
        outputs.check(*read_by(store, *infos))
        systems = side_by_side(
            [store.load(name) for name in ids],
            metrics=given["metric"],
            names=[info.tag for info in infos],
            cluster=given["cluster"],
            top=given["top"],
            labels=[store.labels(name) for name in ids],
        )
        by_labels = given["gates_on"] == "corrected"
        found = {
            each.names[1]: output.regressions_in(each, limits, corrected=by_labels)
            for each in systems.against_first
        }
        documents = [
            {**each.to_dict(), "verdict": regressions and verdict(regressions).words}
            for each, regressions in zip(systems.against_first, found.values(), strict=True)
        ]
        contents: dict[str, object] = {
            "json": {"systems": systems.to_dict(), "comparisons": documents}
        }
        if len(ids) == 2:
            (one,), (regressions,) = systems.against_first, found.values()
            contents = {"json": documents[0], "markdown": as_markdown(one, regressions)}

        def show(console: Console, below: int) -> None:
            verbose, below = given["verbose"], below + bool(limits)
            if len(ids) > 2:
                print_systems(systems, console, verbose=verbose)
            else:
                print_comparison(systems.comparisons[0, 1], console, below=below, verbose=verbose)

        output.write_results((), outputs, show, systems=systems, **contents)
    output.print_verdicts(found, outputs.console)
    sys.exit(max(map(output.code_of, found.values())))
