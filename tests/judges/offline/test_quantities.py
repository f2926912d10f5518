"""What counts as the same number, in families of sentences, both ways."""

import re
from itertools import product

import pytest
from tests.cases import each_case

from ragstone.judges.offline.dates import Date, find_dates
from ragstone.judges.offline.judge import verify_claims
from ragstone.judges.offline.quantities import (
    ABOUT,
    AT_LEAST,
    AT_MOST,
    covers,
    differs,
    find_figures,
    find_quantities,
    read_bound,
    read_number,
)
from ragstone.types.claim import Label


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


@each_case(
    ("before", "bound", "is_about"),
    [
        ("It weighs ", "", False),
        ("at most ", "<", False),
        ("Up to $", "<", False),
        ("no more than ", "<", False),
        ("a maximum of ", "<", False),
        ("bis zu ", "<", False),
        ("weniger als ", "<", False),
        ("jusqu'à ", "<", False),
        ("moins de ", "<", False),
        ("como mucho ", "<", False),
        ("hasta ", "<", False),
        ("fino a ", "<", False),
        ("al massimo ", "<", False),
        ("niet meer dan ", "<", False),
        ("не более ", "<", False),
        ("最多", "<", False),
        ("at least ", ">", False),
        ("Over ", ">", False),
        ("mindestens ", ">", False),
        ("mehr als ", ">", False),
        ("au moins ", ">", False),
        ("al menos ", ">", False),
        ("más de ", ">", False),
        ("almeno ", ">", False),
        ("minstens ", ">", False),
        ("at least about ", ">", True),
        ("about ", "", True),
        ("approx. ", "", True),
        ("c. ", "", True),
        ("(ca. ", "", True),
        ("rund ", "", True),
        ("environ ", "", True),
        ("cerca de ", "", True),
        ("около ", "", True),
        ("sekitar ", "", True),
        ("~", "", True),
        ("约", "", True),
    ],
)
def test_words_before_a_number_bound_or_round_it(before, bound, is_about):
    assert read_bound(f"{before}12 g", len(before)) == (bound, is_about)


_PART = re.compile(r"\(\?:([^()]*)\)(\??)|(\\.|[^\\|])(\??)")
"""What a pattern of words is made of: `(?:of|to)` or a letter, each perhaps left out."""


def written(pattern):
    """Return all that a pattern of words matches."""
    parts = list(_PART.finditer(pattern))
    assert "".join(part[0] for part in parts) == pattern
    said = [alternatives(part[1]) if part[1] else [part[3].removeprefix("\\")] for part in parts]
    left_out = [[""] if part[2] or part[4] else [] for part in parts]
    return ["".join(chosen) for chosen in product(*map(list.__add__, said, left_out))]


def alternatives(pattern):
    """Return all that a pattern of alternatives matches; none of its groups is within another."""
    return [text for each in re.split(r"\|(?![^(]*\))", pattern) for text in written(each)]


EVERY = [
    (text, bound, not bound)
    for pattern, bound in ((AT_MOST, "<"), (AT_LEAST, ">"), (ABOUT, ""))
    for text in alternatives(pattern)
]


def test_the_patterns_are_expanded_to_all_that_they_match():
    texts = [text for text, _, _ in EVERY]
    assert {"no more than", "never higher than", "at the most", "approx", "approx."} <= set(texts)
    assert all(re.fullmatch(f"{AT_MOST}|{AT_LEAST}|{ABOUT}", text) for text in texts)
    assert len(texts) > len(f"{AT_MOST}|{AT_LEAST}|{ABOUT}".split("|"))


@each_case(("words", "bound", "is_about"), EVERY)
def test_all_that_the_patterns_match_is_seen(words, bound, is_about):
    for start, currency in product(("", "It is ", "Es ist für "), ("", "$")):
        before = f"{start}{words} {currency}"
        assert read_bound(f"{before}12 g", len(before)) == (bound, is_about), before
        assert read_bound(f"{before}12 g".upper(), len(before)) == (bound, is_about), before


# What counts as the same number, in families of sentences, both ways.


S, C = Label.SUPPORTED, Label.CONTRADICTED
COUNTED = ["kg", "mAh", "dollars", "euros", "users", "people", "km", "ml", "%", "m in height"]


def verdict(claim, *contexts):
    (found,) = verify_claims([claim], contexts)
    return found


@each_case("unit", COUNTED)
@each_case(
    ("one", "other"),
    [
        ("1500", "3000"),
        ("1800", "2500"),
        ("2100", "2099"),
        ("1999", "850"),
        ("2500", "2512"),
        ("9000", "9010"),
        ("21,467", "21,430"),
    ],
)
def test_another_number_of_the_same_thing_is_contradicted(unit, one, other):
    for claimed, stated in [(one, other), (other, one)]:
        found = verdict(f"The tower holds {claimed} {unit}.", f"The tower holds {stated} {unit}.")
        assert found.label is C, (claimed, stated, found.reason)


