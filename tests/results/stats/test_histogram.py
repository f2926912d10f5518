import math

import pytest

from ragstone.results.stats.intervals import Share, histogram


def test_values_are_counted_in_tenths_of_the_range() -> None:
    found = histogram([0.0, 0.05, 0.95, 1.0, 0.5])
    assert found is not None
    assert found["edges"] == pytest.approx([tenth / 10 for tenth in range(11)])
    assert found["counts"] == [2, 0, 0, 0, 0, 1, 0, 0, 0, 2]


def test_without_values_there_is_none() -> None:
    assert histogram([]) is None


@pytest.mark.parametrize(
    ("values", "low", "high", "ends"),
    [
        ([2.0, 4.0], 0.0, math.inf, (0.0, 4.0)),
        ([2.0, 4.0], -math.inf, math.inf, (2.0, 4.0)),
        ([-1.0, 2.0], 0.0, 1.0, (-1.0, 2.0)),
        ([3.0], -math.inf, math.inf, (3.0, 4.0)),
    ],
)
def test_a_range_without_ends_goes_as_far_as_the_values(
    values: list[float], low: float, high: float, ends: tuple[float, float]
) -> None:
    found = histogram(values, low=low, high=high)
    assert found is not None
    assert (found["edges"][0], found["edges"][-1]) == ends
    assert sum(found["counts"]) == len(values)


def test_a_share_is_told_with_its_interval() -> None:
    share = Share(12, 20)
    assert (share.seen, share.interval) == ("12 of 20 (60%)", "36% to 81%")
    assert str(share) == "12 of 20 (60%, 95% interval 36% to 81%)"
    assert Share(1500, 1500).seen == "1,500 of 1,500 (100%)"
