"""`ragstone judge`: does the judge notice errors, is it stable, has it changed?"""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Self

import click
import numpy as np
from rich.console import Console
from rich.text import Text

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, one_line
from ragstone.cli import GATE_FAILED, INTERRUPTED, TOO_MUCH_FAILED
from ragstone.cli.options import (
    CONFIG,
    JUDGE,
    LIMITS,
    PLUGIN,
    READING,
    RUN,
    STORE,
    Given,
    GroupedCommand,
    config_of,
    explicit_settings,
    json_file,
    load_plugins,
    open_store,
    option,
    read_by,
    typed_settings,
)
from ragstone.cli.output import check_extension, check_files, progress, progress_bar, write_document
from ragstone.datasets import load, samples_of
from ragstone.datasets.columns import ALIASES, flag
from ragstone.demo.questions import grounded_samples
from ragstone.errors import UsageError
from ragstone.evaluation.dry_run import estimate_calls, estimate_rows, usage_of
from ragstone.evaluation.fingerprint import VERSION, JudgeSetup, judge_key
from ragstone.evaluation.judge_testing.again import (
    NOISE,
    PROBES,
    Noise,
    add_looks,
    agreements,
    judge_again,
    look_of,
    noise_of,
    read_looks,
    same_claims,
    sample_rows,
)
from ragstone.evaluation.judge_testing.cases import (
    LONGEST,
    SHORTEST,
    Case,
    SkippedCounts,
    select_cases,
)
from ragstone.evaluation.judge_testing.result import FILE, MAX_FAILURES, WORDS, JudgeTest, save_test
from ragstone.evaluation.judge_testing.runner import (
    KINDS,
    JudgeTestGate,
    JudgeTestRunner,
    plan_questions,
)
from ragstone.evaluation.preflight import check_judge_settings
from ragstone.evaluation.rescore import TranscriptMissingError
from ragstone.judges.base import Judge
from ragstone.judges.factory import make_judge
from ragstone.judges.spec import is_free
from ragstone.metrics import Metric, get
from ragstone.reports.format import NO_VALUE, dollars
from ragstone.reports.tables import STDOUT
from ragstone.reports.terminal import Grid, GridRow, print_grid, print_table
from ragstone.results.calibration import FEWEST, majority, verdict_of
from ragstone.results.compare.comparison import choose_metrics
from ragstone.results.run import Run
from ragstone.results.stats.distributions import NORMAL
from ragstone.results.stats.intervals import Share
from ragstone.results.stats.sequential import MOVED, drift_evidence, mean_sequence
from ragstone.store import Store, find_run
from ragstone.types.config import Plan, Source
from ragstone.types.questions import VerifyClaims
from ragstone.types.row import Row


def _params(default: int, least: int, repeat: str) -> list[click.Parameter]:
    return [
        click.Argument(["run"]),
        option("--repeat", repeat, type=click.IntRange(least, 100), default=default, metavar="N"),
        option("--dry-run", "Estimate calls and cost; make no calls.", is_flag=True),
        *LIMITS,
        PLUGIN,
        json_file("result"),
        STORE,
    ]


@dataclass(frozen=True)
class Again:
    """A stored run whose rows are judged again.

    Attributes:
        plan: the run's, without the cache, and with the limits given now.
    """

    run: Run
    plan: Plan
    given: Given

    @classmethod
    def of(cls, store: Store, run_id: str, given: Given) -> Self:
        """Read a run, and check that its judge can be asked."""
        info = store.info(run_id)
        check_files(given["file"], inputs=read_by(store, info))
        check_extension("json", given["file"] or STDOUT)
        if info.manifest.judge is None:
            raise UsageError(f"run {run_id} has no metric that asks a judge")
        load_plugins(*config_of().plugins, *given["plugin"])
        update = {"cache": False, "max_calls": None, "max_cost": None, **typed_settings(given)}
        return cls(store.load(run_id), info.manifest.plan.model_copy(update=update), given)

    def judge(
        self,
        rows: Sequence[Row],
        metrics: Sequence[Metric],
        around: Callable[[Judge], Judge] = lambda judge: judge,
    ) -> tuple[list[dict[int, Row]], str | None]:
        """Judge rows again; return them for each repeat, and the budget if one was spent.

        The number of calls is printed before; with --dry-run, this is all.
        """
        times, plan = self.given["repeat"], self.plan
        unlimited = plan.model_copy(update={"max_cost": None})
        samples = [row.sample for row in rows] * times
        cost = estimate_rows(unlimited, samples, metrics, asks_target=False, around=around)
        words = f"Judging {count(len(rows), 'row')} of run {self.run.manifest.run_id} "
        words += f"{count(times, 'time')} with {plan.judge}, without the reply cache: {cost}"
        if self.given["dry_run"]:
            click.echo(f"Dry run: no calls were made. {words}")
            sys.exit(0)
        click.echo(words, err=True)
        budget = Budget(plan.max_calls, plan.max_cost)
        judge = around(make_judge(plan, budget=budget))
        with progress(Console(stderr=True)) as on_row:
            ask = partial(judge_again, times=times, concurrency=plan.concurrency, on_row=on_row)
            judged = finish_in_thread(partial(ask, rows, metrics, judge))
        return judged, budget.spent


