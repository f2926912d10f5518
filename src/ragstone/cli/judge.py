"""`ragstone judge test`: how far the judge that is configured can be trusted, without labels."""

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypedDict, Unpack, cast

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from ragstone.budget import Budget
from ragstone.cli.codes import INTERRUPTED
from ragstone.cli.given import check_needed, config_here, judge_named
from ragstone.cli.grouped import GroupedCommand
from ragstone.cli.judge_examples import print_missed
from ragstone.cli.judge_forecast import forecast, nothing_to_test, passed_over
from ragstone.cli.judge_outcome import code_of, write_test
from ragstone.cli.judge_table import print_test
from ragstone.cli.options import JUDGE, LIMITS
from ragstone.cli.reading import READING, pairs_of
from ragstone.config import Config, read_config
from ragstone.datasets import load
from ragstone.demo.dataset import grounded_samples
from ragstone.errors import UsageError
from ragstone.identity import judge_key
from ragstone.judge_names import is_free
from ragstone.judge_test import KEPT, JudgeTest, PassedOver, Testing, cases_of, keep
from ragstone.judge_test.cases import Case
from ragstone.judge_test.gates import Mark
from ragstone.judges.making import make_judge
from ragstone.manifests import VERSION
from ragstone.messages import count
from ragstone.plan import Plan, Source
from ragstone.questions import VerifyClaims
from ragstone.samples import Sample
from ragstone.workers import finish_in_thread

OURS = "the demo's manuals"
INTERRUPT = "it was interrupted"

_TEST = (
    click.Option(
        ["--n"],
        type=click.IntRange(1),
        default=60,
        show_default=True,
        metavar="N",
        help="Claims to take.",
    ),
    click.Option(
        ["--config"],
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Settings for all that no option says.  [default: ragstone.yaml here]",
    ),
    click.Option(["--dry-run"], is_flag=True, help="Tell what it would take; ask nobody."),
)
_RESULT = (
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="[KIND=]SHARE",
        help="Exit 1 if less is right: 80% of all, number=90% of a kind, noticed=80% of all "
        "changes.",
    ),
    click.Option(
        ["--show"],
        type=click.IntRange(0),
        default=1,
        show_default=True,
        metavar="N",
        help="Changed claims to show of each kind that the judge missed; --json has all.",
    ),
    click.Option(["--json", "json_file"], metavar="FILE|-", help="Write the result as JSON."),
    click.Option(["--no-store"], is_flag=True, help="Keep nothing: no report will tell of it."),
)


class Given(TypedDict):
    """What the command line said, by the names of its options.

    Beside these stand fields of the plan that mean what is typed, None if nothing was.
    """

    data: str | None
    n: int
    config: Path | None
    dry_run: bool
    fail_under: tuple[str, ...]
    show: int
    json_file: str | None
    no_store: bool
    judge: str | None
    model: str | None


@click.group(name="judge")
def command() -> None:
    """Test the judge that is configured.

    \b
    ragstone judge test answers.jsonl --model gpt-4o-mini
    """


@command.command(
    name="test",
    cls=GroupedCommand,
    params=[click.Argument(["data"], required=False)],
    groups={"Data": READING, "Test": _TEST, "Judge": JUDGE, "Limits": LIMITS, "Result": _RESULT},
    epilog="Exit codes: 0 fine, 1 a mark was missed, 2 usage or input error, 3 too much failed, "
    "over budget, or a mark with nothing to look at, 130 interrupted.",
)
def test(**given: Unpack[Given]) -> None:
    """Test a judge without labels: errors put into claims must be noticed.

    Takes claims of DATA (rows with contexts, and a response or reference; a query is not needed)
    that the judge calls supported, changes each in several ways (a number, a name, a negation
    ...), counts how often that is noticed, and shows what was not. What changes nothing (the order
    of contexts and of claims) must change no verdict. Without DATA the claims are those of the
    demo's manuals. The result is kept, and reports of runs by the same judge tell it.

    \b
    ragstone judge test answers.jsonl
    ragstone judge test answers.jsonl --model gpt-4o-mini --n 30 --max-cost 0.50
    ragstone judge test answers.jsonl --judge local:models/nli --fail-under number=90%
    """
    config = config_here() if given["config"] is None else read_config(given["config"])
    plan = _plan(given, config)
    marks = [Mark.of(text) for text in given["fail_under"]]
    samples, data = _samples(given["data"], plan)
    cases = cases_of(samples, given["n"])
    if not cases:
        raise UsageError(nothing_to_test(data.name, PassedOver.of(samples)))
    told = forecast(plan, cases, wanted=given["n"], named=data.name)
    if sum(len(case.claims) for case in cases) < given["n"]:
        told += passed_over(PassedOver.of(samples))
    if given["dry_run"]:
        click.echo(f"Nobody was asked. {told}")
    else:
        click.echo(told, err=True)
        sys.exit(_finished(given, plan, cases, data=data, marks=marks))


