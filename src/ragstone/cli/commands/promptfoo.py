"""A promptfoo configuration as DATA of `run`: what it says, and which of its tests fail."""

import math
import re
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import cast

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ragstone._internal.text import count
from ragstone.cli import GATE_FAILED, TOO_MUCH_FAILED, silent_pipes
from ragstone.cli.output import WRITERS, progress
from ragstone.cli.parse import RunArgs, is_place_typed, plan_of
from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.evaluation.config_file import Config, metric_names
from ragstone.integrations.promptfoo.asserts import LEGACY, ProgressOptions, asks_in_text
from ragstone.integrations.promptfoo.comparison import METRIC, RAGAS, BothWays, Pair, both_ways
from ragstone.integrations.promptfoo.config import (
    Configuration,
    is_configuration,
    read_configuration,
)
from ragstone.integrations.promptfoo.legacy import legacy_model
from ragstone.judges.instrumentation import Tracing
from ragstone.results.run import Run
from ragstone.types.config import Plan
from ragstone.types.gate import FLAGS
from ragstone.types.score import Score

MODES: Mapping[str, str] = MappingProxyType(
    {LEGACY: "RAGAS mode is off: scored as promptfoo 0.121.20 does", RAGAS: "RAGAS mode is on"}
)
"""Policy -> what it is in promptfoo's words."""
MOST = 20
"""Failing tests that are named."""


@dataclass(frozen=True)
class PromptfooTests:
    """The tests of a configuration, and the file that they stand in."""

    file: Path
    configuration: Configuration

    @property
    def dataset(self) -> Dataset:
        """A sample for each test and prompt, with its response."""
        return self.configuration.dataset

    def limited(self, plan: Plan) -> tuple["PromptfooTests", Plan]:
        """Return the first tests, as many as a plan asks for, and a plan that asks for all."""
        read, samples = self.configuration, self.dataset.samples[: plan.limit]
        source = self.dataset.source.model_copy(update={"rows": len(samples)})
        first = replace(self.dataset, samples=samples, source=source)
        tests = replace(self, configuration=replace(read, dataset=first))
        return tests, plan.model_copy(update={"limit": None})

    def plan(self, given: RunArgs, config: Config) -> Plan:
        """Return the plan of a run of these tests, and tell what is to be known of it.

        The command line goes before the configuration, and that before `ragstone.yaml`; no target
        is asked but one that is named.

        Raises:
            UsageError: options contradict each other, cannot be read, or name columns.
        """
        demands, file = self.configuration.demands, self.file.name
        plan = plan_of(given, demands.over(config))
        if plan.columns:
            raise UsageError(
                f"{file} has no columns to --map: promptfoo's assertions read the vars query and "
                "context"
            )
        if plan.sheet is not None:
            raise UsageError(f"{file} has no sheets; remove --sheet {plan.sheet}")
        if asks_in_text(plan):
            legacy_model(plan)
        how = MODES.get(plan.policy, "scored by ragstone's own rules")
        said = f"{len(self.dataset.samples):,} samples; {how} (policy {plan.policy})"
        for note in () if given["compare_legacy"] else (said, *demands.notes):
            click.echo(f"{file}: {note}", err=True)
        return plan.model_copy(update={"fallback_target": None})

    def code(self, run: Run, code: int) -> int:
        """Return 1 in the place of 0 where a test fails, and say which."""
        failing = [
            f"{row.sample.id} ({', '.join(names)})"
            for row in run.rows
            if (names := self.configuration.demands.failing(row.scores))
        ]
        if not failing:
            return code
        more = f" and {len(failing) - MOST} more" if len(failing) > MOST else ""
        named = f"{', '.join(failing[:MOST])}{more}"
        click.echo(f"{len(failing):,} of {len(run.rows):,} tests fail: {named}", err=True)
        return code or GATE_FAILED


def promptfoo_tests(data: str | Path) -> PromptfooTests | None:
    """Return what a promptfoo configuration holds; None if the file is none.

    Raises:
        UsageError: it holds what cannot be read here; the message says what to do.
        InputError: it is no YAML or JSON, or a test's vars make no sample.
    """
    file = Path(data)
    return PromptfooTests(file, read_configuration(file)) if is_configuration(file) else None


# `ragstone run --compare-legacy`: promptfoo's own way and RAGAS mode on the same responses.

LEGACY_COMPARISON_MOST = 30
"""Samples that the table shows."""
UNHEEDED = (
    *("dry_run", "output", "verbose", *WRITERS),
    *(*FLAGS, "gates_on", "cluster", "include_reason"),
    *("fresh", "no_transcript"),
)
"""Options of `run` that say what becomes of one run's numbers, or where it is kept."""
MADE_UP = "*"
"""Stands behind a number that the policy made up."""
_MEASURED = re.compile(rf"{METRIC}(,threshold=[^,]+)?")


def compare_ways(
    data: str | Path | Dataset, plan: Plan, given: RunArgs, *, tracing: Tracing
) -> int:
    """Score in both ways, print where they differ, and return the exit code.

    Raises:
        UsageError: something is asked that this has no use for.
    """
    _check_heeded(given)

    @contextmanager
    def watching() -> Generator[ProgressOptions, None, None]:
        with progress(Console(stderr=True)) as on_row:
            yield {"on_row": on_row, "on_notice": _print_notice, "tracing": tracing}

    found = both_ways(data, plan, watching)
    with silent_pipes():
        print_both_ways(found, Console(highlight=False))
    if not found.troubles:
        return 0
    click.echo(f"Exit code {TOO_MUCH_FAILED}: {'; '.join(found.troubles)}", err=True)
    return TOO_MUCH_FAILED


def _check_heeded(given: RunArgs) -> None:
    """Refuse what would be left out in silence.

    Raises:
        UsageError: something was typed that a comparison has no use for.
    """
    if given["policy"] is not None or given["preset"] is not None:
        raise UsageError("--compare-legacy scores with two policies; remove --policy and --preset")
    typed = cast("Mapping[str, object]", given)
    named = [name for name in UNHEEDED if typed[name]] + ["store"] * is_place_typed()
    unheeded = [f"--{name.replace('_', '-')}" for name in named]
    if unheeded:
        raise UsageError(
            "--compare-legacy prints a table of two scores per sample, and does not use "
            f"{', '.join(unheeded)}; remove it"
        )
    names = set(metric_names(given["metrics"]))
    if len(names) > 1 or not all(map(_MEASURED.fullmatch, names)):
        raise UsageError(
            f"--compare-legacy scores {METRIC}, and --metric is {', '.join(sorted(names))}; "
            f"remove it, or set a threshold: -m {METRIC},threshold=0.8"
        )


def _print_notice(notice: str) -> None:
    click.echo(notice, err=True)


def print_both_ways(found: BothWays, console: Console) -> None:
    """Print the samples that differ, the greatest difference first, and how far both agree."""
    differing = found.differing
    if differing:
        console.print(_table(differing[:LEGACY_COMPARISON_MOST]))
    if len(differing) > LEGACY_COMPARISON_MOST:
        console.print(f"and {len(differing) - LEGACY_COMPARISON_MOST:,} more that differ")
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