@click.command(
    name="noise",
    params=[
        *_params(3, 2, "How many times each row is judged."),
        option("--rows", "Number of rows, drawn at random.", least=2, default=30, metavar="M"),
        option("-m --metric", "Judge only these.", multiple=True, metavar="NAME"),
    ],
    epilog=f"{RUN} Exit codes: 0 success; 2 usage error; 3 too few rows were judged.",
)
def noise(**given: Any) -> None:
    """Measure the judge's noise: judge rows of a stored RUN several times.

    The variance of the scores is split into that between rows, which more questions reduce, and
    that between judgments of one row, which `--votes` reduces. `ragstone plan --like RUN` uses it.

    \b
    ragstone judge noise last --dry-run
    ragstone judge noise last --repeat 5 --rows 50 --max-cost 1
    """
    with open_store(given["store"], reading=True) as store:
        again = Again.of(store, find_run(store, given["run"]), given)
        run = again.run
        metrics = [metric for name in run.metrics if (metric := get(name)).question_kinds]
        if given["metric"]:
            judged = list(map(str, metrics))
            metrics = list(map(get, choose_metrics(given["metric"], judged, "judged metric")))
        rows = sample_rows(run.rows, map(str, metrics), given["rows"])
    if not rows:
        raise UsageError(f"run {run.manifest.run_id} has no scores of a judged metric")
    if is_free(again.plan.judge) and again.plan.embedding_model is None:
        click.echo(
            f"Warning: {again.plan.judge} always gives the same answer, so its noise is 0", err=True
        )
    judged, spent = again.judge(rows, metrics)
    measured = {str(each): noise_of(judged, str(each)) for each in metrics}
    scored = {name: summary.scored for name, summary in run.summary().items()}
    found = {name: each for name, each in measured.items() if each and scored[name]}
    widths = {name: half_widths(each, scored[name]) for name, each in found.items()}
    document = {
        "run_id": run.manifest.run_id,
        "judge": again.plan.judge,
        "repeats": given["repeat"],
        "metrics": {name: {**each, "half_widths": widths[name]} for name, each in found.items()},
    }
    console = write_document(given["file"], document)
    if len(found) < len(metrics):
        few = ", ".join(name for name in measured if name not in found)
        why = spent or f"fewer than 2 rows were scored {given['repeat']} times"
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {few}: {why}", err=True)
        sys.exit(TOO_MUCH_FAILED)
    write_document(NOISE / f"{run.manifest.run_id}.json", document)
    lines: list[Sequence[str]] = []
    for name, each in found.items():
        both = each["sampling"] + each["judge"]
        judge = f"{each['judge'] / both if both else 0:.0%}"
        ends = [f"± {width:.4f}" for width in widths[name].values()]
        lines.append((name, f"{each['rows']:,}", f"{each['unchanged']:.0%}", judge, *ends))
    heads = ("metric", "rows", "unchanged", "judge", "interval", "one more judgment")
    print_table(console, (*heads, "twice the rows"), lines)
    console.print(
        "\nunchanged: rows with the same score each time. judge: its share of the variance of one "
        "score.\ninterval: of the run's mean, if rows are independent; then with one more judgment "
        "of each row, and with as many calls for new rows."
    )


