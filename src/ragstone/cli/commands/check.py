"""`ragstone questions check`: what is wrong with a test set, by its documents."""

import asyncio
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any

import click
from rich.console import Console

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.files import write_file
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, span
from ragstone.cli import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.cli.options import (
    CONFIG,
    JUDGE,
    LIMITS,
    PLUGIN,
    READING,
    GroupedCommand,
    explicit_settings,
    json_file,
    load_plugins,
    option,
    typed_settings,
    written,
)
from ragstone.cli.output import check_extension, check_files, progress_bar, write_document
from ragstone.cli.parse import config_of
from ragstone.datasets import load
from ragstone.datasets.export import check_format, losses, write_samples
from ragstone.evaluation.effects import check_judge_settings
from ragstone.judges.dry_run import LEAST, MOST
from ragstone.judges.factory import make_judge
from ragstone.reports.format import dollars
from ragstone.reports.questions import (
    check_document,
    print_check,
    rejected_samples,
    valid_samples,
    write_check,
)
from ragstone.testsets.check import KINDS, SetCheck, check_samples
from ragstone.testsets.documents import CHUNK_WORDS, Corpus, read_documents
from ragstone.types.config import Plan
from ragstone.types.reply import Usage
from ragstone.types.sample import Sample

_DOCUMENTS = (
    option(
        "--docs",
        "A folder or file of the documents; repeat it for several.",
        multiple=True,
        required=True,
        metavar="PATH",
    ),
    option(
        "--chunk-words",
        "Words of a chunk, about. Rows of .jsonl and .parquet files are chunks already.",
        least=20,
        default=CHUNK_WORDS,
    ),
)


@click.command(
    name="check",
    cls=GroupedCommand,
    params=[click.Argument(["data"], metavar="FILE")],
    groups={
        "Documents": _DOCUMENTS,
        "Data": READING,
        "Check": (
            CONFIG,
            PLUGIN,
            option("--dry-run", "Estimate calls and cost; make no calls.", is_flag=True),
        ),
        "Judge": JUDGE,
        "Limits": LIMITS,
        "Result": (
            option(
                "--write",
                "Write the valid rows, with corrected relevant ids, and the others with the "
                "reasons to a second file: .xlsx, .csv, .json or .jsonl.",
                path="FILE",
            ),
            written("html", description="Write a page with all findings and their evidence."),
            json_file("result"),
            option("--show", "Findings of each kind to show.", least=0, default=3),
        ),
    },
    brief=True,
    epilog="Exit codes: 0 no row has an error; 1 a row has an error; 2 usage or input error; "
    "3 the judge did not answer for a row; 130 interrupted.",
)
def check(**given: Any) -> None:
    """Check the test set in FILE, from any tool, against its documents.

    For each row: do the documents support the reference, do the relevant chunks have the answer,
    and which others have it? Is an unanswerable question unanswerable in all documents, and does a
    question of type multi need several chunks? Is a query repeated, copied from its chunk, vague,
    or does it contain its answer? No model is needed: by default, words are compared. --judge
    openai:gpt-4o-mini decides what words cannot.

    \b
    ragstone questions check questions.xlsx --docs guides/
    ragstone questions check testset.jsonl --docs chunks.jsonl --html check.html
    ragstone questions check questions.xlsx --docs guides/ --write checked.xlsx --model gpt-4o-mini
    """
    config = config_of(given["config"])
    load_plugins(*config.plugins, *given["plugin"])
    plan = config.plan(typed_settings(given))
    check_judge_settings(explicit_settings(given), plan)
    fixed, rejected = given["write"], None
    if fixed is not None:
        check_format(fixed.suffix)
        rejected = fixed.with_stem(f"{fixed.stem}-rejected")
    check_files(
        given["file"], given["html"], fixed, rejected, inputs=[given["data"], *given["docs"]]
    )
    for name, path in (("json", given["file"]), ("html", given["html"])):
        if path is not None:
            check_extension(name, path)
    dataset = load(given["data"], sheet=plan.sheet, columns=plan.columns, **plan.selection)
    corpus = read_documents(given["docs"], chunk_words=given["chunk_words"])
    for note in (*dataset.source.notes, *corpus.notes):
        click.echo(f"Note: {note}", err=True)
    if given["dry_run"]:
        click.echo(f"Dry run: no calls were made. {estimate_check(plan, dataset.samples, corpus)}")
        return
    found = _check(plan, dataset.samples, corpus, dataset.source.name)
    console = write_document(given["file"], given["file"] and check_document(found))
    if given["html"] is not None:
        write_file(given["html"], partial(write_check, found))
    if fixed is not None and rejected is not None:
        _write_rows(found, fixed, rejected)
    print_check(found, console, most=given["show"])
    sys.exit(code_of(found))


