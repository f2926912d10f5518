"""The output of a run: progress, estimates, files, the printed results and the exit code."""

import math
import os
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from rich.console import Console
from rich.text import Text

from ragstone._internal.files import check_writable
from ragstone._internal.rate_limit import RETRIES, RetryLog
from ragstone._internal.text import count, quoted, span
from ragstone.cli import GATE_FAILED, INTERRUPTED, TOO_MUCH_FAILED, load, say, silent_pipes
from ragstone.cli.options import FILES, Given
from ragstone.errors import UsageError
from ragstone.reports.markdown import COMMENT, no_commands, report_to_github, run_as_markdown
from ragstone.reports.tables import STDOUT, check_table, write_json
from ragstone.reports.terminal import print_line, print_pairs, print_rows, print_run
from ragstone.reports.view import Line
from ragstone.reports.worst import worst_documents
from ragstone.results.run import Run
from ragstone.types.gate import share
from ragstone.types.row import Row

if TYPE_CHECKING:
    from ragstone.evaluation.scoring import Estimate
    from ragstone.results.comparison import Comparison, Regressions
    from ragstone.results.systems import Systems

# Progress of a run: a bar on a terminal, a line every ten seconds elsewhere.

SECONDS_BETWEEN_LINES = 10.0
ENOUGH = 10  # finished rows from which the rest can be estimated


def write_document(file: Path | None, document: object) -> Console:
    if file is not None:
        with silent_pipes():
            write_json(document, file)
    return Console(highlight=False, stderr=file == STDOUT, soft_wrap=True)


@contextmanager
def progress_bar(
    what: str, *, line: Callable[[int, int], str] | None = None, of_bytes: bool = False
) -> Generator[Callable[..., None], None, None]:
    """Show a bar on a terminal, elsewhere a `line`; yields a function of done, total and words."""
    from rich import progress as bars

    console, shown = Console(stderr=True), monotonic()
    number = bars.DownloadColumn() if of_bytes else bars.MofNCompleteColumn()
    text, left = bars.TextColumn("{task.description}"), bars.TimeRemainingColumn()
    columns, hidden = (text, bars.BarColumn(), number, left), not console.is_terminal
    with bars.Progress(*columns, console=console, transient=True, disable=hidden) as bar:
        task = bar.add_task(what, total=None)

        def update(done: int, total: int, words: str = "") -> None:
            nonlocal shown
            bar.update(task, completed=done, total=total, description=f"{what}{words}")
            late = monotonic() - shown > SECONDS_BETWEEN_LINES
            if line and hidden and late and done < total:
                shown = monotonic()
                say(line(done, total))

        yield update


@contextmanager
def progress(console: Console) -> Generator[Callable[[Row | bool, int], None], None, None]:
    """Yield a function of a finished row, or whether a score failed, and the number of rows."""
    rows, ended = RowProgress(retries=RETRIES.count), Event()
    if console.is_terminal:
        with progress_bar("evaluating") as update:

            def on_row(row: Row | bool, total: int) -> None:
                rows.add(row, total)
                update(rows.done, total, f" ({rows.failed} failed)" if rows.failed else "")

            yield on_row
        return
    start = monotonic()

    def print_lines() -> None:  # from a thread, so that they also appear while no row finishes
        with suppress(OSError, ValueError):  # nobody reads standard error anymore
            while not ended.wait(SECONDS_BETWEEN_LINES):
                line = rows.line(RETRIES)
                console.print(line, markup=False, highlight=False, soft_wrap=True)

    thread = Thread(target=print_lines, name="ragstone progress", daemon=True)
    thread.start()
    try:
        yield rows.add
    finally:
        ended.set()
        thread.join()
        if rows.done == rows.total and monotonic() - start > SECONDS_BETWEEN_LINES:
            done = f"all {count(rows.total, 'row')} are done; making the report"
            console.print(done, markup=False, highlight=False, soft_wrap=True)


