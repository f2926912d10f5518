"""`ragstone collect`: ask the RAG system now, judge its answers later."""

import json
import shlex
import sys
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import click
from rich.console import Console

from ragstone._internal.files import write_text
from ragstone._internal.text import count, quoted
from ragstone.cli import INTERRUPTED, TOO_MUCH_FAILED
from ragstone.cli.options import (
    CONFIG,
    READING,
    GroupedCommand,
    config_of,
    explicit_settings,
    option,
    setting,
    typed_settings,
)
from ragstone.cli.output import check_files, progress
from ragstone.datasets import load
from ragstone.datasets.adapters.responses import MODES
from ragstone.datasets.export import WRITERS
from ragstone.errors import UsageError
from ragstone.evaluation.collect import ENDING, Collector, collection_settings, discard_journal
from ragstone.evaluation.preflight import idle_settings
from ragstone.types.config import DEFAULT_API, Plan

FOLDER = Path("responses")
"""Where responses are saved if no file is named."""
SUFFIX = ".json"
"""The ending of such a file's name: `run` chooses the format by it."""

_TARGET = (
    option("--api-url", f"URL of the RAG API.  [default: {DEFAULT_API}]"),
    setting("target"),
    option(
        "--mode",
        "chat requests answers and their contexts; search requests a ranking.",
        choices=list(MODES),
        default="chat",
    ),
    setting("k", "Number of results to request.", metavar="N"),
    setting("min_similarity", "Minimum retrieval similarity, sent to the target."),
    setting("delay"),
    setting("concurrency", "Maximum number of concurrent calls."),
    setting("timeout"),
    setting("retries"),
    CONFIG,
)
_OUTPUT = (
    option(
        "-o --output",
        "The file to write.  [default: in ./responses/, named after the mode, k and time]",
        path="FILE",
    ),
    option("--fresh", "Ask every question again, including those already answered.", is_flag=True),
    setting("max_failure_rate", "Exit 3 if more than this share of the rows failed: 0.1 or 10%."),
)


@click.command(
    name="collect",
    cls=GroupedCommand,
    params=[click.Argument(["data"])],
    groups={"Data": READING, "RAG system": _TARGET, "Result": _OUTPUT},
    epilog="Exit codes: 0 success; 2 usage or input error; 3 too many failures; 130 interrupted.",
)
def command(
    data: str, mode: str, output: Path | None, fresh: bool, config: Path | None, **given: object
) -> None:
    """Call the RAG system for every row of DATA and save its answers to judge them later.

    Each answer is saved to FILE.part as it arrives. After a crash or Ctrl-C, run the same command
    again to continue; failed rows are retried. A failed row is saved with its cause, and FILE.part
    is kept. A complete FILE is replaced only with --fresh.

    \b
    ragstone collect questions.xlsx --api-url http://localhost:8000 --delay 7 -o responses.json
    ragstone run responses.json -m faithfulness --model gpt-4o-mini
    """
    file = config_of(config)
    plan = file.plan(typed_settings(given))
    target = plan.target or DEFAULT_API
    out, unfinished = _places(data, output, plan=plan, mode=mode, target=target, fresh=fresh)
    check_files(out, inputs=[data, *([target] if Path(target).is_file() else [])])
    dataset = load(data, sheet=plan.sheet, columns=plan.columns, **plan.selection)
    rows = len(dataset.samples)
    part = out.with_name(out.name + ENDING)
    collector = Collector.of(dataset, plan=plan, mode=mode, target=target, part=part, fresh=fresh)
    explicit = explicit_settings(given)
    idle = idle_settings(explicit, plan, metrics=(), target=collector.target, own_judge=False)
    for notice in (*idle, *collector.target.notes(dataset.samples)):
        click.echo(notice, err=True)
    with collector.journal as journal:
        if out.exists() and not fresh and not (journal.rows or journal.beyond):
            raise UsageError(
                f"{out} already exists; choose another file with -o, or replace it with --fresh"
            )
        if before := len(journal.answered):
            click.echo(f"Continuing {journal.path}: {before} of {rows} rows are done.")
        code = 0
        try:
            with progress(Console(stderr=True)) as on_row:
                collector.run(on_row)
        except KeyboardInterrupt:
            code = INTERRUPTED
        if code == 0 and len(journal.rows) < rows:
            click.echo(f"Exit code {TOO_MUCH_FAILED}: {collector.breaker.reason}", err=True)
            code = TOO_MUCH_FAILED
        if code:
            click.echo(
                f"{len(journal.answered)} of {rows} answers are saved in {journal.path}; run the "
                "same command to continue.",
                err=True,
            )
            sys.exit(code)
        document = json.dumps(collector.document(), ensure_ascii=False, indent=2)
        write_text(out, document + "\n")
        if not journal.has_more:
            journal.discard()
    for superseded in unfinished:
        if superseded != part:
            discard_journal(superseded)
    sys.exit(_finish(collector, out))


