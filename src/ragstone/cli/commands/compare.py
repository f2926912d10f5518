"""`ragstone compare`: what moved between two stored runs, and whether by more than chance."""

import json
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypedDict, Unpack

import click
from rich.console import Console

from ragstone._internal.files import write_text
from ragstone.cli import GATE_FAILED, TOO_MUCH_FAILED, silent_pipes
from ragstone.cli.options import STORE
from ragstone.cli.output import check_files
from ragstone.cli.parse import open_store, read_by
from ragstone.errors import UsageError
from ragstone.reports.comparison import as_markdown, print_comparison, print_regressions
from ragstone.reports.format import finite
from ragstone.reports.tables import STDOUT
from ragstone.results.compare import (
    MIN_PAIRED,
    TOP,
    Comparison,
    Regressions,
    compare,
    find_regressions,
)
from ragstone.store import Store, find_run
from ragstone.types.gate import share

# The options by which a comparison decides the exit code, and the code that it comes to.


class RegressionGiven(TypedDict):
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
    def of(cls, given: RegressionGiven) -> Self:
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
        widest = max((each.span for each in comparison.metric_changes), default=math.inf)
        if self.min_effect >= widest:
            said = f"--min-effect {self.min_effect:g} lets every drop pass"
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
    """Return the exit code; why there is no verdict is told."""
    if found is None:
        return 0
    if found.doubts:
        said = "; ".join(found.doubts)
        click.echo(f"Exit code {TOO_MUCH_FAILED}: no verdict, as {said}", err=True)
        return TOO_MUCH_FAILED
    return GATE_FAILED if found.beyond else 0


EPILOG = (
    "Exit codes: 0 fine, 1 a regression with --fail-on-regression, 2 usage error, 3 with "
    "--fail-on-regression: a run is unfinished, too few samples could be paired, or none was "
    "scored in both runs."
)
_PATH = click.Path(path_type=Path)


class Given(RegressionGiven):
    """What the command line said."""

    a: str
    b: str | None
    metric: tuple[str, ...]
    cluster: str | None
    top: int
    json: Path | None
    markdown: Path | None
    store: str | None


_PARAMS: Sequence[click.Parameter] = (
    click.Argument(["a"]),
    click.Argument(["b"], required=False),
    click.Option(
        ["-m", "--metric"], multiple=True, metavar="NAME", help="Compare these metrics only."
    ),
    click.Option(
        ["--cluster"],
        metavar="TAG",
        help="Take the rows together that have the same tag: questions about one source are "
        "no independent witnesses.",
    ),
    click.Option(
        ["--top"],
        type=click.IntRange(min=0),
        default=TOP,
        metavar="N",
        show_default=True,
        help="Samples and claims told of each kind.",
    ),
    *OPTIONS,
    click.Option(["--json"], type=_PATH, metavar="FILE|-", help="Write all of it as JSON."),
    click.Option(
        ["--markdown"], type=_PATH, metavar="FILE|-", help="Write the report as Markdown."
    ),
    STORE,
)


@click.command(name="compare", params=[*_PARAMS], epilog=EPILOG)
def command(**given: Unpack[Given]) -> None:
    """Compare two stored runs, sample by sample: what moved, and is it more than chance?

    A and B are run ids, unique beginnings of one, tags, or `last`. B is the newest finished run
    if it is left out. What is said of gains and drops is of B against A.

    \b
    ragstone compare baseline
    ragstone compare baseline last --fail-on-regression --min-effect 0.02
    ragstone compare 20260301 20260302 -m faithfulness --markdown report.md
    """
    limits = Limits.of(given)
    with open_store(given["store"]) as store:
        a = find_run(store, given["a"])
        b = find_run(store, given["b"]) if given["b"] else _newest(store, but=a)
        if a == b:
            raise UsageError(f"A and B are both run {a}; name two runs")
        read = read_by(store, *map(store.info, (a, b)))
        check_files(given["json"], given["markdown"], inputs=read)
        comparison = compare(
            store.load(a),
            store.load(b),
            metrics=given["metric"],
            cluster=given["cluster"],
            top=given["top"],
        )
    found = limits.found(comparison)
    _tell(comparison, {_as_json: given["json"], as_markdown: given["markdown"]}, found)
    sys.exit(code_of(found))


def _newest(store: Store, *, but: str) -> str:
    """Return the newest finished run; that it is A itself is no comparison."""
    for info in store.runs():
        if info.finished:
            if info.id == but:
                raise UsageError(f"A is the newest finished run, {but}; name B too")
            return info.id
    raise UsageError(f"{store.name} holds no finished run; name B too")


def _tell(
    comparison: Comparison,
    files: Mapping[Callable[[Comparison], str], Path | None],
    found: Regressions | None,
) -> None:
    """Write what was asked for, and print the rest where it is not in the way."""
    texts = [(path, make(comparison)) for make, path in files.items() if path is not None]
    piped = [text for path, text in texts if path == STDOUT]
    for path, text in texts:
        if path != STDOUT:
            write_text(path, text)
    console = Console(file=sys.stderr if piped else sys.stdout, highlight=False)
    with silent_pipes():
        print_comparison(comparison, console)
        for path, _ in texts:
            if path != STDOUT:
                console.print(f"wrote {path}", markup=False, soft_wrap=True)
        if found is not None and not found.doubts:
            print_regressions(found, console)
        sys.stdout.writelines(piped)


def _as_json(comparison: Comparison) -> str:
    # ASCII with escapes, because a lone surrogate in the data has no UTF-8
    return json.dumps(finite(comparison.to_dict()), allow_nan=False, indent=2) + "\n"
