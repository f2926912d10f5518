import math

import pytest

from ragstone.reports.html.templates import (
    GAUGE,
    HEIGHT,
    WIDTH,
    gauge,
    histogram,
    reliability,
)

EDGES = [0.0, 0.25, 0.5, 0.75, 1.0]


def test_the_most_frequent_scores_have_the_tallest_bar_and_none_has_none() -> None:
    plot = histogram({"edges": EDGES, "counts": [2, 0, 0, 4]}, mean=0.75, interval=(0.5, 1.0))
    assert plot
    assert [bar.height for bar in plot.bars] == [HEIGHT / 2, 0, 0, HEIGHT]
    assert [bar.y + bar.height for bar in plot.bars] == [HEIGHT] * 4
    assert (plot.mean, plot.low, plot.high, plot.threshold) == (
        WIDTH * 0.75,
        WIDTH / 2,
        WIDTH,
        None,
    )
    assert plot.words == (
        "0 to 0.25: 2 scores; 0.75 to 1: 4 scores. Mean 0.7500, 95% interval 0.5000 to 1.0000."
    )


def test_a_single_score_among_thousands_can_be_seen() -> None:
    plot = histogram({"edges": EDGES, "counts": [1, 0, 0, 99_999]}, mean=1.0, interval=None)
    assert plot
    assert plot.bars[0].height >= 1


def test_bars_lie_beside_one_another_within_the_box() -> None:
    plot = histogram(
        {"edges": EDGES, "counts": [1, 1, 1, 1]}, mean=0.5, interval=None, threshold=0.8
    )
    assert plot
    for left, right in zip(plot.bars, plot.bars[1:], strict=False):
        assert left.x + left.width <= right.x
    assert plot.bars[-1].x + plot.bars[-1].width <= WIDTH
    assert plot.threshold == pytest.approx(WIDTH * 0.8)


def test_nothing_scored_has_no_picture() -> None:
    assert histogram(None, mean=None, interval=None) is None
    assert gauge(None, None, (0, 1)) is None


@pytest.mark.parametrize(
    ("mean", "ends", "start", "length"),
    [
        (0.5, (0, 1), 0, GAUGE / 2),
        (-0.5, (-1, 1), GAUGE / 4, GAUGE / 4),
        (0.5, (-1, 1), GAUGE / 2, GAUGE / 4),
        (0.0, (0, 1), 0, 1),
    ],
)
def test_a_gauge_begins_at_zero(
    mean: float, ends: tuple[float, float], start: float, length: float
) -> None:
    bar = gauge(mean, None, ends)
    assert bar
    assert (bar.start, bar.length) == (start, length)


def test_an_interval_beyond_the_range_ends_at_it() -> None:
    bar = gauge(0.9, (0.8, 1.2), (0, 1))
    assert bar
    assert (bar.low, bar.high) == (pytest.approx(GAUGE * 0.8), GAUGE)


@pytest.mark.parametrize("ends", [(0, None), (None, 1), (-math.inf, 1.0), (0, math.inf)])
def test_a_score_that_can_be_any_number_has_no_gauge(ends: tuple[float | None, ...]) -> None:
    assert gauge(0.5, None, ends) is None


def test_reliability_has_a_bar_with_an_interval_for_each_range() -> None:
    plot = reliability([(0.2, 0.4, 8, 0), (0.8, 1.0, 10, 5)])
    assert plot
    none, half = plot.bars
    assert (half.y, half.height, half.middle) == (HEIGHT / 2, HEIGHT / 2, WIDTH * 0.9)
    assert none.height > 1, "it can be seen"
    for bar in plot.bars:
        assert bar.low is not None
        assert bar.high is not None
        assert 0 <= bar.high < bar.low <= HEIGHT
    assert plot.diagonal
    assert "judge 0.8 to 1.0: people support 5 of 10 (50%, 95% interval 19% to 81%)" in plot.words
    assert reliability([]) is None
