"""`ragstone judge`: `test` tests the configured judge without labels."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
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
from ragstone._internal.files import write_text
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, one_line
from ragstone.cli import GATE_FAILED, INTERRUPTED, TOO_MUCH_FAILED
from ragstone.cli.commands.judge_again import noise, probe
from ragstone.cli.options import (
    CONFIG,
    JUDGE,
    LIMITS,
    READING,
    GroupedCommand,
    explicit_settings,
    typed_settings,
)
from ragstone.cli.output import check_extension
from ragstone.cli.parse import config_of
from ragstone.datasets import load
from ragstone.datasets.columns import ALIASES, flag
from ragstone.demo.questions import grounded_samples
from ragstone.errors import UsageError
from ragstone.evaluation.effects import check_judge_settings
from ragstone.evaluation.fingerprint import VERSION, judge_key
from ragstone.evaluation.judge_testing import (
    FILE,
    JudgeTest,
    JudgeTestRunner,
    KindResult,
    SkippedCounts,
    plan_questions,
    save_test,
    select_cases,
)
from ragstone.evaluation.judge_testing.cases import LONGEST, SHORTEST, Case
from ragstone.evaluation.judge_testing.result import MAX_FAILURES, WORDS
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
from ragstone.results.stats.intervals import Share
from ragstone.types.config import Plan, Source
from ragstone.types.questions import VerifyClaims
from ragstone.types.reply import Usage

CHANGES: Mapping[str, str] = MappingProxyType(
    {
        "number": "a different number",
        "date": "a different date, month, weekday or year",
        "unit": "a different unit or currency",
        "name": "a name from another sample",
        "negation": "a negation added or removed",
        "qualifier": "a qualifier removed (`only`, `up to`, `if ...`)",
        "invented": "a sentence from another sample added",
        "unrelated": "a claim from another sample, unchanged",
        "order_in_claim": "that claim, with an instruction to call it supported",
        "order_in_context": "that claim, with the instruction in a context",
        "copied": "a sentence from the contexts, unchanged",
        "evidence_moved": "the context with the evidence last",
        "claims_reversed": "the claims in reverse order",
    }
)
"""Kind of change -> what was changed."""
WIDE = 100
"""Columns of a terminal that shows what was changed."""
WIDEST = 200
"""Characters shown of a claim."""
LENGTHS = f"{SHORTEST} to {LONGEST} characters"
OURS = "the demo's manuals"
INTERRUPT = "it was interrupted"


def print_test(test: JudgeTest, console: Console) -> None:
    """Print a test's results: for each kind of change, the share that is right and its interval."""
    claims = count(test.claims, "claim")
    if test.stopped:
        claims = f"{test.claims:,} of {count(test.planned, 'claim')} ({test.stopped})"
    changed = "; the changes below were made to supported claims only" if test.supported else ""
    console.print(
        Text(
            f"{test.judge} was tested on {claims} from {count(test.samples, 'sample')} of "
            f"{test.data}. It found {test.supported:,} of the original claims supported{changed}."
        )
    )
    for wanted, heading in WORDS.items():
        kinds = [kind for kind in test.kinds if kind.wanted == wanted]
        if len(kinds) > 1:
            kinds.append(test.total(wanted))
        console.print()
        console.print(_table(heading, kinds, console.width >= WIDE))
    if test.local_calls:
        console.print()
        calls = count(test.local_calls, "call")
        console.print(Text(f"{calls} to a local model, at no cost"))
    if not test.calls and not test.failed and not test.unasked:
        return
    console.print()
    cost = "price unknown" if test.cost_usd is None else f"about {dollars(test.cost_usd)}"
    failed = f"; {count(test.failed, 'question')} without an answer" if test.failed else ""
    unasked = f"; {count(test.unasked, 'question')} not asked" if test.unasked else ""
    console.print(Text(f"{count(test.calls, 'call')}, {cost}{failed}{unasked}"))