def half_widths(noise: Noise, rows: int) -> dict[str, float]:
    """Return half the width of the 95% interval of a mean of so many independent rows.

    `now`, with one more judgment of each row, and with twice the rows, which costs as much.
    """
    both, z = noise["sampling"] + noise["judge"], NORMAL.inv_cdf(0.975)
    return {
        "now": z * math.sqrt(both / rows),
        "one_more_judgment": z * math.sqrt((noise["sampling"] + noise["judge"] / 2) / rows),
        "twice_the_rows": z * math.sqrt(both / rows / 2),
    }


@click.command(
    name="probe",
    params=_params(1, 1, "Number of probes to make now."),
    epilog=f"{RUN} Exit codes: 0 no drift was found; 1 the judge moved; 2 usage error; 3 there are "
    "too few labels or answers.",
)
def probe(**given: Any) -> None:
    """Has the judge changed? Ask it about the labelled claims of a stored RUN again.

    Run it every day, or after a model update. Each probe is compared with all earlier ones; the
    probability of a false alarm is at most 5%, however often it runs. The first probes are the
    baseline, so make some when you label: `--repeat 5`.

    \b
    ragstone judge probe last --repeat 5
    ragstone judge probe baseline --max-cost 0.50 --json -
    """
    with open_store(given["store"], reading=True) as store:
        run_id = find_run(store, given["run"])
        again = Again.of(store, run_id, given)
        if not store.info(run_id).transcript:
            raise TranscriptMissingError(run_id)
        units = majority(store.labels(run_id))
        positions = {position for _, position, _ in units}
        rows = [row for row in again.run.rows if row.index in positions]
    stored = {row.index: row.scores for row in rows}
    units = {
        (metric, row, claim): value
        for (metric, row, claim), value in units.items()
        if verdict_of(stored.get(row, {}).get(metric), claim) is not None
    }
    if len(units) < FEWEST:
        click.echo(
            f"Exit code {TOO_MUCH_FAILED}: run {run_id} has {count(len(units), 'label')} that can "
            f"be compared with a verdict; at least {FEWEST} are needed",
            err=True,
        )
        sys.exit(TOO_MUCH_FAILED)
    path = PROBES / f"{run_id}.jsonl"
    before = read_looks(path)
    metrics = [get(name) for name in dict.fromkeys(metric for metric, _, _ in units)]
    judged, spent = again.judge(rows, metrics, same_claims(rows))
    setup = JudgeSetup(again.plan, make_judge(again.plan)).hash([VerifyClaims.kind])
    looks = [look_of(each, units, version=VERSION, setup=setup) for each in judged]
    unanswered = max(list(look.verdicts.values()).count(None) for look in looks)
    if unanswered > MAX_FAILURES * len(units):
        why = spent or f"{unanswered:,} of {count(len(units), 'label')} have no verdict now"
        click.echo(f"Exit code {TOO_MUCH_FAILED}: {why}; nothing was recorded", err=True)
        sys.exit(TOO_MUCH_FAILED)
    add_looks(path, looks)
    every = [*before, *looks]
    counts, sizes = agreements(every, units)
    evidence = drift_evidence(counts)
    known = counts >= 0
    shares = [
        float(of[seen].sum() / sizes[seen].sum()) if seen.any() else None
        for of, seen in zip(counts, known, strict=True)
    ]
    moved = bool(evidence.max() >= MOVED)
    ends = mean_sequence(np.where(known, counts / sizes, np.nan)).tolist()
    document = {
        "run_id": run_id,
        "judge": again.plan.judge,
        "labels": len(units),
        "rows": len(sizes),
        "moved": moved,
        "p": min(1.0, 1 / float(evidence.max())),
        "probes": [
            {"at": look.at, "agreement": share, "interval": both, "evidence": float(each)}
            for look, share, both, each in zip(every, shares, ends, evidence, strict=True)
        ],
        "file": str(path),
    }
    console = write_document(given["file"], document)
    earlier, now = shares[: len(before)], shares[len(before) :]
    then = f"; {len(before):,} earlier: {_range(earlier)}" if before else ""
    console.print(
        f"{again.plan.judge} agrees with {_range(now)} of {count(len(units), 'label')} in "
        f"{count(len(looks), 'probe')}{then}.",
        markup=False,
    )
    strength = f"evidence {evidence.max():.2g}, drift from {MOVED:.0f}"
    if not moved:
        first = "This is the first probe; later ones are compared with it."
        low, high = ends[-1]
        console.print(
            f"Mean agreement of a row: {low:.0%} to {high:.0%} (95%, however often you probe).",
            f"No drift found ({strength})." if len(every) > 1 else first,
            sep="\n",
            markup=False,
        )
        return
    changed = {look.setup for look in every}, {look.version for look in every}
    causes = ("its settings or prompts changed", "ragstone's version changed")
    found = [cause for cause, values in zip(causes, changed, strict=True) if len(values) > 1]
    console.print(
        f"The judge moved ({strength}): {' and '.join(found) or 'its model changed'}. Calibrations "
        f"from before do not apply: label again, and delete {path} to begin a new baseline.",
        markup=False,
    )
    sys.exit(GATE_FAILED)