def _places(
    data: str, output: Path | None, *, plan: Plan, mode: str, target: str, fresh: bool
) -> tuple[Path, list[Path]]:
    """Return the file to write, and the unfinished files of earlier calls with the same settings.

    Without a name, the newest unfinished file is continued. A new file's name has a hash of the
    data and the target, so that no other collection continues it.
    """
    if output is not None:
        if output.suffix.lower() != SUFFIX:
            saved = (output if output.name else FOLDER).with_suffix(SUFFIX)
            fix = f"use -o {shlex.quote(str(saved))}"
            if output.suffix.lower() in WRITERS:
                fix += f", then `ragstone convert {shlex.join(map(str, (saved, output)))}`"
            raise UsageError(
                f"-o {output}: the file must be {SUFFIX}, because failures and request settings "
                f"are saved with the responses; {fix}"
            )
        return output, []
    settings = collection_settings(target, plan=plan, mode=mode)
    identity = json.dumps([str(Path(data).resolve()), plan.sheet, settings])
    key = sha256(identity.encode()).hexdigest()[:8]
    name = f"{mode}_responses_k{settings['top_k']}"
    unfinished = sorted(FOLDER.glob(f"{name}_*_{key}{SUFFIX}{ENDING}"))
    if unfinished and not fresh:
        return unfinished[-1].with_suffix(""), unfinished
    now = datetime.now(UTC).astimezone()
    name = f"{name}_{now:%Y%m%d_%H%M%S}"
    out, number = FOLDER / f"{name}_{key}{SUFFIX}", 2
    while out.exists():
        out, number = FOLDER / f"{name}_{number}_{key}{SUFFIX}", number + 1
    return out, unfinished


def _finish(collector: Collector, out: Path) -> int:
    rows, failed = len(collector.dataset.samples), collector.failed
    causes = ", ".join(f"{cause} {times}" for cause, times in sorted(collector.causes.items()))
    failures = f"; {failed} failed ({causes})" if failed else ""
    click.echo(f"wrote {out}: {count(rows, 'row')}{failures}")
    click.echo(f"Judge them with: ragstone run {out}")
    if failed:
        for cause, reason in sorted(collector.reasons.items()):
            click.echo(f"  {cause}, first: {quoted(reason)}")
        click.echo(
            "Run the same command to retry failed rows, or add --fresh to call the target "
            "again for all rows."
        )
    if more := len(collector.journal.beyond):
        click.echo(
            f"{count(more, 'answer')} for rows beyond --limit remain in {collector.journal.path}"
        )
    if failed > collector.plan.max_failure_rate * rows:
        limit = f"--max-failure-rate {collector.plan.max_failure_rate:.0%}"
        click.echo(f"Exit code {TOO_MUCH_FAILED}: more rows failed than {limit} allows", err=True)
        return TOO_MUCH_FAILED
    return 0