def _finished(
    given: Given, plan: Plan, cases: Sequence[Case], *, data: Source, marks: Sequence[Mark]
) -> int:
    """Test the judge, tell what came of it, and return the exit code."""
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[[VerifyClaims.kind]], budget=budget)
    testing = Testing(judge, cases)
    free = is_free(plan.judge)
    interrupted = not _went_on(testing, plan.concurrency, lambda: None if free else budget.spent)
    stopped = INTERRUPT if interrupted else budget.spent
    result = testing.result(data=data.name, version=VERSION, stopped=stopped)
    result = result.model_copy(update={"fingerprint": data.fingerprint})
    if result.sound and not given["no_store"]:
        _keep(judge_key(plan, judge, VERSION), result)
    file = given["json_file"]
    console = Console(highlight=False, stderr=file == "-")
    if result.asked:
        print_test(result, console)
        print_missed(result, console, most=given["show"])
    if file is not None:
        write_test(file, result, marks)
    if interrupted:
        answered = "in the reply cache" if plan.cache else "lost, by --no-cache"
        so_far = f"{result.claims:,} of {count(result.planned, 'claim')} tested until then"
        click.echo(
            f"Interrupted, {so_far}; nothing is kept, and what a model answered is {answered}.",
            err=True,
        )
        return INTERRUPTED
    return code_of(result, marks)


def _plan(given: Given, config: Config) -> Plan:
    typed = cast("Mapping[str, object]", given)
    fields = typed.keys() & Plan.model_fields.keys()
    said = {name: value for name in fields if (value := typed[name]) not in (None, ())}
    if (judge := judge_named(given["judge"], given["model"])) is not None:
        said["judge"] = judge
    for name, flag in (("columns", "--map"), ("prompts", "--prompt")):
        if name in said:
            said[name] = pairs_of(cast("tuple[str, ...]", said[name]), flag)
    plan = config.plan(said)
    check_needed(plan, said)
    return plan


def _samples(data: str | None, plan: Plan) -> tuple[Sequence[Sample], Source]:
    if data is None:
        samples = grounded_samples()[: plan.limit]
        return samples, Source(name=OURS, fingerprint="", rows=len(samples))
    dataset = load(data, sheet=plan.sheet, columns=plan.columns, limit=plan.limit, queries=False)
    return dataset.samples, dataset.source


def _went_on(testing: Testing, concurrency: int, spent: Callable[[], str | None]) -> bool:
    """Test until the end, or until something is spent; False where Ctrl-C ended it."""
    with _progress() as on_case:
        try:
            finish_in_thread(
                partial(
                    testing.finish,
                    concurrency=concurrency,
                    spent=spent,
                    on_case=on_case,
                )
            )
        except KeyboardInterrupt:
            return False
    return True


@contextmanager
def _progress() -> Generator[Callable[[int, int], None], None, None]:
    console = Console(stderr=True)
    columns = (TextColumn("testing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("testing", total=None)

        def on_case(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield on_case


def _keep(key: str, result: JudgeTest) -> None:
    try:
        keeping = keep(key, result)
    except OSError as error:
        click.echo(f"The result could not be kept in {KEPT}: {error}", err=True)
        return
    if keeping.aside:
        said = f"{KEPT} could not be read (another version's?), and is now {keeping.aside}"
        click.echo(said, err=True)
    if larger := keeping.larger:
        click.echo(
            f"Not kept: {KEPT} has a test of {count(larger.claims, 'claim')} of the same data "
            f"({larger.at:%Y-%m-%d}), this one is of {result.claims:,}. Reports tell that one.",
            err=True,
        )
    else:
        click.echo(f"Kept in {KEPT}: reports of runs by this judge tell it.", err=True)
