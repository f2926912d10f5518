import pytest
from tests.cases import each_case

from ragstone.judges.offline.judge import verify_claims
from ragstone.types.claim import Label

S, C, N = Label.SUPPORTED, Label.CONTRADICTED, Label.NOT_ENOUGH_INFO

KETTLE = (
    (
        "The kettle boils one litre of water in 22 minutes. Its cord is fixed and cannot be "
        "detached. It was first sold on 5 March 2019 by Arvid Holm in Uppsala, at a price of $49."
    ),
    "Rinse the kettle with vinegar before the first use. The lid opens when the button is pressed.",
)


@each_case(
    ("claim", "label", "reason"),
    [
        ("The kettle boils one litre of water in 22 minutes.", S, None),
        ("In 22 min, a litre of water is boiled.", S, None),
        (
            "The kettle boils a litre of water in 35 minutes.",
            C,
            "35 minutes, the context 22 minutes",
        ),
        ("The kettle boils a litre of water in 2 hours.", C, "2 hours, the context 22 minutes"),
        ("It was first sold on 6 March 2019.", C, "6 March 2019, the context 5 March 2019"),
        ("It was first sold on March 5, 2019.", S, None),
        ("It was first sold in 2019 at a price of 49 dollars.", S, None),
        ("It was first sold at a price of $59.", C, "$59, the context $49"),
        ("The cord can be detached.", C, "'cannot'"),
        ("The cord cannot be detached.", S, None),
        ("It was first sold by Arvid Lund in Uppsala.", C, "Lund, the context Holm"),
        ("Rinse the kettle with vinegar after the first use.", C, "'after', the context 'before'"),
        ("The lid closes when the button is pressed.", C, "'closes', the context 'opens'"),
        ("Birdsong plays at sunrise.", N, "no context sentence covers: "),
    ],
)
def test_english(claim, label, reason):
    (verdict,) = verify_claims([claim], KETTLE)
    assert verdict.label is label, verdict.reason
    assert verdict.reason is None if reason is None else reason in (verdict.reason or "")


@each_case(
    ("context", "claim", "label"),
    [
        ("Der Wasserkocher kocht einen Liter in 22 Minuten.", "Ein Liter kocht in 22 Minuten.", S),
        ("Der Wasserkocher kocht einen Liter in 22 Minuten.", "Ein Liter kocht in 35 Minuten.", C),
        ("Das Gehäuse ist wasserdicht.", "Das Gehäuse ist nicht wasserdicht.", C),
        ("Das Gehäuse ist wasserdicht.", "Die Garantie gilt drei Jahre.", N),
        ("Erschienen am 5. März 2019.", "Es ist am 6. März 2019 erschienen.", C),
        ("La bouilloire chauffe un litre en 22 minutes.", "Un litre chauffe en 22 minutes.", S),
        ("La coque est étanche.", "La coque n'est pas étanche.", C),
        ("La garantie dure 3 ans.", "La garantie dure 5 ans.", C),
        ("La batería dura doce horas.", "La batería dura 12 horas.", S),
        ("La batería dura doce horas.", "La batería dura 15 horas.", C),
        ("La pantalla es resistente al agua.", "La pantalla no es resistente al agua.", C),
        ("A garantia cobre a bateria.", "A garantia não cobre a bateria.", C),
        ("Чайник кипятит литр воды за 22 минуты.", "Литр воды кипятится за 22 минуты.", S),
        ("Чайник кипятит литр воды за 22 минуты.", "Чайник кипятит литр воды за 35 минут.", C),
        ("Корпус можно открыть.", "Корпус не открывается, его не можно открыть.", C),
        ("Vỏ máy chống nước.", "Vỏ máy không chống nước.", C),
        ("Pin dùng được 10 giờ.", "Pin dùng được 12 giờ.", C),
        ("这款水壶22分钟烧开一升水。", "水壶22分钟烧开一升水。", S),
        ("这款水壶22分钟烧开一升水。", "水壶35分钟烧开一升水。", C),
        ("外壳防水。", "外壳不防水。", C),
        ("外壳防水。", "保修期为三年。", N),
        ("ケースは防水です。", "ケースは防水ではない。", C),
        ("充電には22分かかります。", "充電には35分かかります。", C),
        ("เคสกันน้ำ", "เคสไม่กันน้ำ", C),
        ("แบตเตอรี่ใช้งานได้ 10 ชั่วโมง", "แบตเตอรี่ใช้งานได้ 12 ชั่วโมง", C),
        ("बैटरी हटाई जा सकती है।", "बैटरी नहीं हटाई जा सकती है।", C),
        ("बैटरी 10 घंटे चलती है।", "बैटरी 10 घंटे चलती है।", S),
        ("البطارية قابلة للإزالة.", "البطارية ليست قابلة للإزالة.", C),
        ("تدوم البطارية 10 ساعات.", "تدوم البطارية 12 ساعات.", C),
        ("Batarya 10 saat dayanır.", "Batarya 12 saat dayanır.", C),
        ("Kerros on vesitiivis.", "Takuu kestää kolme vuotta.", N),
    ],
)
def test_other_languages(context, claim, label):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is label, verdict.reason


