import pytest
from tests.cases import each_case

from ragstone.judges.offline.judge import verify_claims
from ragstone.judges.offline.matching import match_figures
from ragstone.judges.offline.quantities import find_figures
from ragstone.types.claim import Label

SENTENCES = ["The value of item {} is {}.", "Item {} weighs {} kg.", "Step {} takes {} minutes."]


def pairing(claim, stated):
    return match_figures(dict(enumerate(find_figures(claim, "en"))), find_figures(stated, "en"))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_number_answers_for_one_number_of_the_claim(sentence):
    result = pairing(sentence.format(3, 3), sentence.format(3, 4))
    assert result.found == {0}
    assert {number: rival.shown[0] for number, rival in result.conflicting.items()} == {1: "4"}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_the_same_numbers_in_the_same_places_are_held(sentence):
    assert pairing(sentence.format(3, 3), sentence.format(3, 3)).found == {0, 1}


def test_a_number_may_be_said_twice():
    result = pairing("It has 3 doors, and the 3 doors are red.", "It has 3 doors in 2 walls.")
    assert (result.found, result.conflicting) == ({0, 1}, {})


def test_numbers_that_changed_places_conflict():
    result = pairing("3 towers and 4 bridges", "4 towers and 3 bridges")
    assert (result.found, set(result.conflicting)) == (frozenset(), {0, 1})


def test_a_bare_number_does_not_stand_in_for_an_amount_that_differs():
    assert pairing("The towers weigh 3 kg.", "The 3 towers weigh 4 kg.").found == frozenset()


@each_case("sentence", SENTENCES)
@each_case(
    "others", [[], ["In the shop there are 3."], ["{other}"]], ids=["alone", "digit", "like it"]
)
def test_a_digit_elsewhere_does_not_hide_a_conflict(sentence, others):
    others = [text.format(other=sentence.format(99, 3)) for text in others]
    (verdict,) = verify_claims([sentence.format(3, 3)], [*others, sentence.format(3, 4)])
    assert verdict.label is Label.CONTRADICTED, verdict.reason


@pytest.mark.parametrize("joint", [" ", None])
def test_a_number_of_another_subject_does_not_support(joint):
    sentences = ["The tower weighs 2500 kg.", "The bridge weighs 1800 kg."]
    contexts = [joint.join(sentences)] if joint else sentences
    wrong, right = verify_claims(
        ["The tower weighs 1800 kg.", "The tower weighs 2500 kg."], contexts
    )
    assert (wrong.label, right.label) == (Label.CONTRADICTED, Label.SUPPORTED)


def test_a_sentence_may_go_on_with_the_one_before():
    context = "The lamp weighs 160 g with a cable. The lamp in red is heavier: 190 g."
    (verdict,) = verify_claims(["The red lamp weighs 190 g."], [context])
    assert verdict.label is Label.SUPPORTED, verdict.reason
