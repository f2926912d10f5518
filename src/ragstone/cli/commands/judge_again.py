"""`ragstone judge noise` and `judge probe`: judge stored rows again, without the cache."""

import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self, TypedDict, Unpack

import click
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from ragstone._internal.concurrency import finish_in_thread
from ragstone._internal.rate_limit import Budget
from ragstone._internal.text import count
from ragstone.cli import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.cli.options import LIMITS, PLUGIN, STORE, json_file, load_plugins, typed_settings
from ragstone.cli.output import check_extension, check_files, progress, write_document
from ragstone.cli.parse import RUN, config_of, open_store, read_by
from ragstone.errors import UsageError
from ragstone.evaluation.dry_run import estimate_usage
from ragstone.evaluation.fingerprint import VERSION, judge_setup
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
from ragstone.evaluation.judge_testing.result import MAX_FAILURES
from ragstone.evaluation.rescore import TranscriptMissingError
from ragstone.judges.base import Judge
from ragstone.judges.factory import make_judge
from ragstone.judges.spec import is_free
from ragstone.metrics import Metric, get
from ragstone.reports.tables import STDOUT
from ragstone.results.calibration import FEWEST, majority, verdict_of
from ragstone.results.compare.comparison import choose_metrics
from ragstone.results.run import Run
from ragstone.results.stats.distributions import NORMAL
from ragstone.results.stats.sequential import MOVED, drift_evidence
from ragstone.store import Store, find_run
from ragstone.types.config import Plan
from ragstone.types.questions import VerifyClaims
from ragstone.types.row import Row


class AgainArgs(TypedDict):
    """The options of both commands, as click passes them; those of settings are beside these."""

    run: str
    repeat: int
    dry_run: bool
    plugin: tuple[str, ...]
    file: Path | None
    store: str | None


class NoiseArgs(AgainArgs):
    """The options of `judge noise`."""

    rows: int
    metric: tuple[str, ...]


def _params(default: int, least: int, repeat: str) -> list[click.Parameter]:
    return [
        click.Argument(["run"]),
        click.Option(
            ["--repeat"],
            type=click.IntRange(least, 100),
            default=default,
            show_default=True,
            metavar="N",
            help=repeat,
        ),
        click.Option(["--dry-run"], is_flag=True, help="Estimate calls and cost; make no calls."),
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
    given: AgainArgs

    @classmethod
    def of(cls, store: Store, run_id: str, given: AgainArgs) -> Self:
        """Read a run, and check that its judge can be asked.

        Raises:
            UsageError: the run has no judge, or a file cannot be written.
        """
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
        cost = estimate_usage(
            unlimited, list(rows) * times, metrics, asks_target=False, around=around
        )
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
            judged: list[dict[int, Row]] = []

            async def run() -> None:
                judged.extend(await ask(rows, metrics, judge))

            finish_in_thread(run)
        return judged, budget.spent


@click.command(
    name="noise",
    params=[
        *_params(3, 2, "How many times each row is judged."),
        click.Option(
            ["--rows"],
            type=click.IntRange(2),
            default=30,
            show_default=True,
            metavar="M",
            help="Number of rows, drawn at random.",
        ),
        click.Option(["-m", "--metric"], multiple=True, metavar="NAME", help="Judge only these."),
    ],
    epilog=f"{RUN} Exit codes: 0 success; 2 usage error; 3 too few rows were judged.",
)
def noise(**given: Unpack[NoiseArgs]) -> None:
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
    write_document(_file(NOISE, run, ".json"), document)
    _print_noise(found, widths, console)


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


def _print_noise(
    found: Mapping[str, Noise], widths: Mapping[str, Mapping[str, float]], console: Console
) -> None:
    table = Table(box=SIMPLE, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("metric", no_wrap=True)
    for head in ("rows", "unchanged", "judge", "interval", "one more judgment", "twice the rows"):
        table.add_column(head, justify="right")
    for name, each in found.items():
        both = each["sampling"] + each["judge"]
        judge = f"{each['judge'] / both if both else 0:.0%}"
        ends = [f"± {width:.4f}" for width in widths[name].values()]
        table.add_row(name, f"{each['rows']:,}", f"{each['unchanged']:.0%}", judge, *ends)
    console.print(table)
    console.print(
        "\nunchanged: rows with the same score each time. judge: its share of the variance of one "
        "score.\ninterval: of the run's mean, if rows are independent; then with one more judgment "
        "of each row, and with as many calls for new rows."
    )


@click.command(
    name="probe",
    params=_params(1, 1, "Number of probes to make now."),
    epilog=f"{RUN} Exit codes: 0 no drift was found; 1 the judge moved; 2 usage error; 3 there are "
    "too few labels or answers.",
)
def probe(**given: Unpack[AgainArgs]) -> None:
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
    path = _file(PROBES, again.run, ".jsonl")
    before = read_looks(path)
    metrics = [get(name) for name in dict.fromkeys(metric for metric, _, _ in units)]
    judged, spent = again.judge(rows, metrics, same_claims(rows))
    setup = judge_setup(again.plan, make_judge(again.plan), [VerifyClaims.kind])
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
    document = {
        "run_id": run_id,
        "judge": again.plan.judge,
        "labels": len(units),
        "rows": len(sizes),
        "moved": moved,
        "p": min(1.0, 1 / float(evidence.max())),
        "probes": [
            {"at": look.at, "agreement": share, "evidence": float(each)}
            for look, share, each in zip(every, shares, evidence, strict=True)
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
        console.print(f"No drift found ({strength})." if len(every) > 1 else first)
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


def _file(folder: Path, run: Run, ending: str) -> Path:
    return folder / f"{run.manifest.run_id}{ending}"
