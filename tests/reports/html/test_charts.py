import math
import re
from collections.abc import Mapping
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from tests.cases import each_case

from ragstone.reports.format import LABELS
from ragstone.reports.html.charts import GAUGE, HEIGHT, WIDTH, Point, forest, gauge, lines, spark
from ragstone.reports.html.page import read_asset
from ragstone.results.paired import MetricChange, Unscored
from ragstone.results.stats.paired_tests import WinLossTie

HOSTILE = "</title><script>alert(1)</script>\x1b\"'"


class Drawn(NamedTuple):
    """A chart as a browser reads it."""

    svg: ElementTree.Element
    title: str
    words: str

    def of(self, css: str) -> list[Mapping[str, str]]:
        return [each.attrib for each in self.svg.iter() if css in each.get("class", "").split()]

    def numbers(self, css: str, name: str) -> list[float]:
        return [float(each[name]) for each in self.of(css)]


def read(chart: str | None) -> Drawn:
    assert chart
    svg = ElementTree.fromstring(chart)
    return Drawn(svg, svg.findtext("title") or "", svg.findtext("desc") or "")


def test_a_spark_ends_at_the_last_value_and_one_value_has_none() -> None:
    plot = read(spark([0.5, 0.75, 0.25], HOSTILE))
    (curve,) = plot.of("curve")
    assert curve["points"] == "4,10 40,3 76,17"
    assert plot.numbers("point", "cy") == [17]
    assert plot.title == HOSTILE.replace("\x1b", "\N{REPLACEMENT CHARACTER}")
    assert spark([0.5], "one") == ""


@each_case(
    ("mean", "ends", "start", "length"),
    [
        (0.5, (0, 1), 0, GAUGE / 2),
        (-0.5, (-1, 1), GAUGE / 4, GAUGE / 4),
        (0.5, (-1, 1), GAUGE / 2, GAUGE / 4),
        (0.0, (0, 1), 0, 1),
    ],
)
def test_gauges_begin_at_0(
    mean: float, ends: tuple[float, float], start: float, length: float
) -> None:
    bar = read(gauge(mean, (ends[0], 1.2), ends))
    assert bar.numbers("bar", "x") == [start]
    assert bar.numbers("bar", "width") == [length]
    assert bar.numbers("whisker", "x1") == [0]
    assert bar.numbers("whisker", "x2") == [GAUGE], "an interval beyond the range ends at it"
    assert gauge(mean, None, None) is None


def change(name: str, difference: float | None, **given: object) -> MetricChange:
    none = Unscored(0, 0)
    fields: dict[str, object] = {
        "higher_is_better": True, "judged": False, "span": 1.0, "n": 80, "unscored_a": none,
        "unscored_b": none, "only_in_a": 0, "only_in_b": 0, "mean_a": 0.5, "mean_b": 0.6,
        "interval": None, "confidence": 0.95, "p": 0.5, "p_adjusted": 0.5,
        "same_as": None, "conclusive": True, "effect": None, "empty": (0, 0),
        "win_loss_tie": WinLossTie(0, 0, 0),
        "min_detectable_difference": None, "groups": 80, "spread": None, "correlation": 0.0,
    }  # fmt: skip
    return MetricChange(metric=name, difference=difference, **(fields | given))  # type: ignore[arg-type]


def test_differences_share_an_axis_and_lie_within_their_intervals() -> None:
    worse = change("hit@5", -0.2, interval=(-0.3, -0.1), p_adjusted=0.01)
    same = change("mrr@5", 0.05, interval=(-0.1, 0.2), min_detectable_difference=0.15)
    unbounded = change("seconds", 12.0, span=math.inf)
    plots = forest([worse, same, unbounded, change("none", None)])
    assert plots
    assert not plots.shares
    assert set(plots.rows) == {"hit@5", "mrr@5"}
    one, two = read(plots.rows["hit@5"]), read(plots.rows["mrr@5"])
    for plot in (one, two):
        low, point, high = (
            plot.numbers(*where) for where in (("range", "x1"), ("point", "cx"), ("range", "x2"))
        )
        assert low < point < high
        assert plot.numbers("zero", "x1") == [WIDTH / 2]
    assert one.numbers("point", "cx") < [WIDTH / 2] < two.numbers("point", "cx")
    assert one.of("worse")
    assert two.of("same")
    low, high = two.numbers("mde", "x1")
    assert WIDTH / 2 - low == pytest.approx(high - WIDTH / 2)
    ends = "interval -0.1000 – 0.2000, smallest detectable effect 0.1500"
    assert two.title == f"mrr@5: B - A +0.0500, {ends}"
    shares = forest([change("hit@5", 0.5), change("rubric", 2.0, span=4.0)])
    assert shares
    assert shares.shares
    first, second = (read(plot).numbers("point", "cx") for plot in shares.rows.values())
    assert first == second
    assert forest([]) is None


def test_a_line_has_its_means_in_a_band_of_intervals() -> None:
    points = [Point("1", 0.25, (0.0, 0.5)), Point("3", 0.5, None), Point(HOSTILE, 1.0, (0.75, 1.0))]
    plot = read(lines({"": points}, (0, 1), title=HOSTILE))
    low, middle, high = plot.numbers("point", "cy")
    assert low - middle == HEIGHT / 4
    assert middle - high == HEIGHT / 2
    (band,), (curve,) = plot.of("band"), plot.of("curve")
    assert len(band["points"].split()) == 6
    assert [pair.split(",")[1] for pair in curve["points"].split()] == [
        f"{y:g}" for y in (low, middle, high)
    ]
    assert plot.words.startswith("1: 0.2500 (0.0000 – 0.5000); 3: 0.5000; ")
    assert list(plot.svg.iter("script")) == []
    one = read(lines({"": [Point("a", 7.0, None)]}, (0, None), title="seconds"))
    assert one.numbers("point", "cy") == [8]


def test_scripts_and_pages_have_the_same_words_for_labels() -> None:
    script = re.findall(
        r'^  ([A-Z_]+): \{ kind: "\w+", sign: ".", words: "([^"]+)" \}',
        read_asset("elements.js"),
        re.MULTILINE,
    )
    assert dict(script) == LABELS


def contrast(one: str, two: str) -> float:
    """Return the contrast of two colours by WCAG 2."""

    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
        )
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted(map(light, (one, two)))
    return (high + 0.05) / (low + 0.05)


def test_graphics_differ_from_the_page_by_three_to_one_in_both_themes() -> None:
    themes = re.findall(r":root \{(.*?)\}", read_asset("page.css"), re.DOTALL)[:2]
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#\w{6});", theme))
        for name in ("bar", "accent", "text", "muted", "good", "bad", "part", "unknown"):
            for ground in ("surface", "page"):
                assert contrast(colours[name], colours[ground]) >= 3, (name, ground, theme)
