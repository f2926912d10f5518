from time import process_time

from tests.cases import each_case

from ragstone.evaluation.perturbations import (
    PERTURBATIONS,
    Capitals,
    Material,
    date_spans,
    names_in,
)


def material(
    *contexts: str, names: tuple[str, ...] = (), sentences: tuple[str, ...] = ()
) -> Material:
    return Material(contexts=contexts, names=names, sentences=sentences, seed="s")


@each_case(
    ("kind", "claim", "changed"),
    [
        ("number", "重172克。", "重272克。"),
        ("date", "Am 05.03.2021 war es da.", "Am 05.03.2024 war es da."),
        ("date", "Closed on Mondays and Sunday.", "Closed on Mondays and Friday."),
        ("unit", "重172克，要2 GB。", "重172克，要2 MB。"),
        ("unit", "It costs $40 a month.", "It costs €40 a month."),
        ("negation", "The port is not sealed.", "The port is sealed."),
        ("negation", "Oslo lies in the south of Norway.",
         "It is not true: Oslo lies in the south of Norway."),
    ],
)  # fmt: skip
def test_a_change(kind: str, claim: str, changed: str) -> None:
    assert (
        PERTURBATIONS[kind](claim, material("The phone is in the box and it has a case."))
        == changed
    )


@each_case(
    ("kind", "claim"),
    [
        ("number", "It came out in 2021."),  # a date
        ("number", "See A12 and [3]."),  # a code and a citation
        ("date", "You may march on."),
        ("invented", "It weighs 172 grams."),  # no other sample
        ("negation", "The port is *not* sealed."),  # to put in a second one would tell nothing
        ("negation", "Es ist leider nicht wasserdicht."),
        ("negation", "The lid is hardly visible."),
        ("negation", "تزن 172 جراما."),
        ("negation", "Kameras kosten 5 Euro im Laden."),
    ],
)
def test_what_a_change_cannot_be_applied_to(kind: str, claim: str) -> None:
    assert PERTURBATIONS[kind](claim, material("The phone.")) is None


def test_a_short_claim_is_in_the_language_of_its_sample_not_of_others() -> None:
    german = ("Die Pumpe läuft nachts.", "Sie ist in dem Keller und wird nicht heiß.")
    english = ("The port is sealed and it is in the box.", "It has a case of its own.")
    mixed = Material(german, (), sentences=english, seed="s", claims=german)
    assert PERTURBATIONS["negation"](german[0], mixed) is None
    claim = "Pumps run at night."
    mixed = Material(english, (), sentences=german, seed="s", claims=(claim, *english))
    changed = "It is not true: Pumps run at night."
    assert PERTURBATIONS["negation"](claim, mixed) == changed


def test_nothing_that_the_contexts_state_is_put_in() -> None:
    found = material("It weighs 172 grams, with the case 272 grams, or 372.")
    assert PERTURBATIONS["number"]("It weighs 172 grams.", found) == "It weighs 472 grams."
    found = material("Made by Orvane in Oslo.", names=("Orvane", "Berlin"))
    assert PERTURBATIONS["name"]("The phone is from Oslo.", found) == "The phone is from Berlin."
    assert PERTURBATIONS["name"]("The phone is from Oslo.", material("x", names=("Oslo",))) is None
    stated, new = "The phone weighs 172 grams.", "The museum opens on Fridays at noon."
    found = material("The phone weighs 172 grams today.", sentences=(stated, new))
    assert PERTURBATIONS["invented"]("It is small.", found) == f"It is small. {new}"


TARN = "The Tarn of 2021 weighs 172 grams and comes from Anna Holm in Oslo. "
WEIGHS = "The Tarn weighs 172 grams."


@each_case(
    ("claim", "other", "changed"),
    [
        (WEIGHS, "A charger for your desk costs 40 euros.", "The Tarn weighs 40 grams."),
        ("It comes from Anna Holm.", "A charger is sold by Karl Berg.", "It comes from Karl Berg."),
    ],
)
def test_a_neighbour_is_a_value_of_another_sentence(claim: str, other: str, changed: str) -> None:
    assert PERTURBATIONS["neighbour"](claim, material(TARN, other)) == changed
    take = PERTURBATIONS["neighbour"]
    assert take("手机重172克。", material("手机重172克。", "充电器售价40欧元。")) == "手机重40克。"
    both = material("Anna lives in Oslo, the capital of Norway.", "It is a nice town, they say.")
    assert take("Anna lives in Oslo.", both) is None


@each_case(
    ("claim", "other"),
    [
        (WEIGHS, "With its case, the Tarn weighs 200 grams."),  # it is stated
        (WEIGHS, "A charger costs 172 euros."),  # the same value
        ("The Tarn weighs at least 172 grams.", "A charger costs 40 euros."),
        ("The Tarn weighs 180 grams.", "A charger costs 40 euros."),  # of no sentence
        ("It comes from Anna Holm.", "A charger is sold by Anna Berg."),  # perhaps the same
        ("It comes from Oslo.", "A charger is sold by Karl Berg."),  # two words for one
    ],
)
def test_a_neighbour_never_makes_a_true_claim(claim: str, other: str) -> None:
    assert PERTURBATIONS["neighbour"](claim, material(TARN, other)) is None


def names(*texts: str) -> list[str]:
    return names_in(texts, Capitals.of("\n".join(texts)))


@each_case(
    "text",
    [
        "Die Kamera wiegt 172 Gramm und hat ein Gehäuse aus Aluminium.",
        "THE PHONE WEIGHS 172 GRAMS AND HAS A CASE.",
        "The Long List of Known Stores and Their Owners in Oslo, Rome, Bergen, Paris, With Prices",
        "Telefon Oslo 172 gram",  # of no language that is known, and too short to tell
    ],
)
def test_where_capitals_do_not_tell_names_there_are_none(text: str) -> None:
    assert names(text) == []


@each_case("kind", PERTURBATIONS)
def test_a_change_is_the_same_each_time(kind: str) -> None:
    claim = "The Tarn of 2021 is 172 grams for Anna."
    found = material(
        "The Tarn is new. Its price rose by 40 percent.",
        "Anna wrote a book in 2021. Berlin had a museum in 1999.",
        names=("Oslo", "Rome"),
        sentences=("The library opens late.",),
    )
    first = PERTURBATIONS[kind](claim, found)
    assert first is not None
    assert first != claim
    assert PERTURBATIONS[kind](claim, found) == first


def test_the_days_and_months_of_a_long_text_are_found_in_linear_time() -> None:
    began = process_time()
    assert len(date_spans("It rains in June and on Monday. " * 10_000)) == 20_000
    assert process_time() - began < 3
