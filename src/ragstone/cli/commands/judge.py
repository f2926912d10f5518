"""`ragstone judge`: does the judge notice errors, and has it changed?"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import click
from rich.console import Console

from ragstone._internal.concurrency import run_sync
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count, listing, one_line
from ragstone.cli import GATE_FAILED, INTERRUPTED, options, say
from ragstone.cli.options import option, setting
from ragstone.cli.output import (
    announce,
    check_files,
    progress,
    progress_bar,
    undecided,
    write_document,
)
from ragstone.datasets import load, samples_of
from ragstone.demo.questions import grounded_samples
from ragstone.errors import UsageError
from ragstone.evaluation import judge_test
from ragstone.evaluation.judge_test import Case, JudgeTestGate
from ragstone.evaluation.preflight import check_judge_settings
from ragstone.evaluation.recorder import VERSION, judge_key
from ragstone.evaluation.rescore import TranscriptMissingError
from ragstone.evaluation.scoring import estimate_calls, usage_of
from ragstone.judges.factory import make_judge
from ragstone.judges.spec import is_free
from ragstone.metrics import get
from ragstone.reports.format import NO_VALUE, dollars
from ragstone.reports.tables import STDOUT
from ragstone.reports.terminal import Grid, GridRow, print_grid
from ragstone.results.calibration import MIN_ROWS
from ragstone.results.judge_test import FILE, MAX_FAILURES, WORDS, JudgeTest, save_test
from ragstone.results.stats.intervals import Ends, Share
from ragstone.results.stats.paired_tests import DRIFTED
from ragstone.store import find_run
from ragstone.types.config import Plan
from ragstone.types.questions import VerifyClaims

MAX_SHOWN = 200


@click.group(name="judge")
def command() -> None:
    """Test the judge: does it notice errors, and has it changed?

    Other settings of the judge than those below come from ragstone.yaml.

    \b
    ragstone judge test answers.jsonl --model gpt-4o-mini
    ragstone judge probe last
    """


@command.command(
    name="probe",
    params=[
        click.Argument(["run"]),
        option("--repeat", "Number of probes to make now.", least=1, default=1, metavar="N"),
        setting("max_cost"),
        options.DRY_RUN,
        options.JSON_FILE,
        options.STORE,
    ],
    epilog=f"{options.RUN} Exit codes: 0 no drift was found; 1 the judge has drifted; 2 usage "
    "error; 3 there are too few labels or answers.",
)
def probe(**given: Any) -> None:
    """Has the judge changed? Ask it about the labelled claims of a stored RUN again.

    Run it every day, or after a model update. Each probe is compared with all earlier ones; the
    probability of a false alarm is at most 1%, however often it runs. The first probes are the
    baseline, so make some when you label: `--repeat 5`.

    \b
    ragstone judge probe last --repeat 5
    ragstone judge probe baseline --max-cost 0.50 --json -
    """
    with options.open_store(given["store"], reading=True) as store:
        info = store.info(run_id := find_run(store, given["run"]))
        check_files(json=given["file"], inputs=options.read_by(store, info))
        if info.manifest.judge is None:
            raise UsageError(f"run {run_id} has no metric that asks a judge")
        if not info.transcript:
            raise TranscriptMissingError(run_id)
        config = options.config_of()
        options.load_plugins(*config.plugins)
        limits = config.plan(options.typed_settings(given))
        update = {"cache": False, "max_calls": limits.max_calls, "max_cost": limits.max_cost}
        plan = info.manifest.plan.model_copy(update=update)
        run = store.load(run_id)
        labels = store.labels(run_id)
        positions = {label.position for label in labels}
        rows = [row for row in run.rows if row.index in positions]
    units = judge_test.units_to_probe(labels, rows)
    if len(units) < MIN_ROWS:
        few = f"{count(len(units), 'label')} that can be compared with a verdict"
        sys.exit(undecided(f"run {run_id} has {few}; at least {MIN_ROWS} are needed"))
    rows = [row for row in rows if row.index in {position for _, position, _ in units}]
    path = judge_test.PROBES / f"{run_id}.jsonl"
    before = judge_test.read_probes(path)
    metrics = [get(name) for name in dict.fromkeys(metric for metric, _, _ in units)]
    rejudged = judge_test.RejudgedRun(run, plan, rows, metrics, given["repeat"])
    announce(rejudged.estimate(), dry_run=given["dry_run"])
    with progress(Console(stderr=True)) as on_row:
        judged, spent = rejudged.judge(on_row)
    probes = judge_test.make_probes(judged, units, plan)
    unanswered = max([*probe.verdicts.values()].count(None) for probe in probes)
    if unanswered > MAX_FAILURES * len(units):
        why = spent or f"{unanswered:,} of {count(len(units), 'label')} have no verdict now"
        sys.exit(undecided(f"{why}; nothing was recorded"))
    judge_test.add_probes(path, probes)
    series = [*before, *probes]
    drift = judge_test.measure_drift(series, units)
    strongest = {name: max(values) for name, values in drift.parts.items()}
    most = max(strongest, key=strongest.__getitem__)
    columns = zip(series, drift.agreement, drift.supported, drift.evidence, strict=True)
    document = {
        "run_id": run_id,
        "judge": plan.judge,
        "labels": len(units),
        "rows": drift.rows,
        "drifted": drift.drifted,
        "p": min(1.0, 1 / max(drift.evidence)),
        "probes": [
            {"at": probe.at, "agreement": agreed and agreed[0], "interval": agreed and agreed[1],
             "supported": supported and supported[0], "evidence": strength}
            for probe, agreed, supported, strength in columns
        ],
        "evidence_of": strongest,
        "file": str(path),
    }  # fmt: skip
    console = write_document(given["file"], document)
    n, both = len(before), (drift.agreement, drift.supported)
    then = [f"; {n:,} earlier: {_range(shares[:n])}" if n else "" for shares in both]
    agrees, supports = (_range(shares[n:]) for shares in both)
    probed = f"of {count(len(units), 'label')} in {count(len(probes), 'probe')}"
    lines = [
        f"{plan.judge} agrees with {agrees} {probed}{then[0]}.",
        f"It calls {supports} of these claims SUPPORTED{then[1]}.",
    ]
    strength = f"evidence {max(drift.evidence):.2g}; threshold {DRIFTED:.0f}"
    if drift.drifted:
        causes = " and ".join(drift.causes) or "its model changed"
        lines.append(
            f"The judge has drifted ({strength}) in {most}: {causes}. Calibrations from before do "
            f"not apply: label again, and delete {path} to begin a new baseline."
        )
    else:
        low, high = drift.agreement[-1][1] if drift.agreement[-1] else (0.0, 1.0)
        first = "This is the first probe; later ones are compared with it."
        lines += [
            f"Agreement with people on the whole run: {low:.0%} to {high:.0%} (95% interval).",
            f"No drift found ({strength})." if len(series) > 1 else first,
        ]
    console.print(*lines, sep="\n", markup=False)
    if drift.drifted:
        sys.exit(GATE_FAILED)


def _range(shares: Sequence[tuple[float, Ends] | None]) -> str:
    known = [share[0] for share in shares if share]
    ends = (min(known), max(known)) if known else ()  # earlier ones may be of other claims
    return " to ".join(dict.fromkeys(f"{share:.0%}" for share in ends)) or "of other claims"


@command.command(
    name="test",
    params=[
        click.Argument(["data"], required=False),
        setting("columns"),
        option("--n", "Number of claims to test.", least=1, default=60),
        setting("judge"),
        options.MODEL,
        *map(setting, ("base_url", "max_calls", "max_cost")),
        options.CONFIG,
        options.DRY_RUN,
        option(
            "--fail-under",
            "Exit 1 if the balanced accuracy is below this: 80%; or one of its parts or kinds: "
            "rejected=80% (errors noticed), accepted=90% (true claims kept), number=90%.",
            multiple=True,
            metavar="[KIND=]SHARE",
        ),
        options.JSON_FILE,
        option("--no-store", "Do not save the result.", is_flag=True),
    ],
    epilog="Exit codes: 0 success; 1 a gate failed; 2 usage or input error; 3 too many failures, "
    "over budget, or a gate with nothing to check; 130 interrupted.",
)
def test(**given: Any) -> None:
    """Test a judge without labels: does it notice errors injected into claims?

    The test takes claims from DATA that the judge finds supported (rows need contexts, and a
    response or reference), changes each in several ways (a number, a name, a negation ...), counts
    how often the judge notices, and shows what it missed. Copied sentences must stay supported: the
    balanced accuracy is the mean of errors noticed and true claims kept. Without DATA, the claims
    come from the demo's manuals. The result is saved, and reports of runs with this judge show it.

    \b
    ragstone judge test answers.jsonl
    ragstone judge test answers.jsonl --model gpt-4o-mini --n 30 --max-cost 0.50
    ragstone judge test answers.jsonl --judge local:models/nli --fail-under number=90%
    """
    config = options.config_of(given["config"])
    # here --fail-under sets gates for kinds of changes, not for metrics
    typed = options.typed_settings({**given, "fail_under": ()})
    plan = config.plan(typed)
    check_judge_settings(typed, plan)
    check_files(json=given["file"])
    gates = [JudgeTestGate.parse(text) for text in given["fail_under"]]
    if given["data"] is None:
        samples = samples_of(grounded_samples(), **plan.selection).samples
        data = "the demo's manuals"
    else:
        dataset = load(given["data"], **plan.reading, **plan.selection, queries=False)
        samples, data = dataset.samples, dataset.source.name
    cases = judge_test.select_cases(samples, given["n"])
    few = sum(len(case.claims) for case in cases) < given["n"]
    skipped = judge_test.skipped_reasons(samples) if few else ""
    lengths = f"{judge_test.SHORTEST} to {judge_test.LONGEST} characters"
    if not cases:
        columns = ""
        if not any(each.text.strip() for sample in samples for each in sample.contexts or ()):
            others = dict.fromkeys(tag for sample in samples for tag in sample.tags)
            columns = (
                f"no column has contexts; the other columns are {listing(others) or 'none'}; map "
                "one with --map contexts=COLUMN, or "
            )
        reasons = skipped or f"no text in {count(len(samples), 'row')}"
        raise UsageError(
            f"{data}: no row has contexts and a claim of {lengths} (skipped: {reasons}); "
            f"{columns}collect answers and contexts with `ragstone collect`, or omit DATA to "
            "use claims from the demo's manuals"
        )
    estimate = estimate_test(plan, cases, wanted=given["n"], data=data)
    if skipped:
        estimate += f". Claims have {lengths}; skipped: {skipped}"
    announce(estimate, dry_run=given["dry_run"])
    budget = Budget(plan.max_calls, plan.max_cost)
    judge = make_judge(plan, asked=[[VerifyClaims.kind]], budget=budget)
    runner = judge_test.JudgeTestRunner(judge, cases)
    spent = (lambda: None) if is_free(plan.judge) else (lambda: budget.spent)
    ask = partial(runner.run, concurrency=plan.concurrency, spent=spent)
    interrupted = False
    with progress_bar("testing") as update:
        try:
            run_sync(partial(ask, on_case=update))
        except KeyboardInterrupt:
            interrupted = True
    stopped = "it was interrupted" if interrupted else budget.spent
    result = runner.result(data=data, version=VERSION, stopped=stopped)
    if not result.doubts and not given["no_store"]:
        _save(judge_key(plan, judge, VERSION), result)
    console = Console(highlight=False, stderr=given["file"] == STDOUT)
    if result.asked:
        print_test(result, console)
        print_missed(result, console)
    document: dict[str, object] = result.model_dump(mode="json")
    document["kinds"] = [
        {**kind.model_dump(mode="json"), "share": kind.share, "interval": kind.interval}
        for kind in result.kinds
    ]
    document["gates"] = [
        {"kind": gate.kind, "threshold": gate.threshold, "value": result.shares.get(gate.kind),
         "passed": gate.check(result)}
        for gate in gates
    ]  # fmt: skip
    write_document(given["file"], document)
    if interrupted:
        replies = "in the reply cache" if plan.cache else "lost (--no-cache)"
        so_far = f"{result.claims:,} of {count(result.planned, 'claim')} tested"
        say(f"Interrupted: {so_far}. The result was not saved; the model's replies are {replies}.")
        sys.exit(INTERRUPTED)
    failed = [gate for gate in gates if gate.check(result) is False]
    for gate in failed:
        share = result.shares[gate.kind]
        say(f"Gate FAILED: {gate.kind} {share:.1%} is below {gate.threshold:.0%}")
    empty = [each.kind for each in gates if each.check(result) is None]
    if reasons := [*(f"{kind}: no question was answered" for kind in empty), *result.doubts]:
        sys.exit(undecided("; ".join(reasons)))
    sys.exit(GATE_FAILED if failed else 0)


def estimate_test(plan: Plan, cases: Sequence[Case], *, wanted: int, data: str) -> str:
    questions = judge_test.plan_questions(cases)
    claims = sum(len(case.claims) for case in cases)
    which = count(claims, "claim") if claims >= wanted else f"the {count(claims, 'claim')}"
    cost = estimate_calls(plan, [VerifyClaims.kind], lambda judge, _: usage_of(judge, questions))
    limited = plan.max_calls is not None and plan.max_calls < cost.calls[1]
    limit = f"; --max-calls allows {plan.max_calls:,}" if limited else ""
    return f"Testing {plan.judge} on {which} from {data}: {cost}{limit}"


def print_test(test: JudgeTest, console: Console) -> None:
    show = partial(console.print, markup=False, emoji=False)
    claims = count(test.claims, "claim")
    if test.stopped:
        claims = f"{test.claims:,} of {count(test.planned, 'claim')} ({test.stopped})"
    changed = "; the changes below were made to supported claims only" if test.supported else ""
    show(
        f"{test.judge} was tested on {claims} from {count(test.samples, 'sample')} of "
        f"{test.data}. It found {test.supported:,} of the original claims supported{changed}."
    )
    if test.balanced:
        show(f"Balanced accuracy: {test.balanced}; compare judges by it.", style="bold")
    for expected, heading in WORDS.items():
        kinds = [kind for kind in test.kinds if kind.expected == expected]
        if len(kinds) > 1:
            kinds.append(test.total(expected))
        rows: list[GridRow] = []
        for kind in kinds:
            name, applied = kind.kind, f"{kind.applied:,} of {kind.of:,}"
            if kind.kind == kind.expected:
                name, applied = "total", ""
            share = Share(kind.right, kind.answered)
            figures = (share.seen, share.interval) if kind.answered else (NO_VALUE, NO_VALUE)
            rows.append(GridRow((name, judge_test.CHANGES.get(kind.kind, ""), *figures, applied)))
        figures = frozenset((heading, "95% interval", "applied to"))
        heads = ("kind", "what was done", heading, "95% interval", "applied to")
        console.print()
        print_grid(console, Grid(heads, tuple(rows), figures), spare=heads[1])
    if test.local_calls:
        show(f"\n{count(test.local_calls, 'call')} to a local model, at no cost")
    if test.calls or test.failed or test.unasked:
        cost = "price unknown" if test.cost_usd is None else f"about {dollars(test.cost_usd)}"
        failed = f"; {count(test.failed, 'question')} without an answer" if test.failed else ""
        unasked = f"; {count(test.unasked, 'question')} not asked" if test.unasked else ""
        show(f"\n{count(test.calls, 'call')}, {cost}{failed}{unasked}")


def print_missed(test: JudgeTest, console: Console) -> None:
    if not (missed := test.missed()):
        return
    show = partial(console.print, markup=False, emoji=False, soft_wrap=True)
    more = any(len(trials) > 1 for trials in missed.values())
    show(f"\nMissed changes, by kind{'; --json FILE lists all' if more else ''}:")
    for kind, (trial, *others) in missed.items():
        title = f"{kind} ({len(others) + 1:,})"
        show(f"\n  {title:<22}sample {one_line(trial.sample, 60)}", style="bold")
        if changed := trial.claim != trial.was:
            show(f"    was   {one_line(trial.was, MAX_SHOWN)}")
        show(f"    {'now' if changed else 'claim':<5} {one_line(trial.claim, MAX_SHOWN)}")
        same = judge_test.KINDS[kind] == "unchanged"
        show(f"    label {f'{trial.label_before}, then ' if same else ''}{trial.label}")


def _save(key: str, result: JudgeTest) -> None:
    try:
        backup = save_test(key, result)
    except (OSError, UsageError) as error:
        say(f"The result could not be saved to {FILE}: {error}")
        return
    if backup:
        say(f"{FILE} could not be read (written by another version?); it was renamed to {backup}")
    say(f"Saved to {FILE}: reports of runs with this judge will show it.")