@each_case(
    ("one", "other"),
    [
        ("1,500", "1500"),
        ("1 500", "1,500"),
        ("1.5 thousand", "1500"),
        ("fifteen hundred", "1500"),
        ("two thousand", "2000"),
        ("1.5 million", "1,500,000"),
        ("12.0", "12"),
        ("$1500", "1500 dollars"),
        ("USD 1500", "$1,500"),
        ("1500 USD", "$1500"),
        ("€ 1500", "1500 euros"),
        ("1500 g", "1.5 kg"),
        ("2,000 kg", "2 tons"),
        ("90 minutes", "1.5 hours"),
        ("-$50", "$-50"),
        ("-3 °C", "minus 3 °C"),
    ],
)
def test_the_same_number_in_another_writing_is_supported(one, other):
    for claimed, stated in [(one, other), (other, one)]:
        found = verdict(f"The old tower had {claimed} there.", f"The old tower had {stated} there.")
        assert found.label is S, (claimed, stated, found.reason)


@each_case(
    ("rounded", "exact"),
    [
        ("12 kg", "12.02 kg"),
        ("35 kg", "35.1 kg"),
        ("1.5 million kg", "1,503,000 kg"),
        ("about 100 kg", "98 kg"),
        ("roughly 21,000 people", "21,467 people"),
        ("more than 2,500 kg", "2,512 kg"),
        ("less than 100 kg", "98 kg"),
    ],
)
def test_only_a_claim_may_be_rounded(rounded, exact):
    rounded, exact = f"The tower holds {rounded}.", f"The tower holds {exact}."
    assert verdict(rounded, exact).label is S
    assert verdict(exact, rounded).label is Label.NOT_ENOUGH_INFO


def test_a_bound_on_the_wrong_side_is_contradicted():
    found = verdict("The tower holds more than 2,520 kg.", "The tower holds 2,512 kg.")
    assert found.label is C


@each_case(
    "sentence",
    [
        "The app needs version {}.",
        "It was fixed in version {} of the app.",
        "The app is at v{} now.",
        "See section {} for the rules.",
    ],
)
@each_case(
    ("one", "other"), [("4.10", "4.11"), ("4.1", "4.10"), ("4.10.1", "4.10.2"), ("2.0", "2.1")]
)
def test_versions_and_sections_agree_by_their_digits(sentence, one, other):
    assert verdict(sentence.format(one), sentence.format(one)).label is S
    for claimed, stated in [(one, other), (other, one)]:
        found = verdict(sentence.format(claimed), sentence.format(stated))
        assert found.label is not S, (claimed, stated)


@each_case(
    ("one", "other"),
    [
        ("phone number is 5550123", "phone number is 5550124"),
        ("phone is 555-0123", "phone is 555-0124"),
        ("telephone is +49 30 1234567", "telephone is +49 30 1234568"),
        ("fax is (555) 012-3456", "fax is (555) 012-3457"),
        ("part number is 4410-22", "part number is 4410-23"),
        ("order is #12345", "order is #12346"),
        ("PIN is 0042", "PIN is 42"),
    ],
)
def test_numbers_that_name_something_agree_by_their_digits(one, other):
    assert verdict(f"The {one}.", f"The {one}.").label is S
    assert verdict(f"The {one}.", f"The {other}.").label is not S
    assert verdict(f"The {other}.", f"The {one}.").label is not S


def test_a_telephone_number_has_many_writings():
    assert verdict("The phone is 555 0123.", "The phone is 555-0123.").label is S


def test_a_version_may_be_said_in_part():
    assert verdict("The app needs version 4.10.", "The app needs version 4.10.2.").label is S


@pytest.mark.parametrize("sentence", ["{} m wide", "Outside it has {} degrees.", "It has {} °C."])
def test_a_sign_counts_and_is_shown(sentence):
    found = verdict(sentence.format("-3"), "Outside " + sentence.format("3"))
    assert "says -3" in (found.reason or "") or "covers: -3" in (found.reason or "")
    assert found.label is not S


@each_case(
    "text",
    [
        "It was built in 1999.",
        "In 2019 an audit was held.",
        "The 2019 season was long.",
        "En 2019 l'entreprise a ouvert.",
        "W 2019 roku firma otworzyła sklep.",
        "В 2019 году фирма открылась.",
        "В 2019 г. фирма открылась.",
        "The team that in 2019 won the cup.",
        "In 2019 $49 was the price.",
    ],
)
def test_a_year_stays_a_year(text):
    assert any(isinstance(figure, Date) for figure in find_figures(text))


@each_case(
    "text",
    ["1500 mAh", "1500-metre", "USD 1500", "€ 1500", "1500 Euro", "1500公斤", "1500 %", "-1500"],
)
def test_a_unit_a_currency_or_a_sign_rules_a_year_out(text):
    assert not any(isinstance(figure, Date) for figure in find_figures(f"Up to {text} here."))


def test_a_year_is_no_amount_of_something_else():
    contexts = ["The tower, built in 1500, weighs 900 kg."]
    assert verdict("The tower weighs 1500 kg.", *contexts).label is C
