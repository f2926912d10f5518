"""Templates: HTML that is made from data, every text of it escaped; and the pages' assets."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ragstone._internal.text import count, strip_controls
from ragstone.reports.facts import settings
from ragstone.reports.format import decimal, dollars, interval, milliseconds, percent
from ragstone.reports.html.plots import gauge, histogram

# The run page's groups: metrics by family, and why scores are missing, each reason once.

Metrics = Mapping[str, Mapping[str, object]]
"""A run's metrics as its summary has them: figures by key, by the metric's name."""


class Family(NamedTuple):
    """The metrics of one family, in the run's order."""

    name: str
    metrics: tuple[tuple[str, Mapping[str, object]], ...]


class Gap(NamedTuple):
    """Why scores are missing, and the titles of the metrics for which as many are for that.

    `cause` is None where they are undefined, not failed.
    """

    cause: str | None
    why: str
    samples: int
    titles: tuple[str, ...]


def families(metrics: Metrics) -> list[Family]:
    """Return the families in the order in which their first metric stands."""
    found: dict[str, list[tuple[str, Mapping[str, object]]]] = {}
    for name, figures in metrics.items():
        found.setdefault(str(figures.get("family", "")), []).append((name, figures))
    return [Family(name, tuple(each)) for name, each in found.items()]


def gaps(metrics: Metrics, titles: Mapping[str, str]) -> list[Gap]:
    """Return why scores are missing, what failed first, then the commonest."""
    found: dict[tuple[str | None, str, int], list[str]] = {}
    for name, figures in metrics.items():
        for gap in (*_failed(figures), *_undefined(figures)):
            found.setdefault(gap, []).append(titles.get(name, name))
    told = [Gap(*gap, tuple(names)) for gap, names in found.items()]
    return sorted(told, key=lambda gap: (gap.cause is None, -gap.samples))


def _failed(figures: Mapping[str, object]) -> Iterator[tuple[str, str, int]]:
    failures = cast("Iterable[Mapping[str, object]]", figures.get("failures", ()))
    for failure in failures:
        yield str(failure["cause"]), f"first {failure['first']}", cast("int", failure["count"])


def _undefined(figures: Mapping[str, object]) -> Iterator[tuple[None, str, int]]:
    reasons = cast("Mapping[str, int]", figures.get("reasons", {}))
    for reason, number in reasons.items():
        yield None, reason, number


T = TypeVar("T")

SCRIPTS = ("elements.js", "source.js", "marked.js", "sample.js", "samples.js")
"""The page's scripts in their order; they share one scope."""
STYLES = (
    "colours.css",
    "page.css",
    "scores.css",
    "tables.css",
    "controls.css",
    "sample.css",
    "claims.css",
    "screens.css",
)
"""The page's styles in their order: of rules that weigh the same, the later one counts."""

_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
_HERE = Path(__file__).parent


def rendered(name: str, **context: object) -> str:
    """Return a template filled with data; every text in it is escaped, and made safe to show.

    Raises:
        UndefinedError: the template uses what the context does not hold.
    """
    return _environment().get_template(name).render(context)


def pieces(name: str, **context: object) -> Iterator[str]:
    """Return what `rendered` does, piece by piece as it is made: for pages of any length."""
    return _environment().get_template(name).generate(context)


@cache
def asset(name: str) -> str:
    """Return the text of a script or a style.

    Raises:
        FileNotFoundError: there is none of that name.
    """
    folder = _HERE / "assets"
    if name not in {path.name for path in folder.iterdir()}:
        raise FileNotFoundError(f"there is no asset {name!r}")
    return (folder / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_safe,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = {each.__name__: each for each in (count, dollars, milliseconds, percent)}
    signed = {"decimal": _with_minus(decimal), "interval": _with_minus(interval), "minus": minus}
    filters = {each.__name__: each for each in (families, gaps, settings)} | figures | signed
    names = {"gauge": gauge, "histogram": histogram, "version": version("ragstone")}
    cast("dict[str, object]", environment.filters).update(filters)
    cast("dict[str, object]", environment.globals).update(names, scripts=SCRIPTS, styles=STYLES)
    return environment


def minus(text: str) -> str:
    """Return figures with the sign that is as wide as a plus, where a hyphen stood for it."""
    return _MINUS.sub("\N{MINUS SIGN}", text)


def _with_minus(write: Callable[[T], str]) -> Callable[[T], str]:
    return lambda value: minus(write(value))


def _safe(value: object) -> object:
    """Show a visible mark for what a page must not hold; markup of our own stays as it is."""
    return strip_controls(value) if type(value) is str else value