@dataclass
class RowProgress:
    """The finished rows of a run; `retries` is the number of retries before it started."""

    retries: int = 0
    done: int = 0
    failed: int = 0
    total: int = 0
    first: float | None = None  # when the first row was done: starting takes time of its own

    def add(self, row: Row | bool, total: int) -> None:
        self.first = monotonic() if self.first is None else self.first
        failed = row.has_failed if isinstance(row, Row) else row
        self.done, self.failed, self.total = self.done + 1, self.failed + failed, total

    def line(self, made: RetryLog) -> str:
        text = "no rows done yet"
        if self.done:
            text = f"{self.done:,} of {count(self.total, 'row')} done"
            text += f", {self.failed:,} failed" if self.failed else ""
            if (since := monotonic() - (self.first or 0.0)) > 0 and self.done >= ENOUGH:
                rate = 60 * (self.done - 1) / since
                minutes = max(1, round((self.total - self.done) / rate))
                text += f"; {rate:{',.0f' if rate > 10 else '.2g'}} per minute, "
                text += f"{self.total - self.done:,} left, about {minutes:,} min"
        if retries := made.count - self.retries:
            text += f"; {retries:,} retried, last: {quoted(made.reason)}"
        return text


def announce(estimate: str, *, dry_run: bool) -> None:
    """Show what a command will cost, or print it and exit if no calls are to be made."""
    if dry_run:
        click.echo(f"Dry run: no calls were made. {estimate}")
        sys.exit(0)
    say(estimate)


def print_estimate(estimate: "Estimate", console: Console) -> None:
    console.print("Dry run: no calls were made. Estimated judge usage:\n", markup=False)
    lines = {
        "rows": f"{estimate.rows:,}",
        "calls": span(*estimate.calls),
        "prompt tokens": span(*estimate.prompt_tokens),
        "completion tokens": span(*estimate.completion_tokens),
        "cost": estimate.cost,
    }
    if estimate.local_calls[1]:
        local = f"{span(*estimate.local_calls)} (free; limits do not apply)"
        lines |= {"calls to local models": local}
        lines |= {"tokens of local models": span(*estimate.local_tokens)}
    print_pairs(((name, Text(value)) for name, value in lines.items()), console)
    for note in estimate.notes:
        console.print(f"Note: {note}.", markup=False)


def check_lines(flag: str, path: Path | None) -> None:
    if path is not None and not path.name:
        raise UsageError(f"{flag}: the name of the file is empty")
    if path is not None and path.suffix.lower() != ".jsonl":
        raise UsageError(
            f"{flag} {path}: the file must be .jsonl; use {path.with_suffix('.jsonl')}"
        )


def check_files(
    *files: Path | None, inputs: Sequence[str | Path] = (), **formats: Path | None
) -> None:
    """Check that files can be written and are not `inputs`; of `formats`, the extensions too."""
    named = [path for path in (*files, *formats.values()) if path is not None]
    for path in named:
        if path != STDOUT:
            check_writable(path)
    read = {Path(os.path.realpath(name)): name for name in inputs}
    folders = {path for path in read if os.access(path, os.R_OK) and path.is_dir()}
    taken = {
        path: f"{name} is an input file, so it cannot be written" for path, name in read.items()
    }
    for path in named:
        place = path.resolve()
        if place in taken:
            raise UsageError(f"{taken[place]}; choose another path")
        for folder in folders.intersection(() if path == STDOUT else place.parents):
            raise UsageError(
                f"{path} is in {read[folder]}, an input folder, so it cannot be written there; "
                "choose another folder"
            )
        taken[place] = f"{path} would be written twice"
    known = _OTHER_EXTENSIONS.union(*(each.extensions for each in FILES.values()))
    for name, path in formats.items():
        extension, own = path.suffix.lower() if path else "", FILES[name].extensions
        if extension in known.difference(own):
            flag, fix = name.replace("_", "-"), " or ".join(own[: 3 if name in TABLES else 1])
            raise UsageError(f"--{flag} {path}: this option does not write {extension}; use {fix}")


WRITERS: Mapping[str, str] = {  # format -> the function of `reports`, loaded when it is needed
    "html": "html.page.write_html",
    "json": "tables.write_json",
    "rows": "tables.write_rows",
    "claim_rows": "tables.write_claims",
    "markdown": "markdown.write_markdown",
    "junit": "junit.write_junit",
    "latex": "systems.write_latex",
}
SYSTEM_WRITERS: Mapping[str, str] = {  # for several systems
    "html": "system_files.write_html",
    "rows": "system_files.write_rows",
    "output": "system_files.write_workbook",
    "markdown": "systems.write_markdown",
    "latex": "systems.write_latex",
}
TABLES = frozenset({"rows", "claim_rows"})  # several kinds of table, chosen by the extension
_OTHER_EXTENSIONS = frozenset(
    f".{name}" for name in "db doc docx ods pdf png tsv xls xlsm xlsx yaml yml zip".split()
)
"""Files with these extensions, or those of another format, are refused; unknown ones are not."""