def _range(shares: Sequence[float | None]) -> str:
    known = [share for share in shares if share is not None]
    ends = (min(known), max(known)) if known else ()  # earlier ones may be of other claims
    return " to ".join(dict.fromkeys(f"{share:.0%}" for share in ends)) or "of other claims"


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
WIDEST = 200
"""Characters shown of a claim."""
LENGTHS = f"{SHORTEST} to {LONGEST} characters"
OURS = "the demo's manuals"
INTERRUPT = "it was interrupted"


def print_test(test: JudgeTest, console: Console) -> None:
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
        rows: list[GridRow] = []
        for kind in kinds:
            name, applied = kind.kind, f"{kind.applied:,} of {kind.of:,}"
            if kind.kind == kind.wanted:
                name, applied = "total", ""
            share = Share(kind.right, kind.answered)
            figures = (share.seen, share.interval) if kind.answered else (NO_VALUE, NO_VALUE)
            rows.append(GridRow((name, CHANGES.get(kind.kind, ""), *figures, applied)))
        figures = frozenset((heading, "95% interval", "applied to"))
        heads = ("kind", "what was done", heading, "95% interval", "applied to")
        short = tuple(GridRow((row.cells[0], *row.cells[2:])) for row in rows)
        console.print()
        print_grid(
            console,
            Grid(heads, tuple(rows), figures),
            Grid((heads[0], *heads[2:]), short, figures),
        )
    if test.local_calls:
        console.print(Text(f"\n{count(test.local_calls, 'call')} to a local model, at no cost"))
    if test.calls or test.failed or test.unasked:
        cost = "price unknown" if test.cost_usd is None else f"about {dollars(test.cost_usd)}"
        failed = f"; {count(test.failed, 'question')} without an answer" if test.failed else ""
        unasked = f"; {count(test.unasked, 'question')} not asked" if test.unasked else ""
        console.print(Text(f"\n{count(test.calls, 'call')}, {cost}{failed}{unasked}"))


def estimate_test(plan: Plan, cases: Sequence[Case], *, wanted: int, named: str) -> str:
    questions = plan_questions(cases)
    claims = sum(len(case.claims) for case in cases)
    of = count(claims, "claim") if claims >= wanted else f"the {count(claims, 'claim')}"
    cost = estimate_calls(plan, [VerifyClaims.kind], lambda judge, _: usage_of(judge, questions))
    limited = plan.max_calls is not None and plan.max_calls < cost.calls[1]
    limit = f"; --max-calls allows {plan.max_calls:,}" if limited else ""
    return f"Testing {plan.judge} on {of} from {named}: {cost}{limit}"


def as_document(result: JudgeTest, gates: Sequence[JudgeTestGate]) -> dict[str, object]:
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
    return document


def code_of(result: JudgeTest, gates: Sequence[JudgeTestGate]) -> int:
    failed = False
    troubles: list[str] = []
    for gate in gates:
        share, passed = gate.result(result).share, gate.check(result)
        if passed is None:
            troubles.append(f"{gate.kind}: no question was answered")
        elif not passed:
            failed = True
            seen = f"{gate.kind} {share:.1%} is below {gate.threshold:.0%}"
            click.echo(f"Gate FAILED: {seen}", err=True)
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
    missed = test.missed()
    if not missed or not most:
        return
    more = any(len(found) > most for found in missed.values())
    rest = "; --show N shows more, --json FILE lists all" if more else ""
    console.print(Text(f"\nMissed changes, by kind{rest}:"))
    for kind, found in missed.items():
        for number, tried in enumerate(found[:most]):
            head = f"{kind} ({len(found):,})" if not number else ""
            console.print(Text(f"\n  {head:<22}sample {one_line(tried.sample, 60)}", "bold"))
            changed = tried.claim != tried.was
            lines = {"was": one_line(tried.was, WIDEST)} if changed else {}
            lines["now" if changed else "claim"] = one_line(tried.claim, WIDEST)
            before = f"{tried.label_before}, then " if KINDS[tried.kind] == "kept" else ""
            lines["label"] = f"{before}{tried.label}"
            for name, text in lines.items():
                console.print(Text(f"    {name:<5} {text}"), soft_wrap=True)


