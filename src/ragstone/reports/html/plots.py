"""Plots: the geometry of the small pictures beside a number, in the units of their SVG."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragstone._internal.text import count
from ragstone.reports.format import decimal
from ragstone.results.stats import histograms

WIDTH, HEIGHT = 240.0, 56.0
"""The box of a histogram; its bars stand on the lower edge."""
GAUGE = 72.0
"""The width of a gauge's box."""
_GAP = 2.0
_LEAST = 1.5
"""The height of the smallest bar that counts something: it must be seen."""


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram, and what it says."""

    x: float
    y: float
    width: float
    height: float
    words: str


@dataclass(frozen=True)
class Histogram:
    """A histogram; `mean`, `low`, `high` and `mark` are places on its axis, None if unknown."""

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
    """A mean as a bar from the least score, with its interval as a line."""

    start: float
    length: float
    low: float | None
    high: float | None


def histogram(
    counted: histograms.Histogram | None,
    *,
    mean: float | None,
    interval: Sequence[float] | None,
    threshold: float | None = None,
) -> Histogram | None:
    """Lay a histogram out; None where nothing was scored."""
    if counted is None or mean is None:
        return None
    edges, counts = counted["edges"], counted["counts"]
    low, high = edges[0], edges[-1]
    most = max(*counts, 1)
    bars: list[Bar] = []
    for start, end, number in zip(edges, edges[1:], counts, strict=False):
        x, right = (_place(each, low, high, WIDTH) for each in (start, end))
        tall = max(_LEAST, number / most * HEIGHT) if number else 0.0
        words = f"{start:g} to {end:g}: {count(number, 'score')}"
        width = round(max(right - x - _GAP, 1.0), 2)
        bars.append(
            Bar(round(x + _GAP / 2, 2), round(HEIGHT - tall, 2), width, round(tall, 2), words)
        )
    ends = [_place(end, low, high, WIDTH) for end in interval or ()]
    return Histogram(
        bars=tuple(bars),
        mean=_place(mean, low, high, WIDTH),
        low=ends[0] if ends else None,
        high=ends[1] if ends else None,
        threshold=None if threshold is None else _place(threshold, low, high, WIDTH),
        first=f"{low:g}",
        last=f"{high:g}",
        words=_told(bars, counts, mean, interval),
    )


def gauge(
    mean: float | None, interval: Sequence[float] | None, ends: Sequence[float | None]
) -> Gauge | None:
    """Lay a mean out between the least and the most it can be; from 0, where that lies there.

    None where there is no mean, or a score can be any number.
    """
    low, high = (math.inf if end is None else end for end in ends)
    if mean is None or not (math.isfinite(low) and math.isfinite(high)):
        return None
    zero = _place(min(max(0.0, low), high), low, high, GAUGE)
    tip = _place(mean, low, high, GAUGE)
    known = [_place(end, low, high, GAUGE) for end in interval or ()]
    return Gauge(
        start=min(zero, tip),
        length=round(max(abs(tip - zero), 1.0), 2),
        low=known[0] if known else None,
        high=known[1] if known else None,
    )


def _place(value: float, low: float, high: float, width: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return round(min(max(share, 0.0), 1.0) * width, 2)


def _told(
    bars: Sequence[Bar], counts: Sequence[int], mean: float, interval: Sequence[float] | None
) -> str:
    told = [bar.words for bar, number in zip(bars, counts, strict=True) if number]
    ends = f", 95 % interval {decimal(interval[0])} to {decimal(interval[1])}" if interval else ""
    return f"{'; '.join(told)}. Mean {decimal(mean)}{ends}."
