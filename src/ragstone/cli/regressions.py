"""The options that let a comparison decide the exit code, for `compare` and `rank`."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypedDict

import click

from ragstone.cli import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.errors import UsageError
from ragstone.results.compare import MIN_PAIRED, Comparison, Regressions, find_regressions
from ragstone.types.gate import share


class RegressionArgs(TypedDict):
    """The options about regressions, as click passes them."""

    fail_on_regression: bool
    min_effect: str
    min_paired: str


OPTIONS: Sequence[click.Option] = (
    click.Option(
        ["--fail-on-regression"],
        is_flag=True,
        help="Exit 1 if a metric got worse by more than chance.",
    ),
    click.Option(
        ["--min-effect"],
        default="0",
        metavar="DIFFERENCE",
        help="Let --fail-on-regression pass a drop up to this: 0.02 or 2%.",
    ),
    click.Option(
        ["--min-paired"],
        default=f"{MIN_PAIRED:.0%}",
        metavar="SHARE",
        show_default=True,
        help="Have --fail-on-regression exit 3 if a smaller share of A's samples is in B.",
    ),
)


@dataclass(frozen=True)
class RegressionLimits:
    """Which drops are regressions.

    Attributes:
        asked: whether they decide the exit code.
        min_effect: the largest drop that is accepted.
        min_paired: the share of A's samples that must be in B, from 0 to 1.
    """

    asked: bool
    min_effect: float
    min_paired: float

    @classmethod
    def of(cls, given: RegressionArgs) -> Self:
        """Read the options.

        Raises:
            UsageError: a value is not a number, or out of its range.
        """
        effect = _number("--min-effect", given["min_effect"])
        paired = _number("--min-paired", given["min_paired"])
        if effect < 0:
            raise UsageError(f"--min-effect {given['min_effect']}: must be 0 or more")
        if not 0 <= paired <= 1:
            raise UsageError(f"--min-paired {given['min_paired']}: must be from 0% to 100%")
        return cls(given["fail_on_regression"], effect, paired)

    def found(self, comparison: Comparison) -> Regressions | None:
        """Return what is worse in B than in A; None if it was not asked for.

        Raises:
            UsageError: every drop would be accepted.
        """
        if not self.asked:
            return None
        widest = max((each.span for each in comparison.metric_changes), default=math.inf)
        if self.min_effect >= widest:
            said = f"--min-effect {self.min_effect:g} accepts every drop"
            raise UsageError(
                f"{said}: no metric can fall by more than {widest:g}; write 0.02 or 2%"
            )
        return find_regressions(comparison, min_effect=self.min_effect, min_paired=self.min_paired)


def _number(flag: str, said: str) -> float:
    try:
        return share(said)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from None


def code_of(found: Regressions | None) -> int:
    """Return the exit code, and print why there is no verdict."""
    if found is None:
        return 0
    if found.doubts:
        said = "; ".join(found.doubts)
        click.echo(f"Exit code {TOO_MUCH_FAILED}: no verdict, because {said}", err=True)
        return TOO_MUCH_FAILED
    return GATE_FAILED if found.beyond else 0