def _table(heading: str, kinds: Sequence[KindResult], wide: bool) -> Table:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("kind")
    if wide:
        table.add_column("what was done")
    for head in (heading, "95% interval", "applied to"):
        table.add_column(head, justify="right")
    for kind in kinds:
        if kind.kind == kind.wanted:  # the total
            name, done, applied = "total", "", ""
        else:
            name, done = kind.kind, CHANGES[kind.kind]
            applied = f"{kind.applied:,} of {kind.of:,}"
        share = Share(kind.right, kind.answered)
        figures = (share.seen, share.interval) if kind.answered else (NO_VALUE, NO_VALUE)
        cells = (done, *figures, applied) if wide else (*figures, applied)
        table.add_row(Text(name, "bold"), *map(Text, cells))
    return table


def estimate_test(plan: Plan, cases: Sequence[Case], *, wanted: int, named: str) -> str:
    """Return the maximum number of calls of a test and their cost, in words; makes no calls."""
    questions = plan_questions(cases)

    def usage(guess: Guess) -> Usage:
        judge = make_judge(plan, asked=[[VerifyClaims.kind]], guess=guess)
        return asyncio.run(estimate_usage(judge, questions))

    claims = sum(len(case.claims) for case in cases)
    of = count(claims, "claim") if claims >= wanted else f"the {count(claims, 'claim')}"
    text = f"Testing {plan.judge} on {of} from {named}"
    least, most = usage(LEAST), usage(MOST)
    if most.local_calls:
        text += f", at most {count(most.local_calls, 'call')} to a local model"
    if not most.calls:
        return f"{text}: at no cost"
    text += f": at most {count(most.calls, 'call')}"
    if least.calls != most.calls:
        text += f" ({least.calls:,} if all goes well)"
    if plan.max_calls is not None and plan.max_calls < most.calls:
        text += f"; --max-calls allows {plan.max_calls:,}"
    if most.cost_usd == 0:
        return f"{text}, at no cost"
    if least.cost_usd is None or most.cost_usd is None:
        return f"{text}; price unknown"
    between = f"{dollars(least.cost_usd)} to {dollars(most.cost_usd)}"
    return f"{text}, {between} at list prices (an estimate)"


def _skipped(counts: SkippedCounts) -> str:
    reasons = (
        (counts.without_contexts, "row", " without contexts"),
        (counts.short, "shorter sentence", ""),
        (counts.long, "longer sentence", ""),
    )
    return ", ".join(f"{count(number, what)}{more}" for number, what, more in reasons if number)


def write_test(file: str, result: JudgeTest, gates: Sequence[JudgeTestGate]) -> None:
    """Write a test as JSON into a file; `-` is standard output.

    Raises:
        UsageError: the file cannot be written.
    """
    document: dict[str, object] = result.model_dump(mode="json")
    document["kinds"] = [
        {**kind.model_dump(mode="json"), "share": kind.share, "interval": kind.interval}
        for kind in result.kinds
    ]
    document["gates"] = [
        {"kind": gate.kind, "threshold": gate.threshold, "value": gate.result(result).share,
         "passed": gate.check(result)}
        for gate in gates
    ]  # fmt: skip
    text = json.dumps(document, ensure_ascii=False, indent=2) + "\n"
    if file == "-":
        click.echo(text, nl=False)
    else:
        write_text(Path(file), text)


def code_of(result: JudgeTest, gates: Sequence[JudgeTestGate]) -> int:
    """Print failed gates and other problems, and return the exit code."""
    failed, unanswered = failed_gates(gates, result)
    for gate in failed:
        share = gate.result(result).share
        click.echo(f"Gate FAILED: {gate.kind} {share:.1%} is below {gate.threshold:.0%}", err=True)
    troubles = [f"{gate.kind}: no question was answered" for gate in unanswered]
    if result.stopped:
        tested = f"{result.claims:,} of {count(result.planned, 'claim')} tested"
        troubles.append(f"{result.stopped}, {tested}: the result was not saved")
    if result.failed > MAX_FAILURES * result.asked:
        troubles.append(
            f"{result.failed:,} of {count(result.asked, 'question')} were not answered; "
            f"the first: {result.why}"
        )
    if result.claims and not result.supported:
        troubles.append("the judge found no claim supported, so none could be changed")
    if troubles:
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(troubles)}", err=True)
        return TOO_MUCH_FAILED
    return GATE_FAILED if failed else 0


