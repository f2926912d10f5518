"""Charts as inline SVG: colors come from the style sheet, and the figures are also in words."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup, escape

from ragstone._internal.text import one_line, strip_controls
from ragstone.reports.format import decimal, interval, signed
from ragstone.results.paired import Finding, MetricChange

WIDTH, HEIGHT = 240.0, 56.0  # the size of a chart
GAUGE = 72.0  # the width of a gauge
MAX_NAME = 60  # characters of the name of a metric in a title
COLORS = 6  # of the curves in a chart

Ends = Sequence[float | None]  # the ends of a range; None or infinite where it is open


class _Svg:
    def __init__(self, kind: str, width: float, height: float) -> None:
        self._kind, self._box = kind, f"0 0 {width:g} {height:g}"
        self._shapes: list[str] = []

    def add(self, tag: str, css: str, words: str = "", **places: object) -> None:
        attributes = "".join(
            f' {name}="{round(value, 2) if isinstance(value, float) else value}"'
            for name, value in places.items()
        )
        tip = f"<title>{_escaped(words)}</title>" if words else ""
        self._shapes.append(f'<{tag} class="{css}"{attributes}>{tip}</{tag}>')

    def write(self, words: str, x: float, y: float, anchor: str = "start") -> None:
        self._shapes.append(
            f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}">{_escaped(words)}</text>'
        )

    def finish(self, title: str = "", words: str = "") -> Markup:
        role = 'role="img"' if title else 'aria-hidden="true"'
        texts = f"<title>{_escaped(title)}</title>" if title else ""
        texts += f"<desc>{_escaped(words)}</desc>" if words else ""
        shapes = "".join(self._shapes)
        return Markup(  # noqa: S704 - all texts in it are escaped
            f'<svg class="{self._kind}" viewBox="{self._box}" {role}>{texts}{shapes}</svg>'
        )


def _escaped(text: str) -> str:
    return str(escape(strip_controls(text)))


def position(value: float, low: float, high: float, width: float) -> float:
    share = (value - low) / (high - low) if high > low else 0.5
    return round(min(max(share, 0.0), 1.0) * width, 2)


def _axis(ends: Ends, values: Sequence[float]) -> tuple[float, float]:
    low, high = (end if end is not None and math.isfinite(end) else None for end in ends)
    return min(values) if low is None else low, max(values) if high is None else high


def gauge(
    mean: float | None, interval: Sequence[float] | None, ends: tuple[float, float] | None
) -> Markup | None:
    """Draw a mean within a bounded range; the bar starts at 0 if the range includes it."""
    if mean is None or ends is None:
        return None
    low, high = ends
    zero = position(min(max(0.0, low), high), low, high, GAUGE)
    tip = position(mean, low, high, GAUGE)
    svg = _Svg("gauge", GAUGE, 8)
    svg.add("rect", "track", x=0, y=0, width=GAUGE, height=8)
    svg.add("rect", "bar", x=min(zero, tip), y=0, width=max(abs(tip - zero), 1.0), height=8)
    if interval:
        start, end = (position(each, low, high, GAUGE) for each in interval)
        svg.add("line", "whisker", x1=start, x2=end, y1=4, y2=4)
    return svg.finish()


class Forest(NamedTuple):
    """Differences of metrics on one axis, as shares of their ranges if these differ."""

    rows: Mapping[str, Markup]
    axis: Markup
    shares: bool


def forest(changes: Sequence[MetricChange]) -> Forest | None:
    """Metrics without a difference or with an unbounded range are left out."""
    drawn = [each for each in changes if each.difference is not None and 0 < each.span < math.inf]
    if not drawn:
        return None
    reach = max(
        abs(end) / each.span
        for each in drawn
        for end in (each.difference or 0.0, *(each.interval or ()))
    )
    reach = min(max(1.1 * reach, 0.05), 1.0)
    middle = WIDTH / 2
    rows: dict[str, Markup] = {}
    for each in drawn:

        def place(value: float, span: float = each.span) -> float:
            return position(value / span, -reach, reach, WIDTH)

        assert each.difference is not None
        svg = _Svg("forest", WIDTH, 20)
        words = f"B - A {signed(each.difference)}, interval {interval(each.interval)}"
        smallest = each.min_detectable_difference
        if smallest is not None:
            words += f", smallest detectable effect {decimal(smallest)}"
            start, end = place(-smallest), place(smallest)
            svg.add("rect", "detectable", x=start, y=2, width=end - start, height=16)
            for x in (start, end):
                if 0 < x < WIDTH:
                    svg.add("line", "mde", x1=x, x2=x, y1=2, y2=18)
        svg.add("line", "zero", x1=middle, x2=middle, y1=0, y2=20)
        tone = {Finding.BETTER: "better", Finding.WORSE: "worse"}.get(each.finding, "same")
        if each.interval:
            start, end = map(place, each.interval)
            svg.add("line", f"range {tone}", x1=start, x2=end, y1=10, y2=10)
        svg.add("circle", f"point {tone}", cx=place(each.difference), cy=10, r=4)
        rows[each.metric] = svg.finish(f"{one_line(each.metric, MAX_NAME)}: {words}")
    axis = _Svg("forest", WIDTH, 14)
    axis.write(f"\N{MINUS SIGN}{reach:.2f}", 0, 11)
    axis.write("0", middle, 11, "middle")
    axis.write(f"+{reach:.2f}", WIDTH, 11, "end")
    return Forest(rows, axis.finish(), shares=len({each.span for each in drawn}) > 1)


class Point(NamedTuple):
    label: str
    mean: float
    interval: Sequence[float] | None


def lines(curves: Mapping[str, Sequence[Point]], ends: Ends, *, title: str) -> Markup:
    """Draw curves by name: one with its intervals, or several in colors, on an axis they fill."""
    several, height = len(curves) > 1, HEIGHT * (2 if len(curves) > 1 else 1)
    points = [point for curve in curves.values() for point in curve]
    shown = [value for point in points for value in (point.mean, *(point.interval or ()))]
    if several:
        ends = math.floor(min(shown) * 10) / 10, math.ceil(max(shown) * 10) / 10
    low, high = _axis(ends, shown)
    left, top, bottom = 30.0, 8.0, 8.0 + height
    svg, figures = _Svg("line", WIDTH + 12 * several, bottom + 18), list[str]()

    def y(value: float) -> float:
        return round(bottom - position(value, low, high, height), 2)

    svg.add("line", "axis", x1=left, x2=WIDTH, y1=bottom, y2=bottom)
    labels = sorted({point.label for point in points}, key=lambda label: (len(label), label))
    step = (WIDTH - left - 10) / max(len(labels) - 1, 1)
    across = {label: round(left + number * step, 2) for number, label in enumerate(labels)}
    for label in labels if len(labels) <= 8 else labels[::4]:
        svg.write(label, across[label], bottom + 14, "middle")
    for place, (name, points) in enumerate(curves.items()):
        xs = [across[point.label] for point in points]
        if not several:
            ranges = [point.interval or (point.mean, point.mean) for point in points]
            upper = [f"{x:g},{y(end):g}" for x, (_, end) in zip(xs, ranges, strict=True)]
            lower = [f"{x:g},{y(end):g}" for x, (end, _) in zip(xs, ranges, strict=True)]
            svg.add("polygon", "band", points=" ".join([*upper, *reversed(lower)]))
        middles = " ".join(f"{x:g},{y(point.mean):g}" for x, point in zip(xs, points, strict=True))
        css = f" c{place % COLORS}" * several
        svg.add("polyline", f"curve{css}", points=middles)
        for x, point in zip(xs, points, strict=True):
            figures.append(f"{point.label}: {decimal(point.mean)}")
            figures[-1] = f"{name}, {figures[-1]}" if several else figures[-1]
            figures[-1] += f" ({interval(point.interval)})" if point.interval else ""
            svg.add("circle", f"point{css}", figures[-1], cx=x, cy=y(point.mean), r=3)
        if several:
            svg.write(name, xs[-1] + 6, y(points[-1].mean) + 3)
    svg.write(f"{high:g}", left - 8, top + 4, "end")
    svg.write(f"{low:g}", left - 8, bottom, "end")
    return svg.finish(title, "; ".join(figures))


def spark(values: Sequence[float], title: str) -> Markup:
    """Draw a small line of values over time, with a point at the last; one value has no line."""
    if len(values) < 2:
        return Markup()
    low, high = min(values), max(values)
    svg, step = _Svg("spark", 80, 20), 72 / (len(values) - 1)
    points = [
        (4 + step * number, 17 - position(value, low, high, 14))
        for number, value in enumerate(values)
    ]
    svg.add("polyline", "curve", points=" ".join(f"{x:.4g},{y:.4g}" for x, y in points))
    svg.add("circle", "point", cx=points[-1][0], cy=points[-1][1], r=2.5)
    return svg.finish(title)
