"""`ragstone validate`: whether data files can be read, what could be done with them, and a copy."""

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click

from ragstone._internal.files import write_file
from ragstone._internal.text import count
from ragstone.cli import UNUSABLE, options, say
from ragstone.cli.options import option, setting
from ragstone.cli.output import check_files, check_lines
from ragstone.datasets import Dataset, load
from ragstone.datasets.export import write_samples
from ragstone.errors import InputError, UsageError
from ragstone.evaluation.preflight import LLM, Preflight, with_llm
from ragstone.integrations.promptfoo.configuration import is_configuration, read_configuration
from ragstone.judges.base import Judge
from ragstone.judges.factory import LEAST, make_judge
from ragstone.metrics import catalogue, select
from ragstone.metrics.base import Metric
from ragstone.reports.markdown import error_annotation, no_commands
from ragstone.targets.factory import get_target
from ragstone.types.config import DEFAULT_API, Plan

ANSWERED = "with a RAG system's answers"


@click.command(
    name="validate",
    params=[
        click.Argument(["files"], nargs=-1, required=True, metavar="FILE..."),
        *map(setting, ("columns", "sheet", "header_row")),
        *options.JUDGE[:2],
        options.CONFIG,
        option("-o --output", "Write the data as JSON Lines (.jsonl).", path="FILE"),
    ],
)
def command(
    files: tuple[str, ...], config: Path | None, output: Path | None, **given: object
) -> None:
    """Read data files or promptfoo configurations and report all problems; no calls are made.

    Of a valid file you see which column is read as which field, with a value, and which
    metrics `ragstone run` accepts for it, with the judge set by the options or the config file.
    API keys are not checked. Exit code 2 if a file cannot be used.

    With -o, one file is written as JSON Lines, with all fields of its rows.

    \b
    ragstone validate questions.xlsx
    ragstone validate data/*.jsonl
    ragstone validate ragchecker.json -o answers.jsonl
    """
    names = list(dict.fromkeys(files))
    if output is not None:
        if len(names) > 1:
            raise UsageError(f"-o {output}: name one data file, not {len(names)}")
        check_files(output, inputs=names)
        check_lines("-o", output)
    settings = options.config_of(config)
    options.load_plugins(*settings.plugins)
    plan = settings.plan(options.typed_settings(given))
    judge = make_judge(plan, guess=LEAST)
    bad, dataset = 0, None
    for file in names:
        try:
            dataset = (
                read_configuration(file).dataset
                if is_configuration(file)
                else load(file, **plan.reading)
            )
            click.echo(described(file, dataset, plan, judge))
        except UsageError as error:
            bad += 1
            with no_commands(sys.stderr, os.environ):
                problems = error.problems if isinstance(error, InputError) else ()
                # the message of an InputError names only the first problems
                first = str(error).splitlines()[0] if problems else str(error)
                advice = [error.advice] if isinstance(error, InputError) and error.advice else []
                say("\n".join([first, *(f"  {each}" for each in problems), *advice]))
            if annotation := error_annotation(error, os.environ):
                say(annotation)
    if bad:
        sys.exit(UNUSABLE)
    if output is not None and dataset is not None:
        write_file(output, partial(write_samples, dataset.samples, suffix=".jsonl"))
        if dataset.failures:
            rows = count(len(dataset.failures), "row")
            say(f"Not in {output}: the causes of failed calls ({rows}); keep the saved responses")
        click.echo(f"wrote {output}: {count(len(dataset.samples), 'row')}")


def described(name: str, dataset: Dataset, plan: Plan, judge: Judge) -> str:
    accepted = accepted_metrics(dataset, plan, judge)
    usual = {metric.name for metric in select(["all"])}

    def names(metrics: Sequence[Metric]) -> str:
        known = list(dict.fromkeys(metric.name for metric in metrics))
        named = [name for name in known if name in usual] or known[:3] or ["none"]
        more = len(known) - len(named) if known else 0
        return ", ".join(named) + (f" and {more} more (`ragstone metrics`)" if more else "")

    source = dataset.source
    could = [f"  {how}: {names(metrics)}" for how, metrics in accepted.items()]
    notes = [f"  note: {note}" for note in (*source.notes, *dataset.absent.values())]
    rows = f"{name}: {count(len(dataset.samples), 'row')}"
    return "\n".join((rows, *source.reading, *notes, *could))


def accepted_metrics(dataset: Dataset, plan: Plan, judge: Judge) -> Mapping[str, Sequence[Metric]]:
    metrics = select(["all", *catalogue()], **plan.parameters)
    alone = Preflight.compare(metrics, dataset, judge=judge).certain
    accepted = {"available metrics": alone}
    if plan.target is not None or not dataset.collected:
        target = get_target(plan.target or DEFAULT_API, plan, k=max(plan.cutoffs))
        every = plan.target is not None
        ready = Preflight.compare(metrics, dataset, judge=judge, target=target, every=every)
        accepted |= {ANSWERED: ready.certain} if ready.certain != alone else {}
    llm = make_judge(Plan(judge=LLM), guess=LEAST)
    judged = Preflight.compare(metrics, dataset, judge=llm).certain
    added = [metric for metric in judged if metric not in alone]
    named = plan.model_copy(update={"metrics": tuple(metric.spelled for metric in added)})
    automatic = added and with_llm(named).judge != plan.judge
    how = f"by name, with {LLM}, also" if automatic else "with an LLM (--model) also"
    return accepted | ({how: added} if added else {})