def _check(plan: Plan, samples: Sequence[Sample], corpus: Corpus, name: str) -> SetCheck:
    judge = make_judge(plan, asked=[KINDS], budget=Budget(plan.max_calls, plan.max_cost))
    with progress_bar(Console(stderr=True), "checking", total=len(samples)) as update:
        return finish_in_thread(
            partial(
                check_samples,
                samples,
                corpus,
                judge,
                name=name,
                concurrency=plan.concurrency,
                plan=plan,
                on_row=lambda done, total: update(completed=done, total=total),
            )
        )


def estimate_check(plan: Plan, samples: Sequence[Sample], corpus: Corpus) -> str:
    """Return the number of calls of a check and their cost, in words; makes no calls."""
    usages: list[Usage] = []
    for guess in (LEAST, MOST):
        judge = make_judge(plan, asked=[KINDS], guess=guess)
        asked = check_samples(samples, corpus, judge, name="", concurrency=plan.concurrency)
        usages.append(asyncio.run(asked).usage)
    least, most = sorted(usages, key=lambda usage: usage.calls)
    text = f"Checking {count(len(samples), 'row')} with {plan.judge}: "
    if not most.calls:
        return f"{text}no calls, at no cost"
    costs = [usage.cost_usd for usage in usages]
    text += f"about {span(least.calls, most.calls)} calls"
    if any(cost is None for cost in costs):
        return f"{text}; price unknown"
    low, high = min(filter(None, costs), default=0.0), max(cost or 0.0 for cost in costs)
    return f"{text}, {dollars(low)} to {dollars(high)} at list prices (an estimate)"


def _write_rows(found: SetCheck, fixed: Path, rejected: Path) -> None:
    """Write the valid rows, and the others if there are any; both or none."""
    made: dict[Path, Path] = {}
    with TemporaryDirectory() as folder:
        for path, samples in ((fixed, valid_samples(found)), (rejected, rejected_samples(found))):
            if not samples:
                which = "no row is valid" if path == fixed else "no row was rejected"
                click.echo(f"{path} was not written: {which}", err=True)
                continue
            made[path] = Path(folder) / path.name
            write_file(made[path], partial(write_samples, samples, suffix=path.suffix))
            for loss in losses(samples, load(made[path]).samples):
                click.echo(f"{path.suffix} cannot store: {loss}", err=True)
        for path, copy in made.items():
            write_file(path, partial(copyfile, copy))
            click.echo(f"Wrote {path}", err=True)


def code_of(found: SetCheck) -> int:
    """Return the exit code, and print why it is 3."""
    unchecked = [f for f in found.findings if f.check == "not_checked"]
    if unchecked:
        words = f"{count(len(unchecked), 'row')} of {len(found.rows):,} not checked"
        click.echo(
            f"Exit code {TOO_MUCH_FAILED}: {words}; the first: {unchecked[0].message}", err=True
        )
        return TOO_MUCH_FAILED
    return GATE_FAILED if any(row.errors for row in found.rows) else 0
