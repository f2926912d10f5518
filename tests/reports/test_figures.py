from ragstone._internal.text import count
from ragstone.reports.format import decimal, interval, milliseconds, percent


def test_numbers_that_there_are() -> None:
    assert decimal(0.87654) == "0.8765"
    assert decimal(-0.0) == "0.0000"
    assert interval((0.5, 1)) == "0.5000 – 1.0000"
    assert percent(0.0171) == "1.7%"
    assert milliseconds(1234.5) == "1,234 ms"
    assert count(1, "row") == "1 row"
    assert count(1200, "row") == "1,200 rows"


def test_numbers_that_there_are_not() -> None:
    assert [decimal(None), interval(None), milliseconds(None)] == ["–"] * 3