@pytest.mark.parametrize(
    ("context", "claim"),
    [
        ("The window is closed.", "The window is open."),
        ("The man is short.", "The man is tall."),
        ("Das Fenster ist geschlossen.", "Das Fenster ist offen."),
    ],
)
def test_an_opposite_in_a_short_claim_is_a_conflict(context, claim):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is C, verdict.reason


@pytest.mark.parametrize(
    "claim",
    [
        "Charging takes 90 minutes.",
        "Charging takes 1.5 hours.",
        "Charging takes 1,5 h.",
    ],
)
def test_the_same_amount_in_other_units_is_no_conflict(claim):
    (verdict,) = verify_claims([claim], ["Charging takes 90 minutes."])
    assert verdict.label is S


def test_a_number_that_another_sentence_states_is_no_conflict():
    context = "Charging takes 22 minutes at home. Charging takes 35 minutes in the car."
    (verdict,) = verify_claims(["Charging takes 35 minutes in the car."], [context])
    assert verdict.label is S
    assert verdict.evidence[0].quote == "Charging takes 35 minutes in the car."


def test_two_sentences_together_can_support_a_claim():
    context = "The red lamp stands in the hall. It was painted by Ines Moreau."
    (verdict,) = verify_claims(["The red lamp in the hall was painted by Ines Moreau."], [context])
    assert verdict.label is S
    assert verdict.evidence[0].quote == context


def test_not_only_denies_nothing():
    (verdict,) = verify_claims(
        ["The lamp is red and round."], ["The lamp is not only red but also round."]
    )
    assert verdict.label is S


def test_a_negation_and_an_opposite_cancel():
    (verdict,) = verify_claims(["The lid is not closed."], ["The lid is open."])
    assert verdict.label is not C


def test_evidence_names_its_context():
    (verdict,) = verify_claims(["The lid opens."], ["Water is wet.", "So. The lid opens. Yes."])
    (evidence,) = verdict.evidence
    assert (evidence.context, evidence.start, evidence.end) == (1, 4, 18)


@pytest.mark.parametrize("contexts", [[], [""], ["  ", "\n"]])
def test_nothing_to_read_is_not_enough(contexts):
    (verdict,) = verify_claims(["The lid opens."], contexts)
    assert (verdict.label, verdict.reason) == (N, "there is no context")


@pytest.mark.parametrize("claim", ["", "...", "It is so.", "\0"])
def test_a_claim_without_content_is_not_enough(claim):
    (verdict,) = verify_claims([claim], ["The lid opens. It is so."])
    assert verdict.label is N


def test_more_support_is_more_confidence():
    context = ["The red lamp stands in the old hall beside the door."]
    all_of_it, most = verify_claims(
        [
            "The red lamp stands in the old hall beside the door.",
            "The red lamp hangs in the old kitchen beside the door.",
        ],
        context,
    )
    assert all_of_it.confidence > most.confidence
