"""The options by which a comparison decides the exit code, and the code that it comes to."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self, TypedDict

import click

from ragstone.cli.codes import GATE_FAILED, TOO_MUCH_FAILED
from ragstone.comparison import MIN_PAIRED, Comparison, Regressions, regressed
from ragstone.errors import UsageError
from ragstone.gates import share


class Given(TypedDict):
    """What the command line said of regressions."""

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
class Limits:
    """What a comparison is held against.

    Attributes:
        asked: whether it decides the exit code.
        min_effect: the drop that passes, from 0.
        min_paired: the share of A's samples that has to have a partner, 0 to 1.
    """

    asked: bool
    min_effect: float
    min_paired: float

    @classmethod
    def of(cls, given: Given) -> Self:
        """Read what the command line said.

        Raises:
            UsageError: what should be a number is none, or one out of its range.
        """
        effect = _number("--min-effect", given["min_effect"])
        paired = _number("--min-paired", given["min_paired"])
        if effect < 0:
            said = given["min_effect"]
            raise UsageError(f"--min-effect {said}: name how large a drop may be, from 0")
        if not 0 <= paired <= 1:
            said = given["min_paired"]
            raise UsageError(f"--min-paired {said}: name a share of A's samples, from 0 to 100%")
        return cls(given["fail_on_regression"], effect, paired)

    def found(self, comparison: Comparison) -> Regressions | None:
        """Return whether B is worse than A; None if that was not asked.

        Raises:
            UsageError: any drop would pass.
        """
        if not self.asked:
            return None
        widest = max((each.span for each in comparison.movements), default=math.inf)
        if self.min_effect >= widest:
            said = f"--min-effect {self.min_effect:g} lets every drop pass"
            raise UsageError(
                f"{said}: no metric can fall by more than {widest:g}; write 0.02 or 2%"
            )
        return regressed(comparison, min_effect=self.min_effect, min_paired=self.min_paired)


def _number(flag: str, said: str) -> float:
    try:
        return share(said)
    except UsageError as error:
        raise UsageError(f"{flag}: {error}") from None


def code_of(found: Regressions | None) -> int:
    """Return the exit code; why there is no verdict is told."""
    if found is None:
        return 0
    if found.doubts:
        said = "; ".join(found.doubts)
        click.echo(f"Exit code {TOO_MUCH_FAILED}: no verdict, as {said}", err=True)
        return TOO_MUCH_FAILED
    return GATE_FAILED if found.beyond else 0
