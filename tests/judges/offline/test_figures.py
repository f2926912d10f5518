"""What counts as the same number, however it is written."""

import pytest
from tests.cases import each_case

from ragstone.judges.offline.figures import find_figures, read_number


def one(text):
    (figure,) = find_figures(text)
    return figure


@each_case(
    ("written", "values"),
    [
        *(("12", {12}), ("1,234", {1234, 1.234}), ("1.234", {1234, 1.234}), ("0,125", {0.125})),
        *(("3,5", {3.5}), ("1,234.5", {1234.5}), ("1.234,5", {1234.5}), ("1 234 567", {1234567})),
        *(("1.234.567", {1234567}), ("1'000", {1000}), ("١٢٫٥", {12.5})),
    ],
)
def test_numbers_are_read_as_every_country_writes_them(written, values):
    assert set(read_number(written)) == values


@each_case(
    ("text", "value", "dimension"),
    [
        *(("90 minutes", 5400, "time"), ("1.5 h", 5400, "time"), ("1 year", 12, "months")),
        *(("35°C", 35, "celsius"), ("9 degrees Celsius", 9, "celsius"), ("12 %", 12, "percent")),
        *(("$1.2 million", 1.2e6, "dollars"), ("$5m", 5e6, "dollars"), ("49 €", 49, "euros")),
        *(("5 km", 5000, "length"), ("10-inch", 0.254, "length"), ("-5 °C", -5, "celsius")),
        *(("twelve hours", 43200, "time"), ("twenty-five hours", 90000, "time")),
        *(("fifteen hundred people", 1500, ""), ("充电需要35分钟即可", 35, "")),
    ],
)
def test_quantities_are_in_one_unit_per_dimension(text, value, dimension):
    figure = one(text)
    assert figure.dimension == dimension
    assert pytest.approx(value) == max(figure.numbers) * figure.factor


@each_case("text", ["IP68", "HX-200", "5G", "item [3]", "the 1980s", "one lamp"])
def test_names_citations_decades_and_articles_are_not_figures(text):
    assert find_figures(text) == ()


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
    assert [max(each.numbers) for each in find_figures(text)] == numbers


@each_case(
    ("stated", "claimed", "is_stated"),
    [
        *(("2 weeks", "14 days", True), ("2000", "2,000", True), ("1.5 thousand", "1500", True)),
        *(("14", "14 years", True), ("14 years", "14", True), ("2024", "2023", False)),
        *(("22 minutes", "35 minutes", False), ("12 kg", "12.02 kg", False)),
        *(("100 kg", "98 kg", False), ("2,490 kg", "more than 2,500 kg", False)),
        *(("3 km", "3 kg", False), ("-3 °C", "3 °C", False)),
    ],
)
def test_which_figure_states_another(stated, claimed, is_stated):
    assert one(claimed).is_stated_by(one(stated)) is is_stated


@each_case(
    ("stated", "claimed", "replaces"),
    [
        *(("900 kg", "800 kg", True), ("900 m", "800 kg", False), ("800 kg", "800 kg", False)),
        ("5 March", "6 March", True),
        ("born in 1900.", "born in 1901.", False),
    ],
)
def test_a_figure_of_the_same_kind_stands_in_the_place_of_another(stated, claimed, replaces):
    assert one(stated).replaces(one(claimed)) is replaces


def test_a_row_of_a_table_is_not_one_endless_number():
    assert len(find_figures("100 200 300 " * 200)) == 60


@each_case("piece", ["ninety-nine million ", "two hundred ", "nine-"])
def test_endless_number_words_are_read(piece, huge):
    assert find_figures((piece * huge)[:huge])