def print_missed(test: JudgeTest, console: Console, *, most: int) -> None:
    """Print at most `most` claims of each kind that the judge judged wrong."""
    missed = test.missed()
    if not missed or not most:
        return
    more = any(len(found) > most for found in missed.values())
    rest = "; --show N shows more, --json FILE lists all" if more else ""
    console.print()
    console.print(Text(f"Missed changes, by kind{rest}:"))
    for kind, found in missed.items():
        for number, tried in enumerate(found[:most]):
            head = f"{kind} ({len(found):,})" if not number else ""
            console.print()
            console.print(Text(f"  {head:<22}sample {one_line(tried.sample, 60)}", "bold"))
            changed = tried.claim != tried.was
            lines = {"was": one_line(tried.was, WIDEST)} if changed else {}
            lines["now" if changed else "claim"] = one_line(tried.claim, WIDEST)
            before = f"{tried.label_before}, then " if KINDS[tried.kind] == "kept" else ""
            lines["label"] = f"{before}{tried.label}"
            for name, text in lines.items():
                console.print(Text(f"    {name:<5} {text}"), soft_wrap=True)


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
    click.Option(["--dry-run"], is_flag=True, help="Estimate calls and cost; make no calls."),
)
_RESULT = (
    click.Option(
        ["--fail-under"],
        multiple=True,
        metavar="[KIND=]SHARE",
        help="Exit 1 if the share of correct verdicts is below this: 80% (of all), number=90% "
        "(of one kind), noticed=80% (of all changes).",
    ),
    click.Option(
        ["--show"],
        type=click.IntRange(0),
        default=1,
        show_default=True,
        metavar="N",
        help="Number of missed changes to show per kind; --json lists all.",
    ),
    click.Option(["--json", "json_file"], metavar="FILE|-", help="Write the result as JSON."),
    click.Option(["--no-store"], is_flag=True, help="Do not save the result."),
)


class JudgeTestArgs(TypedDict):
    """The options, as click passes them; those of settings are beside these, None if not typed."""

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
    """Test the judge: does it notice errors, is it stable, has it changed?

    \b
    ragstone judge test answers.jsonl --model gpt-4o-mini
    ragstone judge noise last --repeat 3
    ragstone judge probe last
    """


