"""The templates and assets of all pages, and the geometry of histograms and gauges in them."""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple, TypeVar, cast

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from ragstone._internal.text import count, strip_controls
from ragstone.reports.facts import SummaryLine, cause_in_words, changed_settings, correction
from ragstone.reports.format import decimal, dollars, interval, milliseconds, percent
from ragstone.results.stats import intervals
from ragstone.results.stats.intervals import Share, proportion_interval
from ragstone.types.score import Correction

WIDTH, HEIGHT = 240.0, 56.0
"""The size of a histogram."""
GAUGE = 72.0
"""The width of a gauge."""
_GAP = 2.0
_MIN_HEIGHT = 1.5
"""The height of the smallest visible bar."""


@dataclass(frozen=True)
class Bar:
    """A bar, its description, and the ends of its value's interval, if it has one."""

    x: float
    y: float
    width: float
    height: float
    words: str
    low: float | None = None
    high: float | None = None

    @property
    def middle(self) -> float:
        """The horizontal place of the interval."""
        return round(self.x + self.width / 2, 2)


@dataclass(frozen=True)
class Histogram:
    """A histogram; `mean`, `low`, `high` and `threshold` are positions on its axis or None.

    With `diagonal`, bars that reach the line from corner to corner are as high as they should be.
    """

    title: str
    bars: tuple[Bar, ...]
    mean: float | None
    low: float | None
    high: float | None
    threshold: float | None
    first: str
    last: str
    words: str
    diagonal: bool = False


@dataclass(frozen=True)
class Gauge:
    """A mean as a bar, with its interval as a line."""

    start: float
    length: float
    low: float | None
    high: float | None


def histogram(
    counted: intervals.Histogram | None,
    *,
    mean: float | None,
    interval: Sequence[float] | None,
    threshold: float | None = None,
) -> Histogram | None:
    """Lay out a histogram; None if nothing was scored."""
    if counted is None or mean is None:
        return None
    edges, counts = counted["edges"], counted["counts"]
    low, high = edges[0], edges[-1]
    most = max(*counts, 1)
    bars: list[Bar] = []
    for start, end, number in zip(edges, edges[1:], counts, strict=False):
        left, right = (position(each, low, high, WIDTH) for each in (start, end))
        height = max(_MIN_HEIGHT, number / most * HEIGHT) if number else 0.0
        bars.append(
            Bar(
                x=round(left + _GAP / 2, 2),
                y=round(HEIGHT - height, 2),
                width=round(max(right - left - _GAP, 1.0), 2),
                height=round(height, 2),
                words=f"{start:g} to {end:g}: {count(number, 'score')}",
            )
        )
    words = "; ".join(bar.words for bar, number in zip(bars, counts, strict=True) if number)
    words += f". Mean {decimal(mean)}"
    if interval:
        words += f", 95% interval {decimal(interval[0])} to {decimal(interval[1])}"
    ends = [position(end, low, high, WIDTH) for end in interval or ()] or (None, None)
    return Histogram(
        title="Distribution of scores",
        bars=tuple(bars),
        mean=position(mean, low, high, WIDTH),
        low=ends[0],
        high=ends[1],
        threshold=None if threshold is None else position(threshold, low, high, WIDTH),
        first=f"{low:g}",
        last=f"{high:g}",
        words=f"{words}.",
    )


def reliability(bins: Sequence[tuple[float, float, int, int]]) -> Histogram | None:
    """Lay out the share of claims that people support, by the judge's probability.

    `bins` have low, high, claims, and those supported. None without any.
    """
    bars: list[Bar] = []
    for start, end, n, supported in bins:
        low, high = proportion_interval(supported, n)
        height = max(_MIN_HEIGHT, supported / n * HEIGHT)
        bars.append(
            Bar(
                x=round(start * WIDTH + _GAP / 2, 2),
                y=round(HEIGHT - height, 2),
                width=round((end - start) * WIDTH - _GAP, 2),
                height=round(height, 2),
                words=f"judge {start:.1f} to {end:.1f}: people support {Share(supported, n)}",
                low=round((1 - low) * HEIGHT, 2),
                high=round((1 - high) * HEIGHT, 2),
            )
        )
    words = "; ".join(bar.words for bar in bars)
    title = "Share of claims that people support, by the judge's probability"
    made = Histogram(title, tuple(bars), None, None, None, None, "0", "1", words, diagonal=True)
    return made if bars else None


def gauge(
    mean: float | None, interval: Sequence[float] | None, ends: Sequence[float | None]
) -> Gauge | None:
    """Lay out a mean within a metric's range; the bar starts at 0 if the range includes it.

    None without a mean, or if the range is unbounded.
    """
    low, high = (math.inf if end is None else end for end in ends)
    if mean is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    zero = position(min(max(0.0, low), high), low, high, GAUGE)
    tip = position(mean, low, high, GAUGE)
    whisker = [position(end, low, high, GAUGE) for end in interval or ()] or (None, None)
    length = round(max(abs(tip - zero), 1.0), 2)
    return Gauge(start=min(zero, tip), length=length, low=whisker[0], high=whisker[1])


def position(value: float, low: float, high: float, width: float) -> float:
    """Return where a value of a range is drawn, from 0 to `width`."""
    share = (value - low) / (high - low) if high > low else 0.5
    return round(min(max(share, 0.0), 1.0) * width, 2)


T = TypeVar("T")

SCRIPTS = ("elements.js", "source.js", "marked.js", "sample.js", "samples.js")
"""The page's scripts in order; they share one scope."""
STYLES = ("page.css",)
_MINUS = re.compile(r"(?<![\w-])-(?=\.?\d)")
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
    """Yield a rendered template in parts, for long pages."""
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
    filters = (families, gaps, changed_settings, corrections, *figures)
    signed = {"decimal": _with_minus(decimal), "interval": _with_minus(interval)}
    plots = {each.__name__: each for each in (gauge, histogram, reliability)}
    names = plots | {"version": version("ragstone")}
    cast("dict[str, object]", environment.filters).update(
        {each.__name__: each for each in filters} | signed
    )
    cast("dict[str, object]", environment.globals).update(names, scripts=SCRIPTS, styles=STYLES)
    return environment


def _strip_controls(value: object) -> object:
    return strip_controls(value) if type(value) is str else value  # Markup stays as it is


def minus(text: str) -> str:
    """Return figures with real minus signs instead of hyphens."""
    return _MINUS.sub("\N{MINUS SIGN}", text)


def _with_minus(write: Callable[[T], str]) -> Callable[[T], str]:
    return lambda value: minus(write(value))


class Family(NamedTuple):
    """The metrics of one family, in the run's order."""

    name: str
    metrics: tuple[tuple[str, Mapping[str, object]], ...]


def families(metrics: Metrics) -> list[Family]:
    """Return the families, ordered by their first metric."""
    found: dict[str, list[tuple[str, Mapping[str, object]]]] = {}
    for name, figures in metrics.items():
        found.setdefault(str(figures.get("family", "")), []).append((name, figures))
    return [Family(name, tuple(each)) for name, each in found.items()]


def corrections(found: Mapping[str, object]) -> list[SummaryLine]:
    """Return what reports state of a corrected mean, which is given as plain data."""
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
    """Return why scores are missing: failures first, then the commonest reason."""
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
