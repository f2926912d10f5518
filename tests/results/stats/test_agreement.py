"""Agreement of tables computed by hand."""

import pytest
from tests.cases import each_case

from ragstone.results.stats.labels import Agreement


@each_case(
    ("table", "kappa", "ac1"),
    [
        # 70 % agree, 50 % by chance
        ((20, 5, 10, 15), 0.4, (0.7 - 2 * 0.55 * 0.45) / (1 - 2 * 0.55 * 0.45)),
        # 96 % agree, 92.98 % by chance; for AC1, 241 of 250 labels are True
        ((118, 5, 0, 2), (0.96 - 14_528 / 125**2) / (1 - 14_528 / 125**2), 0.957017),
        ((10, 0, 0, 10), 1.0, 1.0),
        ((0, 10, 10, 0), -1.0, -1.0),
        ((9, 0, 0, 0), None, 1.0),
        ((0, 0, 0, 9), None, 1.0),
        ((0, 9, 0, 0), 0.0, -1.0),
        ((0, 0, 0, 0), None, None),
    ],
)
def test_a_table_has_its_kappa_and_ac1(
    table: tuple[int, int, int, int], kappa: float | None, ac1: float | None
) -> None:
    found = Agreement(*table)
    assert found.kappa == (None if kappa is None else pytest.approx(kappa, abs=1e-6))
    assert found.ac1 == (None if ac1 is None else pytest.approx(ac1, abs=1e-6))


def test_pairs_are_counted() -> None:
    pairs = [(True, True), (True, False), (True, False), (False, True), *[(False, False)] * 4]
    found = Agreement.of(pairs)
    assert found == Agreement(both=1, first_only=2, second_only=1, neither=4)
    assert (found.n, found.agreeing) == (8, 5)
