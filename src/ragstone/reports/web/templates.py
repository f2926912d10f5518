"""Templates: HTML that is made from data, every text of it escaped; and the pages' assets."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TypeVar, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ragstone.messages import count, strip_controls
from ragstone.reports.figures import decimal, dollars, interval, milliseconds, percent
from ragstone.reports.settings import settings
from ragstone.reports.web.plots import gauge, histogram
from ragstone.reports.web.run_page import families, gaps

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
