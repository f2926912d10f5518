import pytest

from ragstone.claims import Label
from ragstone.judges.offline.verdicts import verify_claims

SWAPS = [
    ("The phone is red.", "The phone is black.", "'black' where the context says 'red'"),
    ("The phone is red and light.", "The phone is black.", "'black' where the context says 'red'"),
    ("Anna built the tower.", "Bob built the tower.", "'Bob' where the context says 'Anna'"),
    ("Paris is the capital of France.", "Lyon is the capital of France.", "'Lyon' where"),
    ("Das Telefon ist rot.", "Das Telefon ist schwarz.", "'schwarz' where the context says 'rot'"),
    ("Anna baute den Turm.", "Bob baute den Turm.", "'Bob' where the context says 'Anna'"),
    ("Le téléphone est rouge.", "Le téléphone est noir.", "'noir' where the context says 'rouge'"),
    ("Anna a construit la tour.", "Bob a construit la tour.", "'Bob' where"),
    ("El coche es rojo.", "El coche es negro.", "'negro' where the context says 'rojo'"),
    ("Telefonen är röd.", "Telefonen är svart.", "'svart' where the context says 'röd'"),
    ("Telefon jest czerwony.", "Telefon jest czarny.", "'czarny' where"),
    ("Simu ni nyekundu.", "Simu ni nyeusi.", "'nyeusi' where the context says 'nyekundu'"),
]
"""The last is Swahili, of which no word is known here."""


@pytest.mark.parametrize(("context", "claim", "reason"), SWAPS)
def test_a_word_in_the_place_of_another_is_not_supported(context, claim, reason):
    (verdict,) = verify_claims([claim], ["The box is square.", context])
    assert verdict.label is Label.NOT_ENOUGH_INFO
    assert reason in verdict.reason
    assert verdict.evidence[0].quote == context


@pytest.mark.parametrize("context", sorted({swap[0] for swap in SWAPS}))
def test_the_sentence_itself_is_supported(context):
    (verdict,) = verify_claims([context], ["The box is square.", context])
    assert verdict.label is Label.SUPPORTED


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
    assert verdict.label is Label.CONTRADICTED, verdict.reason


@pytest.mark.parametrize(
    ("context", "claim"),
    [
        ("Acme bought the firm in Oslo.", "Acme purchased the firm in Oslo."),
        ("The movie was directed by Anna.", "The film was directed by Anna."),
        ("It is a very long movie.", "It is a very long film."),
        ("The contract was signed by both sides.", "The contracts were signed by both sides."),
        ("The phone is red. The case is black.", "The phone is red."),
        ("Die Firma kaufte das Haus in Oslo.", "Die Firma erwarb das Haus in Oslo."),
        ("Der Laden ist geschlossen.", "Der Laden ist zu."),
        ("Der Eintritt ist kostenlos.", "Der Eintritt ist gratis."),
        ("La société a acquis la maison en mars.", "La société a acheté la maison en mars."),
        ("L'entrée du musée est gratuite.", "L'entrée du musée est gratuit."),
        ("Le magasin est grand et clos.", "Le magasin est grand et fermé."),
    ],
)
def test_the_same_in_a_word_of_like_meaning_is_supported(context, claim):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is Label.SUPPORTED, verdict.reason


@pytest.mark.parametrize(
    ("context", "claim"),
    [
        ("The phone is a red device.", "The phone is a device."),  # nothing is in its place
        ("Premam is old. The film had a long run.", "Premam had a long run."),  # the film is it
        ("Marco Polo was a Venetian merchant.", "Marco Polo was a person."),  # a kind of merchant
    ],
)
def test_what_is_no_word_in_the_place_of_another_is_not_called_so(context, claim):
    (verdict,) = verify_claims([claim], [context])
    assert "where the context says" not in (verdict.reason or "")


def test_a_long_claim_may_say_it_in_other_words():
    said = "The old harbour of the northern town was rebuilt by local workers after the great"
    (verdict,) = verify_claims([f"{said} storm."], [f"{said} tempest."])
    assert verdict.label is Label.SUPPORTED


@pytest.mark.parametrize(
    ("context", "claim"),
    [
        ("The service is offered at no charge.", "The service is free."),
        ("The car is powered by a battery.", "The car is electric."),
        ("The room is insulated from noise.", "The room is soundproof."),
        ("The battery is easy to take out.", "The battery is removable."),
        ("The data is stored with AES.", "The data is encrypted."),
        ("La maison est offerte sans frais.", "La maison est gratuite."),
        ("The product is plant-based.", "The product is vegan."),
        ("The service is offered without charge.", "The service is free."),
        ('The service is "offered" at no charge.', "The service is free."),
    ],
)
def test_the_beginning_of_a_phrase_is_no_word_in_the_place_of_another(context, claim):
    (verdict,) = verify_claims([claim], [context])
    assert verdict.label is Label.SUPPORTED, verdict.reason


@pytest.mark.parametrize(
    "context",
    [
        "The phone is red",
        "The phone is red; the case is small.",
        "The phone is red (and so is the case).",
        "The phone is red, light and small.",
        "The phone is red or light.",
        "The phone is red, but not light.",
    ],
)
def test_a_word_that_ends_its_clause_is_one(context):
    (verdict,) = verify_claims(["The phone is black."], [context])
    assert verdict.reason == "the claim says 'black' where the context says 'red'"


SAME_WORDS = """gray/grey fiber/fibre liter/litre tire/tyre mold/mould check/cheque sulfur/sulphur
airplane/aeroplane cozy/cosy ok/okay feet/foot mice/mouse men/man teeth/tooth written/wrote
sold/sell paid/pay won/winning moustache/mustache pajamas/pyjamas sells/sold""".split()
OTHER_WORDS = "black/block cold/gold light/night bold/bald summer/winter red/bed".split()


def turned(pairs):
    return [pair.split("/")[::step] for pair in pairs for step in (1, -1)]


@pytest.mark.parametrize(("one", "other"), turned(SAME_WORDS))
def test_another_writing_or_form_of_a_word_is_no_other_word(one, other):
    (verdict,) = verify_claims([f"The thing is {one}."], [f"The thing is {other}."])
    assert verdict.label is Label.SUPPORTED, verdict.reason


@pytest.mark.parametrize(("one", "other"), turned(OTHER_WORDS))
def test_a_word_of_like_letters_is_another_word(one, other):
    (verdict,) = verify_claims([f"The thing is {one}."], [f"The thing is {other}."])
    assert verdict.label is not Label.SUPPORTED


@pytest.mark.parametrize(("one", "other"), turned(["Bob/Rob", "Marina/Martha", "Nadine/Narine"]))
def test_a_name_of_like_letters_is_another_name(one, other):
    (verdict,) = verify_claims([f"{one} built the tower."], [f"{other} built the tower."])
    assert verdict.label is not Label.SUPPORTED
    assert f"{one!r} where" in (verdict.reason or "")
