"""`ragstone collect`: a run with the free judge that saves its rows, to be judged again later."""

from datetime import UTC, datetime
from pathlib import Path

import click

from ragstone.cli.commands.run import command as run
from ragstone.cli.options import option
from ragstone.errors import UsageError

_METRICS = {"chat": "all_generation", "search": "all_retrieval"}
"""Mode -> the metrics for which a run asks for what the mode saves."""


@click.command(
    name="collect",
    context_settings={"ignore_unknown_options": True},
    params=[
        click.Argument(["data"]),
        click.Argument(["options"], nargs=-1, type=click.UNPROCESSED, metavar="[RUN OPTIONS]..."),
        option(
            "--mode",
            "chat saves answers and their contexts; search saves rankings.",
            choices=list(_METRICS),
            default="chat",
        ),
        option("--k", "Number of results to request.", least=1, default=5),
        option("-o --output", "The .jsonl file to write.  [default: in ./responses/]", path="FILE"),
    ],
)
def command(data: str, options: tuple[str, ...], mode: str, k: int, output: Path | None) -> None:
    """Call the RAG system for every row of DATA and save the rows to judge them later.

    This is `ragstone run --judge offline --rows FILE`, whose other options apply, too: after a
    crash or Ctrl-C the same command goes on with the rows that are missing.

    \b
    ragstone collect questions.xlsx --api-url http://localhost:8000 --delay 7 -o answers.jsonl
    ragstone run answers.jsonl -m faithfulness --model gpt-4o-mini
    """
    if output is not None and output.suffix.lower() != ".jsonl":
        raise UsageError(
            f"-o {output}: the file must be .jsonl; use {output.with_suffix('.jsonl')}"
        )
    now = datetime.now(UTC).astimezone()
    rows = output or Path("responses") / f"{mode}_responses_k{k}_{now:%Y%m%d_%H%M%S}.jsonl"
    words = ["--metric", _METRICS[mode], "--k", str(k), "--judge", "offline", "--no-export"]
    run.main([data, *options, *words, "--rows", str(rows)], standalone_mode=False)
