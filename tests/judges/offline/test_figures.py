import pytest
from tests.cases import each_case

from ragstone.judges.offline.dates import Date, find_dates
from ragstone.judges.offline.quantities import (
    covers,
    differs,
    find_figures,
    find_quantities,
    read_number,
)


@each_case(
    ("written", "values"),
    [
        ("12", {12}),
        ("1,234", {1234, 1.234}),
        ("1.234", {1234, 1.234}),
        ("0,125", {0.125}),
        ("3,5", {3.5}),
        ("1,234.5", {1234.5}),
        ("1.234,5", {1234.5}),
        ("1 234 567", {1234567}),
        ("1.234.567", {1234567}),
        ("1'000", {1000}),
        ("١٢٫٥", {12.5}),
    ],
)
def test_numbers_are_read_as_every_country_writes_them(written, values):
    assert set(read_number(written)) == values


@each_case(
    ("text", "value", "dimension"),
    [
        ("90 minutes", 5400, "time"),
        ("1.5 h", 5400, "time"),
        ("22分钟", 1320, "time"),
        ("充电需要35分钟即可", 2100, "time"),
        ("30 นาที", 1800, "time"),
        ("١٢ ساعة", 43200, "time"),
        ("2 Wochen", 1209600, "time"),
        ("1 year", 12, "months"),
        ("35°C", 35, "celsius"),
        ("12 %", 12, "percent"),
        ("25 pour cent", 25, "percent"),
        ("25 por ciento", 25, "percent"),
        ("$1.2 million", 1.2e6, "dollars"),
        ("3 Mio. Euro", 3e6, "euros"),
        ("49 €", 49, "euros"),
        ("3万元", 30000, "yuan"),
        ("5 km", 5000, "length"),
        ("10-inch", 0.254, "length"),
        ("twelve hours", 43200, "time"),
        ("twenty-five hours", 90000, "time"),
        ("zwölf Stunden", 43200, "time"),
        ("14:30", 870, "clock"),
        ("2:30 p.m.", 870, "clock"),
        ("-5 °C", -5, "celsius"),
    ],
)
def test_quantities_come_in_one_measure(text, value, dimension):
    name = "de" if "Stunden" in text else "en"
    (quantity,) = find_quantities(text, name)
    assert quantity.dimension == dimension
    assert pytest.approx(value) == max(quantity.readings)


@each_case("text", ["IP68", "HX-200", "5G", "item [3]", "the 1980s", "2018-19"])
def test_names_citations_and_decades_are_no_quantities(text):
    assert all(quantity.shown == "2018" for quantity in find_quantities(text))


def test_a_range_gives_its_unit_to_both_ends():
    assert [(min(q.readings), q.dimension) for q in find_quantities("10–12 hours")] == [
        (36000, "time"),
        (43200, "time"),
    ]


@each_case(
    "text",
    [
        "5 March 2024",
        "March 5, 2024",
        "March 5th, 2024",
        "5th of March 2024",
        "2024-03-05",
        "5. März 2024",
        "5 mars 2024",
        "5 de marzo de 2024",
        "5 марта 2024",
        "2024年3月5日",
        "2024년 3월 5일",
    ],
)
def test_dates_are_read_in_every_order(text):
    (date,) = find_dates(text)
    assert date.readings == {(2024, 3, 5)}
    assert (date.start, date.end) == (0, len(text))


def test_a_date_in_digits_may_have_two_readings():
    (date,) = find_dates("05/03/2024")
    assert date.readings == {(2024, 3, 5), (2024, 5, 3)}


def one(text):
    (figure,) = find_figures(text)
    return figure


@each_case(
    ("stated", "claimed", "is_covered", "is_different"),
    [
        ("5 March 2024", "2024", True, False),
        ("5 March 2024", "March 2024", True, False),
        ("2024", "5 March 2024", False, False),
        ("5 March", "5 March 2024", True, False),
        ("5 March 2024", "6 March 2024", False, True),
        ("05/03/2024", "3 May 2024", True, False),
        ("22 minutes", "35 minutes", False, True),
        ("22 minutes", "35 percent", False, False),
        ("22 photos", "35 photos", False, True),
        ("22 photos", "35 lamps", False, False),
        ("2 weeks", "14 days", True, False),
        ("2000", "2,000", True, False),
    ],
)
def test_what_covers_and_what_differs(stated, claimed, is_covered, is_different):
    assert covers(one(stated), one(claimed)) is is_covered
    assert differs(one(stated), one(claimed)) is is_different


def test_a_date_is_no_quantity():
    assert all(isinstance(figure, Date) for figure in find_figures("On 5 March 2024 and in 2019"))
