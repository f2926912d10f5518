import pytest

from ragstone.judges.offline.features import MAX_COUNT, Features, compute_features
from ragstone.judges.offline.index import ContextIndex
from ragstone.judges.offline.judge import read_claims
from ragstone.judges.offline.matching import match_claim

LAMP = "The red lamp stands in the hall. Ines Moreau painted it in 1911."


def features(claim, *contexts):
    index = ContextIndex(contexts)
    (read,) = read_claims([claim])
    match = match_claim(read, index)
    assert match is not None
    return compute_features(read, match, index)


def test_a_sentence_copied_has_all_of_everything():
    found = features("The red lamp stands in the hall.", LAMP)
    for name in ("coverage", "anywhere", "triples", "pieces"):
        assert getattr(found, name) == 1, name
    assert all(getattr(found, name) == 0 for name in Features._fields if "missing" in name)


def test_what_no_context_has_is_missing():
    found = features("The red lamp was painted by Ines Lund in 1920 because.", LAMP)
    assert (found.missing_figures, found.missing_names) == (1, 1)  # 1920, Lund
    assert found.missing_function_words == 0.6  # was, by and because; not the and in
    assert found.first_missing == 0


def test_the_first_and_the_last_word_with_content_count():
    found = features("The blue lamp stands in the kitchen.", LAMP)
    assert (found.first_missing, found.last_missing) == (1, 1)


def test_triples_are_words_three_in_a_row():
    found = features("red lamp stands in Oslo", LAMP)  # red-lamp-stands and lamp-stands-in of three
    assert found.triples == pytest.approx(2 / 3, abs=1e-6)


@pytest.mark.parametrize(("claim", "share"), [("lamp", 1), ("lamp stands", 1), ("lamp hall", 0)])
def test_a_claim_of_one_or_two_words_has_triples_too(claim, share):
    assert features(claim, LAMP).triples == share


def test_pieces_hold_forms_of_a_word_that_words_miss():
    assert features("Talossa lamppu", "Talossa on lamppuja.").pieces > 0.5


def test_contexts_in_another_order_or_cut_elsewhere_have_the_same_features():
    first, second = LAMP.split(". ")
    claim = "The red lamp stands in the garden of Ines Moreau."
    whole = features(claim, f"{first}.", second)
    assert whole == features(claim, second, f"{first}.")


def test_counts_end_somewhere():
    names = " ".join(f"Lamp of Xaver{chr(97 + n)}vik Zoe{chr(97 + n)}tan" for n in range(20))
    assert features(f"the {names}", "A lamp.").missing_names <= MAX_COUNT


def test_one_context_more_lowers_no_count_of_what_is_missing_and_no_share_found():
    claim = "Ines Moreau painted the red lamp in Oslo in 1911."
    few = features(claim, "The red lamp stands in the hall.")
    more = features(claim, "The red lamp stands in the hall.", "Ines Moreau painted it in 1911.")
    for name in ("missing_figures", "missing_names", "missing_function_words"):
        assert getattr(more, name) <= getattr(few, name)
    assert more.anywhere > few.anywhere