command.add_command(noise)
command.add_command(probe)


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

    The test takes claims from DATA that the judge finds supported (rows need contexts, and a
    response or reference), changes each in several ways (a number, a name, a negation ...), counts
    how often the judge notices, and lists what it missed. Reordering contexts or claims must not
    change a verdict. Without DATA, the claims come from the demo's manuals. The result is saved,
    and reports of runs with this judge show it.

    \b
    ragstone judge test answers.jsonl
    ragstone judge test answers.jsonl --model gpt-4o-mini --n 30 --max-cost 0.50
    ragstone judge test answers.jsonl --judge local:models/nli --fail-under number=90%
    """
    config = config_of(given["config"])
    # here --fail-under sets gates for kinds of changes, not for metrics
    given_settings = {**given, "fail_under": ()}
    plan = config.plan(typed_settings(given_settings))
    check_judge_settings(explicit_settings(given_settings), plan)
    check_extension("json", Path(given["json_file"] or "-"))
    gates = [JudgeTestGate.of(text) for text in given["fail_under"]]
    if given["data"] is None:
        samples = grounded_samples()[: plan.limit]
        data = Source(name=OURS, fingerprint="", rows=len(samples))
    else:
        dataset = load(
            given["data"],
            sheet=plan.sheet,
            columns=plan.columns,
            limit=plan.limit,
            queries=False,
        )
        samples, data = dataset.samples, dataset.source
    cases = select_cases(samples, given["n"])
    if not cases:
        skipped = SkippedCounts.of(samples)
        reasons = _skipped(skipped) or f"no text in {count(skipped.rows, 'row')}"
        columns = ""
        if skipped.without_contexts == skipped.rows:
            names = ", ".join(("contexts", *ALIASES["contexts"]))
            others = dict.fromkeys(tag for sample in samples for tag in sample.tags)
            columns = (
                f"contexts are read from a column named {names}; "
                f"the other columns are {', '.join(map(repr, others)) or 'none'}; "
                f"map one with {flag('contexts', 'COLUMN')}, or "
            )
        raise UsageError(
            f"{data.name}: no row has contexts and a claim of {LENGTHS} (skipped: {reasons}); "
            f"{columns}collect answers and contexts with `ragstone collect`, or omit DATA to "
            "use claims from the demo's manuals"
        )
    estimate = estimate_test(plan, cases, wanted=given["n"], named=data.name)
    few = sum(len(case.claims) for case in cases) < given["n"]
    if few and (reasons := _skipped(SkippedCounts.of(samples))):
        estimate += f". Claims have {LENGTHS}; skipped: {reasons}"
    if given["dry_run"]:
        click.echo(f"Dry run: no calls were made. {estimate}")
    else:
        click.echo(estimate, err=True)
        sys.exit(_run(given, plan, cases, data=data, gates=gates))


def _run(
    given: JudgeTestArgs,
    plan: Plan,
    cases: Sequence[Case],
    *,
    data: Source,
    gates: Sequence[JudgeTestGate],
) -> int:
    """Test the judge, save and print the result, and return the exit code."""
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[[VerifyClaims.kind]], budget=budget)
    runner = JudgeTestRunner(judge, cases)
    free = is_free(plan.judge)
    interrupted = False
    console = Console(stderr=True)
    columns = (TextColumn("testing"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("testing", total=None)

        def on_case(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        try:
            finish_in_thread(
                partial(
                    runner.run,
                    concurrency=plan.concurrency,
                    spent=lambda: None if free else budget.spent,
                    on_case=on_case,
                )
            )
        except KeyboardInterrupt:
            interrupted = True
    stopped = INTERRUPT if interrupted else budget.spent
    result = runner.result(data=data.name, version=VERSION, stopped=stopped)
    result = result.model_copy(update={"fingerprint": data.fingerprint})
    if result.conclusive and not given["no_store"]:
        _save(judge_key(plan, judge, VERSION), result)
    file = given["json_file"]
    console = Console(highlight=False, stderr=file == "-")
    if result.asked:
        print_test(result, console)
        print_missed(result, console, most=given["show"])
    if file is not None:
        write_test(file, result, gates)
    if interrupted:
        replies = "in the reply cache" if plan.cache else "lost (--no-cache)"
        so_far = f"{result.claims:,} of {count(result.planned, 'claim')} tested"
        click.echo(
            f"Interrupted: {so_far}. The result was not saved; the model's replies are {replies}.",
            err=True,
        )
        return INTERRUPTED
    return code_of(result, gates)


def _save(key: str, result: JudgeTest) -> None:
    try:
        saved = save_test(key, result)
    except OSError as error:
        click.echo(f"The result could not be saved to {FILE}: {error}", err=True)
        return
    if saved.backup:
        click.echo(
            f"{FILE} could not be read (written by another version?); it was renamed to "
            f"{saved.backup}",
            err=True,
        )
    if larger := saved.larger:
        click.echo(
            f"Not saved: {FILE} contains a larger test of the same data "
            f"({count(larger.claims, 'claim')}, {larger.at:%Y-%m-%d}); this test has only "
            f"{result.claims:,}. Reports show the larger one.",
            err=True,
        )
    else:
        click.echo(f"Saved to {FILE}: reports of runs with this judge will show it.", err=True)
