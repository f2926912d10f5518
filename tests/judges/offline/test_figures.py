"""What counts as the same number, however it is written."""

from tests.cases import each_case

from ragstone.judges.offline.figures import find_figures


def one(text):
    (figure,) = find_figures(text)
    return figure


@each_case("text", ["IP68", "HX-200", "5G", "item [3]", "the 1980s", "one lamp"])
def test_names_citations_decades_and_articles_are_not_figures(text):
    assert find_figures(text) == ()


SAME = (
    "90 minutes = 1.5 h|twelve hours = 12 h|1 year = 12 months|35°C = 35 degrees Celsius|"
    "12 % = 12 percent|5 km = 5000 m|$1.2 million = $1,200,000|$5m = 5 million dollars|"
    "1,234.5 = 1.234,5|1'000 = 1000|1 234 567 = 1.234.567|١٢٫٥ = 12.5|0,125 = 0.125|1,234 = 1.234|"
    "twenty-five hours = 25 hours|fifteen hundred people = 1500 people|2 weeks = 14 days|"
    "5 March 2024 = 2024-03-05|2000 = 2,000|1.5 thousand = 1500|14 = 14 years|14 years = 14|"
    "10-inch = 25.4 cm|充电需要35分钟即可 = 35"
).split("|")
OTHERS = (
    "49 € = 59 €|from 9:00 to 17:30 = from 9:00 to 18:30|March 5th, 2024 = March 5th, 2023|"
    "2024 = 2023|22 minutes = 35 minutes|12 kg = 12.02 kg|100 kg = 98 kg|3 km = 3 kg|-3 °C = 3 °C|"
    "2,490 kg = more than 2,500 kg|5000 inhabitants = 5000 mAh"
).split("|")


@each_case(
    ("pair", "same"), [*((pair, True) for pair in SAME), *((pair, False) for pair in OTHERS)]
)
def test_which_figures_state_others(pair, same):
    stated, claimed = map(find_figures, pair.split(" = "))
    found = [any(figure.is_stated_by(each) for each in stated) for figure in claimed]
    assert found
    assert all(found) is same


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
