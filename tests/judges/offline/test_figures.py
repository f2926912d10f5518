"""What counts as the same number, however it is written."""

import pytest
from tests.cases import each_case

from ragstone.judges.offline.figures import find_figures, read_number
from ragstone.judges.offline.judge import verify_claims
from ragstone.judges.offline.words import language_of
from ragstone.types.claim import Label


def find(text, name="en"):
    return find_figures(text, language_of(name))


def one(text, name="en"):
    (figure,) = find(text, name)
    return figure


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
        ("200 degrees Celsius", 200, "celsius"),
        ("12 %", 12, "percent"),
        ("25 pour cent", 25, "percent"),
        ("25 por ciento", 25, "percent"),
        ("$1.2 million", 1.2e6, "dollars"),
        ("$5m", 5e6, "dollars"),
        ("3 Mio. Euro", 3e6, "euros"),
        ("49 €", 49, "euros"),
        ("3万元", 30000, "yuan"),
        ("5 km", 5000, "length"),
        ("10-inch", 0.254, "length"),
        ("twelve hours", 43200, "time"),
        ("twenty-five hours", 90000, "time"),
        ("two hundred and fifty rooms", 250, ""),
        ("five thousand two hundred people", 5200, ""),
        ("fifteen hundred people", 1500, ""),
        ("-5 °C", -5, "celsius"),
    ],
)
def test_quantities_are_in_one_unit_per_dimension(text, value, dimension):
    figure = one(text)
    assert figure.dimension == dimension
    assert pytest.approx(value) == max(figure.values)


@each_case("text", ["IP68", "HX-200", "5G", "item [3]", "the 1980s", "one lamp"])
def test_names_citations_decades_and_articles_are_not_figures(text):
    assert find(text) == ()


@each_case(
    ("text", "numbers"),
    [
        ("5 March 2024", [5, 2024]),
        ("March 5th, 2024", [2024]),
        ("2024-03-05", [2024, 5]),
        ("from 9:00 to 17:30", [9, 0, 17, 30]),
    ],
)
def test_dates_and_times_are_numbers(text, numbers):
    assert [max(each.values) for each in find(text)] == numbers


@each_case(
    ("stated", "claimed", "is_covered"),
    [
        ("2024", "2023", False),
        ("22 minutes", "35 minutes", False),
        ("2 weeks", "14 days", True),
        ("2000", "2,000", True),
        ("1.5 thousand", "1500", True),
        ("12.02 kg", "12 kg", True),
        ("12 kg", "12.02 kg", False),
        ("98 kg", "about 100 kg", True),
        ("100 kg", "98 kg", False),
        ("2,512 kg", "more than 2,500 kg", True),
        ("2,490 kg", "more than 2,500 kg", False),
        ("98 kg", "less than 100 kg", True),
        ("14", "14 years", True),
        ("14 years", "14", True),
        ("3 km", "3 kg", False),
        ("-3 °C", "3 °C", False),
    ],
)
def test_what_a_stated_figure_covers(stated, claimed, is_covered):
    assert one(claimed).is_covered_by(one(stated)) is is_covered


def test_a_number_of_something_else_does_not_cover_a_quantity():
    (verdict,) = verify_claims(["It has 5000 mAh."], ["The city has 5000 inhabitants."])
    assert verdict.label is Label.NOT_ENOUGH_INFO


@each_case(
    ("stated", "claimed", "share"),
    [
        ("The tower weighs 900 kg today.", "The tower weighs 800 kg.", 1),
        ("The bridge weighs 900 kg.", "The tower weighs 800 kg.", 0.5),
        ("The tower weighs 900 m.", "The tower weighs 800 kg.", 0),
        ("The tower weighs 800 kg.", "The tower weighs 800 kg.", 0),
        ("Born in 1900.", "Born in 1901.", 1),
    ],
)
def test_how_much_the_places_of_two_figures_are_alike(stated, claimed, share):
    assert one(stated).replaces(one(claimed)) == share


def test_a_row_of_a_table_is_not_one_endless_number():
    assert len(find("100 200 300 " * 200)) == 60


@each_case("piece", ["one hundred and ", "hundred ", "thousand ", "ninety-nine million "])
def test_endless_number_words_are_read(piece, huge):
    assert find((piece * huge)[:huge])
