"""`ragstone run --compare-legacy`: promptfoo's own way and RAGAS mode on the same responses."""

import math
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragstone.cli.codes import TOO_MUCH_FAILED
from ragstone.cli.given import Given
from ragstone.cli.outcome import WRITERS
from ragstone.cli.pipes import silent_pipes
from ragstone.cli.progress import progress
from ragstone.cli.stored import is_place_typed
from ragstone.config import metric_names
from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.gates import FLAGS
from ragstone.integrations.promptfoo.both_ways import METRIC, BothWays, Pair, both_ways
from ragstone.integrations.promptfoo.running import Watched
from ragstone.judges.tracing import Tracing
from ragstone.messages import count
from ragstone.plan import Plan
from ragstone.scores import Score

MOST = 30
"""Samples that the table shows."""
UNHEEDED = (
    *("dry_run", "output", "verbose", *WRITERS),
    *(*FLAGS, "gates_on", "cluster", "include_reason"),
    *("fresh", "no_transcript"),
)
"""Options of `run` that say what becomes of one run's numbers, or where it is kept."""
MADE_UP = "*"
"""Stands behind a number that the policy made up."""
_MEASURED = re.compile(rf"{METRIC}(,mark=[^,]+)?")


def compare_ways(data: str | Path | Dataset, plan: Plan, given: Given, *, tracing: Tracing) -> int:
    """Score in both ways, print where they differ, and return the exit code.

    Raises:
        UsageError: something is asked that this has no use for.
    """
    _check_heeded(given)

    @contextmanager
    def watching() -> Generator[Watched, None, None]:
        with progress(Console(stderr=True)) as on_row:
            yield {"on_row": on_row, "on_notice": _print_notice, "tracing": tracing}

    found = both_ways(data, plan, watching)
    with silent_pipes():
        print_both_ways(found, Console(highlight=False))
    if not found.troubles:
        return 0
    click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(found.troubles)}", err=True)
    return TOO_MUCH_FAILED


def _check_heeded(given: Given) -> None:
    """Refuse what would be left out in silence.

    Raises:
        UsageError: something was typed that a comparison has no use for.
    """
    if given["policy"] is not None or given["preset"] is not None:
        raise UsageError("--compare-legacy scores by two policies; leave --policy and --preset out")
    typed = cast("Mapping[str, object]", given)
    named = [name for name in UNHEEDED if typed[name]] + ["store"] * is_place_typed()
    unheeded = [f"--{name.replace('_', '-')}" for name in named]
    if unheeded:
        raise UsageError(
            "--compare-legacy prints a table of two scores a sample, and has no use for "
            f"{', '.join(unheeded)}; leave that out"
        )
    names = set(metric_names(given["metrics"]))
    if len(names) > 1 or not all(map(_MEASURED.fullmatch, names)):
        raise UsageError(
            f"--compare-legacy scores {METRIC}, and --metric says {', '.join(sorted(names))}; "
            f"leave it out, or name a mark: -m {METRIC},mark=0.8"
        )


def _print_notice(notice: str) -> None:
    click.echo(notice, err=True)


def print_both_ways(found: BothWays, console: Console) -> None:
    """Print the samples that differ, the greatest difference first, and how far both agree."""
    differing = found.differing
    if differing:
        console.print(_table(differing[:MOST]))
    if len(differing) > MOST:
        console.print(f"and {len(differing) - MOST:,} more that differ")
    if len(found.pairs) < found.samples:
        console.print(f"only {len(found.pairs):,} of {found.samples:,} samples were finished")
    for line in _agreement(found):
        console.print(line, markup=False)


def _table(pairs: Sequence[Pair]) -> Table:
    table = Table("sample", title="Faithfulness, where they differ", title_justify="left")
    for name in ("legacy", "RAGAS mode", "difference", "passes"):
        table.add_column(name, justify="right")
    for pair in pairs:
        change = "" if pair.difference is None else f"{pair.difference:+.2f}"
        passes = " / ".join("yes" if score.passed else "no" for score in (pair.legacy, pair.ragas))
        table.add_row(Text(pair.sample), _shown(pair.legacy), _shown(pair.ragas), change, passes)
    return table


def _shown(score: Score) -> str:
    if score.value is None:
        return str(score.cause or score.state)
    return f"{score.value:.2f}{MADE_UP if score.fallback else ''}"


def _agreement(found: BothWays) -> list[str]:
    pairs, scored = found.pairs, found.both_scored
    alike = sum(pair.is_alike for pair in pairs)
    passing = sum(pair.passes_alike for pair in pairs)
    lines = [
        f"same score: {alike:,} of {len(pairs):,} samples",
        f"same verdict, passed or not: {passing:,} of {len(pairs):,} samples",
    ]
    if scored:
        means = [
            math.fsum(score.value or 0.0 for score in scores) / len(scored)
            for scores in zip(*((pair.legacy, pair.ragas) for pair in scored), strict=True)
        ]
        lines.append(
            f"mean over the {len(scored):,} scored both ways: legacy {means[0]:.4f}, RAGAS mode "
            f"{means[1]:.4f}"
        )
    if any(score.fallback for pair in pairs for score in (pair.legacy, pair.ragas)):
        lines.append(f"{MADE_UP} made up by the policy, as the judge gave no whole answer")
    return [*lines, f"judge: {found.judge}, {count(found.calls, 'call')}; nothing was stored"]
