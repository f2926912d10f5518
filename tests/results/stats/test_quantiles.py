from ragstone.results.stats import quantile


def test_quantiles_lie_between_the_values() -> None:
    values = [10.0, 20.0, 30.0, 40.0]
    assert quantile(values, 0) == 10
    assert quantile(values, 0.5) == 25
    assert quantile(values, 1) == 40
    assert quantile([7.0], 0.95) == 7


def test_a_quantile_of_nothing_is_none() -> None:
    assert quantile([], 0.5) is None
