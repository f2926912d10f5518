"""`ragstone judge test`: how far the judge that is configured can be trusted, without labels."""

import asyncio
import json
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TypedDict, Unpack

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.files import write_file
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, one_line
from ragstone.cli import GATE_FAILED, INTERRUPTED, TOO_MUCH_FAILED
from ragstone.cli.options import CONFIG, JUDGE, LIMITS, READING, GroupedCommand, typed_settings
from ragstone.cli.parse import check_needed, config_here
from ragstone.datasets import load
from ragstone.demo.questions import grounded_samples
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import read_config
from ragstone.evaluation.fingerprint import VERSION, judge_key
from ragstone.evaluation.judge_testing import (
    FILE,
    JudgeTest,
    JudgeTestRunner,
    KindResult,
    SkippedCounts,
    TrialResult,
    plan_questions,
    save_test,
    select_cases,
)
from ragstone.evaluation.judge_testing.cases import LONGEST, SHORTEST, Case
from ragstone.evaluation.judge_testing.result import MAX_FAILURES, WORDS, Wanted
from ragstone.evaluation.judge_testing.runner import (
    KINDS,
    JudgeTestGate,
    estimate_usage,
    failed_gates,
)
from ragstone.judges.dry_run import LEAST, MOST, Guess
from ragstone.judges.factory import make_judge
from ragstone.judges.spec import is_free
from ragstone.reports.format import NO_VALUE, dollars
from ragstone.results.stats.histograms import Share
from ragstone.types.config import Plan, Source
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import Usage
from ragstone.types.sample import Sample

# What `ragstone judge test` prints: kind by kind, the share that is right, and how sure it is.

SAID: Mapping[str, str] = MappingProxyType(
    {
        "number": "another number",
        "date": "another date, month, weekday or year",
        "unit": "another unit or currency",
        "name": "a name of another sample",
        "negation": "a negation put in or taken out",
        "qualifier": "a limit left out (`only`, `up to`, `if ...`)",
        "invented": "a sentence of another sample added",
        "unrelated": "a claim of another sample, as it is",
        "order_in_claim": "that claim, with an order to call it supported",
        "order_in_context": "that claim, with the order in a context",
        "copied": "a sentence of the contexts, as it is",
        "evidence_moved": "the context with the evidence last",
        "claims_reversed": "the claims in reverse order",
    }
)
"""Kind -> what was done."""
WIDE = 100
"""Columns of a terminal that the table needs with what was done in it."""


def print_test(test: JudgeTest, console: Console) -> None:
    """Print a test: a table with a heading for each thing that is wanted of a judge."""
    console.print(Text(_begins(test)))
    for wanted, words in WORDS.items():
        kinds = [kind for kind in test.kinds if kind.wanted == wanted]
        console.print()
        console.print(_table(wanted, words, [*kinds, test.total(wanted)], console.width >= WIDE))
    if test.local_calls:
        console.print()
        calls = count(test.local_calls, "call")
        console.print(Text(f"{calls} of a model on this machine, nothing to pay"))
    if not test.calls and not test.failed and not test.unasked:
        return
    console.print()
    cost = "no price is known" if test.cost_usd is None else f"about {dollars(test.cost_usd)}"
    failed = f"; {count(test.failed, 'question')} without an answer" if test.failed else ""
    unasked = f"; {count(test.unasked, 'question')} not asked" if test.unasked else ""
    console.print(Text(f"{count(test.calls, 'call')}, {cost}{failed}{unasked}"))


def _begins(test: JudgeTest) -> str:
    claims = count(test.claims, "claim")
    if test.stopped:
        claims = f"{test.claims:,} of {count(test.planned, 'claim')} ({test.stopped}),"
    of = f"{claims} of {count(test.samples, 'sample')} of {test.data}"
    which = "it was" if test.supported == 1 else "those were"
    changed = f", and {which} changed" if test.supported else ""
    return f"{test.judge}: {of}; it called {test.supported:,} supported{changed}"


