"""The geometry of histograms and gauges, in units of their SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone._internal.text import count
from ragstone.reports.format import decimal
from ragstone.results.stats import intervals

WIDTH, HEIGHT = 240.0, 56.0
"""The size of a histogram."""
GAUGE = 72.0
"""The width of a gauge."""
_GAP = 2.0
_MIN_HEIGHT = 1.5
"""The height of the smallest visible bar."""


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram, and its description."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True)
class Histogram:
    """A histogram; `mean`, `low`, `high` and `threshold` are positions on its axis or None."""

    bars: tuple[Bar, ...]
    mean: float | None
    low: float | None
    high: float | None
    threshold: float | None
    first: str
    last: str
    words: str


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
        left, right = (_position(each, low, high, WIDTH) for each in (start, end))
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
    ends = [_position(end, low, high, WIDTH) for end in interval or ()] or (None, None)
    return Histogram(
        bars=tuple(bars),
        mean=_position(mean, low, high, WIDTH),
        low=ends[0],
        high=ends[1],
        threshold=None if threshold is None else _position(threshold, low, high, WIDTH),
        first=f"{low:g}",
        last=f"{high:g}",
        words=f"{words}.",
    )


def gauge(
    mean: float | None, interval: Sequence[float] | None, ends: Sequence[float | None]
) -> Gauge | None:
    """Lay out a mean within a metric's range; the bar starts at 0 if the range includes it.

    None without a mean, or if the range is unbounded.
    """
    low, high = (math.inf if end is None else end for end in ends)
    if mean is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    zero = _position(min(max(0.0, low), high), low, high, GAUGE)
    tip = _position(mean, low, high, GAUGE)
    whisker = [_position(end, low, high, GAUGE) for end in interval or ()] or (None, None)
    length = round(max(abs(tip - zero), 1.0), 2)
    return Gauge(start=min(zero, tip), length=length, low=whisker[0], high=whisker[1])


def _position(value: float, low: float, high: float, width: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return round(min(max(share, 0.0), 1.0) * width, 2)