_TEST = (
    option("--n", "Number of claims to test.", least=1, default=60),
    CONFIG,
    option("--dry-run", "Estimate calls and cost; make no calls.", is_flag=True),
)
_RESULT = (
    option(
        "--fail-under",
        "Exit 1 if the share of correct verdicts is below this: 80% (of all), number=90% "
        "(of one kind), noticed=80% (of all changes).",
        multiple=True,
        metavar="[KIND=]SHARE",
    ),
    option(
        "--show", "Number of missed changes to show per kind; --json lists all.", least=0, default=1
    ),
    json_file("result"),
    option("--no-store", "Do not save the result.", is_flag=True),
)


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
def test(**given: Any) -> None:
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
    check_extension("json", given["file"] or STDOUT)
    gates = [JudgeTestGate.of(text) for text in given["fail_under"]]
    if given["data"] is None:
        samples = samples_of(grounded_samples(), **plan.selection).samples
        data = Source(name=OURS, fingerprint="", rows=len(samples))
    else:
        dataset = load(
            given["data"],
            sheet=plan.sheet,
            columns=plan.columns,
            **plan.selection,
            queries=False,
        )
        samples, data = dataset.samples, dataset.source
    cases = select_cases(samples, given["n"])
    if not cases:
        skipped = SkippedCounts.of(samples)
        reasons = str(skipped) or f"no text in {count(skipped.rows, 'row')}"
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
    if few and (reasons := str(SkippedCounts.of(samples))):
        estimate += f". Claims have {LENGTHS}; skipped: {reasons}"
    if given["dry_run"]:
        click.echo(f"Dry run: no calls were made. {estimate}")
    else:
        click.echo(estimate, err=True)
        sys.exit(_run(given, plan, cases, data=data, gates=gates))


def _run(
    given: Given, plan: Plan, cases: Sequence[Case], *, data: Source, gates: Sequence[JudgeTestGate]
) -> int:
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[[VerifyClaims.kind]], budget=budget)
    runner = JudgeTestRunner(judge, cases)
    free = is_free(plan.judge)
    interrupted = False
    console = Console(stderr=True)
    with progress_bar(console, "testing") as update:
        try:
            finish_in_thread(
                partial(
                    runner.run,
                    concurrency=plan.concurrency,
                    spent=lambda: None if free else budget.spent,
                    on_case=lambda done, total: update(completed=done, total=total),
                )
            )
        except KeyboardInterrupt:
            interrupted = True
    stopped = INTERRUPT if interrupted else budget.spent
    result = runner.result(data=data.name, version=VERSION, stopped=stopped)
    result = result.model_copy(update={"fingerprint": data.fingerprint})
    if result.conclusive and not given["no_store"]:
        _save(judge_key(plan, judge, VERSION), result)
    console = Console(highlight=False, stderr=given["file"] == STDOUT)
    if result.asked:
        print_test(result, console)
        print_missed(result, console, most=given["show"])
    write_document(given["file"], as_document(result, gates))
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
        older, backup = save_test(key, result)
    except OSError as error:
        click.echo(f"The result could not be saved to {FILE}: {error}", err=True)
        return
    if backup:
        click.echo(
            f"{FILE} could not be read (written by another version?); it was renamed to {backup}",
            err=True,
        )
    click.echo(f"Saved to {FILE}: reports of runs with this judge will show it.", err=True)
    if older and older.claims > result.claims:
        replaced = f"a test of {result.data} with {count(older.claims, 'claim')}"
        click.echo(f"It replaced {replaced}; this one has {result.claims:,}.", err=True)