@dataclass(frozen=True)
class Outputs:
    """Where a run's results go; `files` are by format, and `-` is standard output."""

    workbook: Path | None = None
    export: bool = True
    files: Mapping[str, Path] = field(default_factory=dict[str, Path])
    verbose: bool = False

    def check(self, *inputs: str | Path) -> None:
        if self.export:
            excel = load("reports.excel")
            excel.check_output(self.workbook or excel.FOLDER / "workbook.xlsx")
        for name, path in self.files.items():
            if path == STDOUT and not FILES[name].piped:
                raise UsageError(f"--{name}: this format needs a file, not standard output")
        workbooks = [self.workbook] if self.export and self.workbook else []
        check_files(*workbooks, inputs=inputs, **self.files)
        for name in TABLES & self.files.keys():
            check_table(self.files[name])

    @contextmanager
    def quiet(self) -> Generator[None, None, None]:
        """Send prints of a target or a plugin to standard error if data goes to standard output."""
        with redirect_stdout(sys.stderr) if self.data_on_stdout else nullcontext():
            yield

    @property
    def options(self) -> dict[str, str]:
        """The options as a run stores them, so that `resume` writes the same files."""
        options = {name: str(path) for name, path in self.files.items()}
        options |= {} if self.export else {"no_export": "yes"}
        return options | ({"output": str(self.workbook)} if self.workbook else {})

    @property
    def data_on_stdout(self) -> bool:
        return STDOUT in self.files.values()

    @property
    def console(self) -> Console:
        """The console for people: standard output, or standard error if data goes to the other."""
        return Console(file=sys.stderr if self.data_on_stdout else sys.stdout, highlight=False)


def outputs_of(
    given: Given, *, export: bool | None = None, stored: Mapping[str, str] | None = None
) -> Outputs:
    """Return the outputs of the options; those that are not given are as in `stored`."""
    earlier = {name: Path(path) for name, path in (stored or {}).items()}
    if export is None:
        if given["no_export"] and given["output"]:
            raise UsageError("--no-export writes no workbook; remove it, or --output")
        export = not given["no_export"] and (given["output"] or "no_export" not in earlier)
    return Outputs(
        workbook=given["output"] or earlier.get("output"),
        export=bool(export),
        files={name: path for name in WRITERS if (path := given.get(name) or earlier.get(name))},
        verbose=given["verbose"],
    )


def write_results(
    runs: Sequence[Run],
    outputs: Outputs,
    show: Callable[[Console, int], None],
    *,
    systems: "Systems | None" = None,
    **contents: object,
) -> None:
    """Write the files of the first run, call `show`, and print the names of the files.

    `show` gets the number of these names. `systems` replaces the run in most files, and `contents`
    are those of others by format. Files are written first, because a reader of standard output may
    stop early.
    """
    files = [path for path in outputs.files.values() if path != STDOUT]

    def write(*, piped: bool) -> None:
        for name, path in outputs.files.items():
            if (path == STDOUT) == piped:
                several = systems is not None and name in SYSTEM_WRITERS and name not in contents
                writer = (SYSTEM_WRITERS if several else WRITERS)[name]
                call(writer, systems if several else contents.get(name) or runs[0], path)

    write(piped=False)
    if systems and outputs.workbook:
        call(SYSTEM_WRITERS["output"], systems, outputs.workbook)
        files.append(outputs.workbook)
    elif outputs.export and runs[0].rows:
        files += load("reports.excel").write_workbooks(runs[0], output=outputs.workbook)
    with silent_pipes():
        console = outputs.console
        with no_commands(console.file, os.environ):
            show(console, len(files))
            for path in files:
                console.print(f"wrote {path}", markup=False, soft_wrap=True)
        for line in (line for each in runs for line in report_to_github(each, os.environ)):
            click.echo(line, err=outputs.data_on_stdout)
        write(piped=True)


def call(function: str, *given: object) -> None:
    module, _, name = function.rpartition(".")
    getattr(load(f"reports.{module}"), name)(*given)


