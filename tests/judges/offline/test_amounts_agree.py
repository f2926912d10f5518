"""What counts as the same number, in families of sentences, both ways."""

import pytest
from tests.cases import each_case

from ragstone.judges.offline.dates import Date
from ragstone.judges.offline.judge import verify_claims
from ragstone.judges.offline.quantities import find_figures
from ragstone.types.claim import Label

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
