"""A promptfoo configuration as DATA of `run`: what it says, and which of its tests fail."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

import click

from ragstone.cli.codes import GATE_FAILED
from ragstone.cli.given import Given, plan_of
from ragstone.config import Config
from ragstone.datasets import Dataset
from ragstone.errors import UsageError
from ragstone.integrations.promptfoo.both_ways import RAGAS
from ragstone.integrations.promptfoo.configuration import (
    Configuration,
    is_configuration,
    read_configuration,
)
from ragstone.integrations.promptfoo.legacy_judge import legacy_model
from ragstone.integrations.promptfoo.running import LEGACY, asks_in_text
from ragstone.plan import Plan
from ragstone.run import Run

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

    def plan(self, given: Given, config: Config) -> Plan:
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
            raise UsageError(f"{file} has no sheets; leave --sheet {plan.sheet} out")
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
