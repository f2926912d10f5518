"""The templates and assets of all pages."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ragstone._internal.text import count, strip_controls
from ragstone.reports.facts import SummaryLine, cause_in_words, changed_settings, correction
from ragstone.reports.format import (
    NO_VALUE,
    brief,
    decimal,
    dollars,
    interval,
    margin,
    milliseconds,
    percent,
)
from ragstone.reports.html.charts import (
    OUTCOMES,
    Point,
    gauge,
    histogram,
    line,
    outcomes,
    reliability,
)
from ragstone.reports.insights import focus_of
from ragstone.types.score import Correction

T = TypeVar("T")

SCRIPTS = ("elements.js", "source.js", "marked.js", "sample.js", "samples.js")
"""The page's scripts in order; they share one scope."""
STYLES = ("page.css",)
LEVELS = 5
"""Colours of scores, from the worst to the best."""
_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
_CUTOFF = re.compile(r"(.*)@(\d+)(.*)")
_FOLDER = Path(__file__).parent

Metrics = Mapping[str, Mapping[str, object]]
"""A run's metrics from its summary: figures by key, by the metric's name."""


def render(template: str, **context: object) -> str:
    """Return a template filled with data; all texts are escaped and safe to show.

    Raises:
        UndefinedError: the template uses a name that the context does not have.
    """
    return _environment().get_template(template).render(context)


def render_parts(template: str, **context: object) -> Iterator[str]:
    return _environment().get_template(template).generate(context)


@cache
def read_asset(name: str) -> str:
    """Return a script or a style sheet.

    Raises:
        FileNotFoundError: there is no such file.
    """
    folder = _FOLDER / "assets"
    if name not in {path.name for path in folder.iterdir()}:
        raise FileNotFoundError(f"there is no asset {name!r}")
    return (folder / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_strip_controls,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    figures = (count, dollars, milliseconds, percent, minus)
    filters = (
        families,
        gaps,
        changed_settings,
        corrections,
        curves,
        figure,
        focus,
        level,
        *figures,
    )
    numbers = {
        "decimal": _with_minus(decimal),
        "interval": _with_minus(interval),
    }
    plots = {each.__name__: each for each in (gauge, histogram, outcomes, reliability)}
    names = plots | {"version": version("ragstone"), "margin": margin, "OUTCOMES": OUTCOMES}
    cast("dict[str, object]", environment.filters).update(
        {each.__name__: each for each in filters} | numbers
    )
    cast("dict[str, object]", environment.globals).update(names, scripts=SCRIPTS, styles=STYLES)
    return environment


def _strip_controls(value: object) -> object:
    return strip_controls(value) if type(value) is str else value  # Markup stays as it is


def minus(text: str) -> str:
    return _MINUS.sub("\N{MINUS SIGN}", text)


def _with_minus(write: Callable[[T], str]) -> Callable[[T], str]:
    return lambda value: minus(write(value))


def figure(value: float | str | None, *, sign: bool = False) -> str:
    if value is None or value == NO_VALUE:
        return NO_VALUE
    number = float(value)
    shown = "+" * (sign and number > 0) + brief(number)
    return Markup('<span title="{}">{}</span>').format(minus(decimal(number)), minus(shown))


def level(value: float | None, figures: Mapping[str, object]) -> str:
    low, high = cast("Sequence[float | None]", figures.get("range") or (None, None))
    if value is None or low is None or high is None or not 0 < high - low < math.inf:
        return ""
    share = min(max((value - low) / (high - low), 0.0), 1.0)
    good = share if figures["higher_is_better"] else 1 - share
    return f"level-{min(int(LEVELS * good), LEVELS - 1)}"


def focus(run: Mapping[str, object]) -> str | None:
    metrics = cast("Metrics", run["metrics"])
    gates = cast("Sequence[Mapping[str, object]]", run.get("gates") or ())
    judged = {name: figures.get("family") == "generation" for name, figures in metrics.items()}
    return focus_of(((str(gate["metric"]), bool(gate["passed"])) for gate in gates), judged)


class Family(NamedTuple):
    """The metrics of one family, in the run's order."""

    name: str
    metrics: tuple[tuple[str, Mapping[str, object]], ...]


def families(metrics: Metrics) -> list[Family]:
    found: dict[str, list[tuple[str, Mapping[str, object]]]] = {}
    for name, figures in metrics.items():
        found.setdefault(str(figures.get("family", "")), []).append((name, figures))
    return [Family(name, tuple(each)) for name, each in found.items()]


def curves(metrics: Metrics) -> dict[str, Markup]:
    found: dict[str, dict[int, Mapping[str, object]]] = {}
    for name, figures in metrics.items():
        if (match := _CUTOFF.fullmatch(name)) and figures["mean"] is not None:
            found.setdefault(f"{match[1]}@k{match[3]}", {})[int(match[2])] = figures
    charts: dict[str, Markup] = {}
    for name, by_k in found.items():
        if len(by_k) > 1:
            points = [
                Point(
                    str(k),
                    cast("float", figures["mean"]),
                    cast("Sequence[float] | None", figures["interval"]),
                )
                for k, figures in sorted(by_k.items())
            ]
            ends = cast("Sequence[float | None]", next(iter(by_k.values()))["range"])
            charts[name] = line(points, ends, title=f"{name} by k")
    return charts


def corrections(found: Mapping[str, object]) -> list[SummaryLine]:
    return [*correction(Correction.model_validate(found))] if found else []


class Gap(NamedTuple):
    """Why scores are missing, and the titles of the metrics with this reason and number.

    `cause` is None for undefined scores.
    """

    cause: str | None
    why: str
    samples: int
    titles: tuple[str, ...]


def gaps(metrics: Metrics, titles: Mapping[str, str]) -> list[Gap]:
    found: dict[tuple[str | None, str, int], list[str]] = {}
    for name, figures in metrics.items():
        title = titles.get(name, name)
        failures = cast("Iterable[Mapping[str, object]]", figures.get("failures", ()))
        for each in failures:
            cause = cause_in_words(str(each["cause"]))
            key = (cause, f"first {each['first']}", cast("int", each["count"]))
            found.setdefault(key, []).append(title)
        reasons = cast("Mapping[str, int]", figures.get("reasons", {}))
        for reason, number in reasons.items():
            found.setdefault((None, reason, number), []).append(title)
    listed = [Gap(*key, tuple(names)) for key, names in found.items()]
    return sorted(listed, key=lambda gap: (gap.cause is None, -gap.samples))