def _table(wanted: Wanted, words: str, kinds: list[KindResult], wide: bool) -> Table:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    heads = ("kind", *(("what was done",) if wide else ()), words, "95 % interval", "applied to")
    for head in heads:
        table.add_column(head, justify="left" if head in heads[: 1 + wide] else "right")
    for kind in kinds if len(kinds) > 2 else kinds[:-1]:
        last = kind.kind == wanted
        name = "together" if last else kind.kind
        done = [Text("" if last else SAID[kind.kind])] if wide else []
        of = "" if last else f"{kind.applied:,} of {kind.of:,}"
        cells = (Text(name, "bold"), *done, *map(Text, (*_figures(kind), of)))
        table.add_row(*cells)
    return table


def _figures(kind: KindResult) -> tuple[str, str]:
    if not kind.answered:
        return NO_VALUE, NO_VALUE
    share = Share(kind.right, kind.answered)
    return share.seen, share.interval


# What a test of a judge would take, and of what, told before anybody is asked.

LENGTHS = f"{SHORTEST} to {LONGEST} characters"


def forecast(plan: Plan, cases: Sequence[Case], *, wanted: int, named: str) -> str:
    """Say what a test would take at most; nobody is asked."""
    questions = plan_questions(cases)

    def usage(guess: Guess) -> Usage:
        judge = make_judge(plan, asked=[[VerifyClaims.kind]], guess=guess)
        return asyncio.run(estimate_usage(judge, questions))

    claims = sum(len(case.claims) for case in cases)
    of = count(claims, "claim") if claims >= wanted else f"the {count(claims, 'claim')}"
    said = f"Testing {plan.judge} on {of} of {named}"
    least, most = usage(LEAST), usage(MOST)
    if most.local_calls:
        said += f", at most {count(most.local_calls, 'call')} of a model on this machine"
    if not most.calls:
        return f"{said}: nothing to pay"
    said = f"{said}: at most {count(most.calls, 'call')}"
    if least.calls != most.calls:
        said += f" ({least.calls:,} if all goes well)"
    if plan.max_calls is not None and plan.max_calls < most.calls:
        said += f", of which --max-calls allows {plan.max_calls:,}"
    if most.cost_usd == 0:
        return f"{said}, at no cost"
    if least.cost_usd is None or most.cost_usd is None:
        return f"{said}; no price is known"
    between = f"{dollars(least.cost_usd)} to {dollars(most.cost_usd)}"
    return f"{said}, {between} by list prices (an estimate)"


def passed_over(found: SkippedCounts) -> str:
    """Say what gave no claim, after what a test would take."""
    told = list(_reasons(found))
    return f". Claims have {LENGTHS}; passed over: {', '.join(told)}" if told else ""


def nothing_to_test(named: str, found: SkippedCounts) -> str:
    """Say why there is no claim at all, and what to do."""
    told = ", ".join(_reasons(found)) or f"no text in {count(found.rows, 'row')}"
    return (
        f"{named}: no row has contexts and a claim of {LENGTHS} (passed over: {told}); "
        "`ragstone collect` asks a RAG system for answers and contexts, and without DATA the "
        "claims are those of the demo's manuals"
    )


def _reasons(found: SkippedCounts) -> Sequence[str]:
    told: list[str] = []
    if found.without_contexts:
        told.append(f"{count(found.without_contexts, 'row')} without contexts")
    if found.short:
        told.append(f"{count(found.short, 'shorter sentence')}")
    if found.long:
        told.append(f"{count(found.long, 'longer sentence')}")
    return told


# What becomes of a judge's test: JSON where it was asked for, and an exit code.


def write_test(file: str, result: JudgeTest, marks: Sequence[JudgeTestGate]) -> None:
    """Write a test as JSON into a file; `-` is standard output.

    Raises:
        UsageError: the file system refuses.
    """
    told: dict[str, object] = result.model_dump(mode="json")
    told["kinds"] = [
        {**kind.model_dump(mode="json"), "share": kind.share, "interval": kind.interval}
        for kind in result.kinds
    ]
    told["gates"] = [
        {"kind": mark.kind, "threshold": mark.threshold, "value": mark.result(result).share,
         "passed": mark.check(result)}
        for mark in marks
    ]  # fmt: skip
    text = json.dumps(told, ensure_ascii=False, indent=2) + "\n"
    if file == "-":
        click.echo(text, nl=False)
    else:
        write_file(Path(file), partial(_fill, text=text))