class Baseline(NamedTuple):
    """A stored run to compare with, and the drops that are accepted; None if none fails."""

    run: Run
    name: str
    limits: Mapping[str, float] | None


def finish(
    run: Run,
    outputs: Outputs,
    baseline: Baseline | None = None,
    *,
    first: bool = False,
    interrupted: bool = False,
) -> int:
    """Write the files, print the run, and return the exit code; `first`: none was stored before."""
    found, findings = None, list[Line]()
    contents: dict[str, Any] = {}
    codes = [undecided("; ".join(run.troubles)) if run.troubles else code_of_gates(run)]
    if baseline and run.rows:
        reports, names = load("reports.comparison"), (baseline.name, "this run")
        comparison = load("results.comparison").compare(baseline.run, run, names=names)
        findings += reports.finding_lines(comparison)
        try:
            found = regressions_in(comparison, baseline.limits)
        except UsageError as error:  # the run is complete, so this is no error of usage
            codes.append(undecided(str(error)))
        text = reports.as_markdown(comparison, found)
        contents["markdown"] = f"{text}\n{run_as_markdown(run, limit=COMMENT - len(text.encode()))}"
        document = run.to_dict() | {"worst": worst_documents(run)}
        contents["json"] = document | {"comparison": comparison.to_dict()}

    def show(console: Console, below: int) -> None:
        if outputs.verbose:
            print_rows(run, console)
        below += found is not None
        print_run(
            run, console, findings=findings, below=below, first=first, verbose=outputs.verbose
        )

    write_results([run], outputs, show, **contents)
    if interrupted:
        return INTERRUPTED
    print_verdicts({"": found}, outputs.console)
    return max(*codes, code_of(found))


def undecided(reason: str) -> int:
    say(f"Exit code {TOO_MUCH_FAILED}: {reason}")
    return TOO_MUCH_FAILED


def code_of_gates(run: Run) -> int:
    return GATE_FAILED if any(gate.passed is False for gate in run.gates()) else 0


def regression_limits(given: Given) -> Mapping[str, float] | None:
    """Return which drops are accepted, and which share of A's samples must be in B, if asked."""
    limits: dict[str, float] = {}
    for name in ("min_effect", "min_paired"):
        try:
            limits[name] = share(given[name])
        except UsageError as error:
            raise UsageError(f"--{name.replace('_', '-')}: {error}") from None
    if limits["min_effect"] < 0:
        raise UsageError(f"--min-effect {given['min_effect']}: must be 0 or more")
    if not 0 <= limits["min_paired"] <= 1:
        raise UsageError(f"--min-paired {given['min_paired']}: must be from 0% to 100%")
    return limits if given["fail_on_regression"] else None


def regressions_in(
    comparison: "Comparison", limits: Mapping[str, float] | None, *, corrected: bool = False
) -> "Regressions | None":
    """Return drops beyond the limits, if there are any limits; with `corrected`, labels decide."""
    if not len(comparison.pairing.pairs):
        raise UsageError(
            f"runs {comparison.a} and {comparison.b} have no samples in common: no id has the "
            "same query in both, and no query appears exactly once in each; compare runs of "
            "the same data"
        )
    if limits is None:
        return None
    widest = max((each.span for each in comparison.metric_changes), default=math.inf)
    if limits["min_effect"] >= widest:
        raise UsageError(
            f"--min-effect {limits['min_effect']:g} accepts every drop: no metric can fall by more "
            f"than {widest:g}; write 0.02 or 2%"
        )
    found = load("results.comparison").find_regressions
    return found(comparison, **limits, corrected=corrected)


def print_verdicts(found: Mapping[str, "Regressions | None"], console: Console) -> None:
    """Print why the exit code is 0 or 1, by the name of the system if there are several."""
    for name, regressions in found.items():
        if regressions and not regressions.doubts:
            line = load("reports.comparison").verdict(regressions)
            named = f"{name}: {line.words}" if len(found) > 1 else line.words
            print_line(replace(line, words=named), console, soft_wrap=True)


def code_of(found: "Regressions | None") -> int:
    if found is None:
        return 0
    if found.doubts:
        return undecided(f"no verdict, because {'; '.join(found.doubts)}")
    return GATE_FAILED if found.beyond else 0
