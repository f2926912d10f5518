"""A loop over cases reports every case that fails."""

import pytest
from tests.cases import each_case


@each_case("number", [1, 2, 3, 4])
def odd(number: int) -> None:
    assert number % 2, "even"


def test_all_failures_are_reported_with_their_cases() -> None:
    with pytest.raises(ExceptionGroup, match="2 of 4 cases failed") as caught:
        odd()
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["case 1: {'number': 2}"],
        ["case 3: {'number': 4}"],
    ]
