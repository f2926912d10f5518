import pytest

from ragstone.judges.offline.features import MANY, Traits, read_contexts, read_traits
from ragstone.judges.offline.index import ContextIndex, Stretches
from ragstone.judges.offline.judge import read_claims

LAMP = "The red lamp stands in the hall. Ines Moreau painted it in 1911."


def traits(claim, *contexts):
    index = ContextIndex(contexts)
    (read,) = read_claims([claim], index)
    reading = read_contexts(read, index, Stretches(index))
    assert reading is not None
    return read_traits(reading, index)


def test_a_sentence_copied_has_all_of_everything():
    found = traits("The red lamp stands in the hall.", LAMP)
    for name in ("held", "exact", "names_held", "triples", "pieces"):
        assert getattr(found, name) == 1, name
    assert all(getattr(found, name) == 0 for name in Traits._fields if "lacking" in name)


def test_what_no_context_has_is_lacking():
    found = traits("The red lamp was painted by Ines Lund in 1920 because.", LAMP)
    assert found.figures_lacking == found.digits_lacking == 1
    assert found.names_held == 0.5  # Ines, not Lund
    assert found.names_lacking_here == 1
    assert found.function_words_lacking == 3  # was, by, because
    assert found.first_lacking == 0


def test_the_first_and_the_last_word_with_content_count():
    found = traits("The blue lamp stands in the kitchen.", LAMP)
    assert (found.first_lacking, found.last_lacking) == (1, 1)


def test_triples_are_words_three_in_a_row():
    found = traits("red lamp stands in Oslo", LAMP)  # red-lamp-stands and lamp-stands-in of three
    assert found.triples == pytest.approx(2 / 3, abs=1e-6)


@pytest.mark.parametrize(("claim", "share"), [("lamp", 1), ("lamp stands", 1), ("lamp hall", 0)])
def test_a_claim_of_one_or_two_words_has_triples_too(claim, share):
    assert traits(claim, LAMP).triples == share


def test_pieces_hold_forms_of_a_word_that_words_miss():
    assert traits("Talossamme lamppu", "Talossa on lamppuja.").pieces > 0.5


def test_contexts_in_another_order_or_cut_elsewhere_have_the_same_traits():
    first, second = LAMP.split(". ")
    claim = "The red lamp stands in the garden of Ines Moreau."
    whole = traits(claim, f"{first}.", second)
    assert whole == traits(claim, second, f"{first}.")


def test_counts_end_somewhere():
    names = " ".join(f"Lamp of Xaver{chr(97 + n)}vik Zoe{chr(97 + n)}tan" for n in range(20))
    assert traits(f"the {names}", "A lamp.").names_lacking_here <= MANY


def test_one_context_more_lowers_no_count_of_what_is_lacking_and_no_share_held():
    claim = "Ines Moreau painted the red lamp in Oslo in 1911."
    few = traits(claim, "The red lamp stands in the hall.")
    more = traits(claim, "The red lamp stands in the hall.", "Ines Moreau painted it in 1911.")
    for name in ("figures_lacking", "digits_lacking", "function_words_lacking"):
        assert getattr(more, name) <= getattr(few, name)
    assert more.names_held > few.names_held