def _fill(path: Path, *, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def code_of(result: JudgeTest, marks: Sequence[JudgeTestGate]) -> int:
    """Say what was missed, and return the exit code."""
    missed, blind = failed_gates(marks, result)
    for mark in missed:
        held = mark.result(result)
        click.echo(
            f"Gate FAILED: {mark.kind} {held.share:.1%} is under {mark.threshold:.0%}", err=True
        )
    troubles = [f"{mark.kind}: nothing was answered" for mark in blind]
    if result.stopped:
        tested = f"{result.claims:,} of {count(result.planned, 'claim')} tested"
        troubles.append(f"{result.stopped}, {tested}: nothing is saved")
    if result.failed > MAX_FAILURES * result.asked:
        troubles.append(
            f"{result.failed:,} of {count(result.asked, 'question')} were not answered; "
            f"the first: {result.why}"
        )
    if result.claims and not result.supported:
        troubles.append("the judge called no claim supported, so none could be changed")
    if troubles:
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(troubles)}", err=True)
        return TOO_MUCH_FAILED
    return GATE_FAILED if missed else 0


# What a judge missed in its test, claim by claim: a few of each kind.

WIDEST = 200
"""Characters shown of a claim."""


def print_missed(test: JudgeTest, console: Console, *, most: int) -> None:
    """Print at most `most` claims of each kind at which the judge did not do what is wanted."""
    missed = test.missed()
    if not missed or not most:
        return
    more = any(len(found) > most for found in missed.values())
    rest = "; --show N shows more, --json FILE has all" if more else ""
    console.print()
    console.print(Text(f"What it missed, kind by kind{rest}:"))
    for kind, found in missed.items():
        for number, tried in enumerate(found[:most]):
            head = f"{kind} ({len(found):,})" if not number else ""
            console.print()
            console.print(Text(f"  {head:<22}sample {one_line(tried.sample, 60)}", "bold"))
            for name, text in _lines(tried):
                console.print(Text(f"    {name:<5} {text}"), soft_wrap=True)


def _lines(tried: TrialResult) -> Iterator[tuple[str, str]]:
    if tried.claim != tried.was:
        yield "was", one_line(tried.was, WIDEST)
        yield "put", one_line(tried.claim, WIDEST)
    else:
        yield "claim", one_line(tried.claim, WIDEST)
    kept = KINDS[tried.kind] == "kept"
    yield "said", f"{tried.label_before}, then {tried.label}" if kept else f"{tried.label}"


OURS = "the demo's manuals"
INTERRUPT = "it was interrupted"

_TEST = (
    click.Option(
        ["--n"],
        type=click.IntRange(1),
        default=60,
        show_default=True,
        metavar="N",
        help="Number of claims to test.",
    ),
    CONFIG,
    click.Option(["--dry-run"], is_flag=True, help="Estimate calls and cost; call nothing."),
)
_RESULT = (
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="[KIND=]SHARE",
        help="Exit 1 if a smaller share is right: 80% of all, number=90% of a kind, noticed=80% of "
        "all changes.",
    ),
    click.Option(
        ["--show"],
        type=click.IntRange(0),
        default=1,
        show_default=True,
        metavar="N",
        help="Number of missed changes to show of each kind; --json has all.",
    ),
    click.Option(["--json", "json_file"], metavar="FILE|-", help="Write the result as JSON."),
    click.Option(["--no-store"], is_flag=True, help="Do not save the result."),
)


class JudgeTestArgs(TypedDict):
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
    """Test the judge.

    \b
    ragstone judge test answers.jsonl --model gpt-4o-mini
    """


