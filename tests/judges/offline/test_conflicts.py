import pytest
from tests.cases import each_case

from ragstone.judges.offline.judge import read_weights, verify_claims
from ragstone.types.claim import Label

SAME = [
    ("Use it 1 time a day.", "Use it once a day."),
    ("The house has three doors.", "The house has fire doors."),
    ("The flat has 250 rooms.", "The flat has two hundred and fifty rooms."),
    ("The hall seats 5,200 people.", "The hall seats five thousand two hundred people."),
    ("La batterie dure 70 heures.", "La batterie dure soixante-dix heures."),
    ("La batería dura 35 horas.", "La batería dura treinta y cinco horas."),
    ("Members must be 18 years old.", "Members must be 18."),
    ("Members must be 18.", "Members must be 18 years old."),
    ("Charging takes 225 minutes.", "Charging takes 3 hours and 45 minutes."),
    ("Charging takes 90 minutes.", "Charging takes 1 h 30 min."),
    ("The door is 178 cm tall.", "The door is 5 feet 10 inches tall."),
    ("Charging takes 1.5 hours.", "Charging takes 1 1/2 hours."),
    ("Charging takes 10 minutes.", "Charging takes between 5 and 15 minutes."),
    ("Charging takes 10 minutes.", "Charging takes 8 to 12 minutes."),
    ("The firm earned $5 million.", "The firm earned $5m."),
    ("The lamp weighs about 100 g.", "The lamp weighs 98 g."),
    ("Die Lampe wiegt rund 100 g.", "Die Lampe wiegt 98 g."),
    ("La lampe pèse environ 100 g.", "La lampe pèse 98 g."),
    ("La lámpara pesa unos 100 g.", "La lámpara pesa 98 g."),
    ("The trail is 5 miles long.", "The trail is 8 km long."),
    ("The plan costs $10 per month.", "The plan costs $100 per year."),
    ("Heat the oven to 200 degrees Celsius.", "Heat the oven to 200 °C."),
    ("The ticket costs 50 yuan.", "The ticket costs 800 yen."),
]
NOT_DENIED = [
    ("No more than two bags are allowed.", "At most two bags are allowed."),
    ("Not more than two bags are allowed.", "At most two bags are allowed."),
    ("No less than two bags are needed.", "At least two bags are needed."),
    ("Nicht mehr als zwei Taschen sind erlaubt.", "Höchstens zwei Taschen sind erlaubt."),
    ("Pas plus de deux sacs sont permis.", "Au plus deux sacs sont permis."),
    ("No más de dos bolsas están permitidas.", "Como máximo dos bolsas están permitidas."),
    ("The shop does not open until noon.", "The shop opens at noon."),
    ("La tienda no abre hasta el mediodía.", "La tienda abre al mediodía."),
    ("Do not forget to close the lid.", "Close the lid."),
    ("N'oubliez pas de fermer le couvercle.", "Fermez le couvercle."),
    ("No olvide cerrar la tapa.", "Cierre la tapa, es importante cerrar la tapa."),
    ("لا تنس إغلاق الغطاء.", "يجب إغلاق الغطاء."),
    ("There is no doubt that the lid is red.", "The lid is red."),
    ("The lid is not blue but red.", "The lid is red."),
    ("The phone weighs 172 g, not 180 g.", "The phone weighs 172 g."),
    ("Das Telefon wiegt 172 g, nicht 180 g.", "Das Telefon wiegt 172 g."),
    ("Returns are not possible after 30 days.", "Returns are possible within 30 days."),
]
OTHER_SUBJECT = [
    ("Delivery takes 3 days.", "Returns take 14 days."),
    ("The Tarn 4 Lite weighs 160 g.", "The Tarn 4 Pro weighs 190 g."),
    (
        "The Pro supports wireless charging.",
        "The Lite does not support wireless charging.",
    ),
    ("Adults need a ticket.", "Children do not need a ticket."),
    ("The firm has offices in Berlin.", "The firm has offices in Paris and London."),
]
BOTH_WAYS = [*SAME, *NOT_DENIED, *((other, one) for one, other in [*SAME, *NOT_DENIED])]


@each_case(("claim", "context"), BOTH_WAYS)
def test_the_same_in_other_words_is_not_contradicted(claim, context):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is not Label.CONTRADICTED, verdict.reason


@each_case(("claim", "context"), OTHER_SUBJECT)
@each_case("turned", [False, True])
def test_what_holds_of_another_is_not_enough(claim, context, turned):
    claim, context = (context, claim) if turned else (claim, context)
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is Label.NOT_ENOUGH_INFO, verdict.reason


@pytest.mark.parametrize(
    ("claim", "context"),
    [
        ("The flat has twenty rooms.", "The flat has twenty-one rooms."),
        ("It keeps 2 years.", "The crate holds 24 cells."),
        ("More than two claims are accepted.", "At most two claims are accepted."),
        ("At least two claims are accepted.", "No more than two claims are accepted."),
    ],
)
def test_another_amount_or_bound_is_not_supported(claim, context):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is not Label.SUPPORTED


@each_case(
    ("claim", "context"),
    [
        ("The lid is red.", "The lid is not red."),
        ("The lid is blue.", "The lid is not blue but red."),
        ("It does not work but it is cheap.", "It works, and it is cheap."),
        ("Das Gerät ist vor Wasser geschützt.", "Das Gerät ist nicht vor Wasser geschützt."),
        ("The phone weighs 180 g.", "The phone weighs 172 g, not 180 g."),
        ("Charging takes 40 minutes.", "Charging takes 8 to 12 minutes."),
        ("The Tarn 4 Lite weighs 160 g.", "The Tarn 4 Lite weighs 190 g."),
        ("Adults do not need a ticket.", "Adults need a ticket."),
        ("The lid cannot be more firmly closed.", "The lid can be more firmly closed."),
    ],
)
def test_a_conflict_is_still_one(claim, context):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is Label.CONTRADICTED, verdict.reason


@each_case(
    ("claim", "context"),
    [
        ("The plan has a short deadline.", "The plan has a long deadline."),
        ("The plan has a short deadline.", "The plan has a tall order and a long deadline."),
        ("The window is closed.", "The window is open today."),
    ],
)
def test_an_opposite_of_the_same_is_a_conflict(claim, context):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is Label.CONTRADICTED, verdict.reason
    assert "the text says " in verdict.reason


def test_a_conflict_is_never_sure():
    (verdict,) = verify_claims(["The lid is not red."], ["The lid is red."])
    assert verdict.label is Label.CONTRADICTED
    assert verdict.confidence == pytest.approx(1 - read_weights().probability_caps["negation"])