@command.command(
    name="test",
    cls=GroupedCommand,
    params=[click.Argument(["data"], required=False)],
    groups={"Data": READING, "Test": _TEST, "Judge": JUDGE, "Limits": LIMITS, "Result": _RESULT},
    brief=True,
    epilog="Exit codes: 0 success; 1 a gate failed; 2 usage or input error; 3 too many failures, "
    "over budget, or a gate with nothing to check; 130 interrupted.",
)
def test(**given: Unpack[JudgeTestArgs]) -> None:
    """Test a judge without labels: does it notice errors injected into claims?

    The test takes claims of DATA that the judge calls supported (rows need contexts, and a response
    or reference), changes each in several ways (a number, a name, a negation ...), counts how
    often the judge notices, and lists what it missed. Reordering contexts or claims must not
    change a verdict. Without DATA, the claims come from the demo's manuals. The result is saved,
    and reports of runs with this judge show it.

    \b
    ragstone judge test answers.jsonl
    ragstone judge test answers.jsonl --model gpt-4o-mini --n 30 --max-cost 0.50
    ragstone judge test answers.jsonl --judge local:models/nli --fail-under number=90%
    """
    config = config_here() if given["config"] is None else read_config(given["config"])
    # here --fail-under is about kinds of changes, not about metrics
    typed = typed_settings({**given, "fail_under": ()})
    plan = config.plan(typed)
    check_needed(plan, typed)
    marks = [JudgeTestGate.of(text) for text in given["fail_under"]]
    samples, data = _samples(given["data"], plan)
    cases = select_cases(samples, given["n"])
    if not cases:
        raise UsageError(nothing_to_test(data.name, SkippedCounts.of(samples)))
    told = forecast(plan, cases, wanted=given["n"], named=data.name)
    if sum(len(case.claims) for case in cases) < given["n"]:
        told += passed_over(SkippedCounts.of(samples))
    if given["dry_run"]:
        click.echo(f"Dry run: no calls were made. {told}")
    else:
        click.echo(told, err=True)
        sys.exit(_finished(given, plan, cases, data=data, marks=marks))


def _finished(
    given: JudgeTestArgs,
    plan: Plan,
    cases: Sequence[Case],
    *,
    data: Source,
    marks: Sequence[JudgeTestGate],
) -> int:
    """Test the judge, tell what came of it, and return the exit code."""
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[[VerifyClaims.kind]], budget=budget)
    testing = JudgeTestRunner(judge, cases)
    free = is_free(plan.judge)
    interrupted = not _went_on(testing, plan.concurrency, lambda: None if free else budget.spent)
    stopped = INTERRUPT if interrupted else budget.spent
    result = testing.result(data=data.name, version=VERSION, stopped=stopped)
    result = result.model_copy(update={"fingerprint": data.fingerprint})
    if result.conclusive and not given["no_store"]:
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
            f"Interrupted, {so_far}; nothing is saved, and replies of the model are {answered}.",
            err=True,
        )
        return INTERRUPTED
    return code_of(result, marks)


def _samples(data: str | None, plan: Plan) -> tuple[Sequence[Sample], Source]:
    if data is None:
        samples = grounded_samples()[: plan.limit]
        return samples, Source(name=OURS, fingerprint="", rows=len(samples))
    dataset = load(data, sheet=plan.sheet, columns=plan.columns, limit=plan.limit, queries=False)
    return dataset.samples, dataset.source


def _went_on(testing: JudgeTestRunner, concurrency: int, spent: Callable[[], str | None]) -> bool:
    """Test until the end, or until something is spent; False where Ctrl-C ended it."""
    with _progress() as on_case:
        try:
            finish_in_thread(
                partial(
                    testing.run,
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
        saved = save_test(key, result)
    except OSError as error:
        click.echo(f"The result could not be saved to {FILE}: {error}", err=True)
        return
    if saved.backup:
        said = f"{FILE} could not be read (another version's?), and is now {saved.backup}"
        click.echo(said, err=True)
    if larger := saved.larger:
        click.echo(
            f"Not saved: {FILE} has a test of {count(larger.claims, 'claim')} of the same data "
            f"({larger.at:%Y-%m-%d}), this one is of {result.claims:,}. Reports show that one.",
            err=True,
        )
    else:
        click.echo(f"Saved to {FILE}: reports of runs with this judge will show it.", err=True)
