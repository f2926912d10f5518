import pytest
from tests.cases import each_case

from ragstone.judges.offline.index import ContextIndex

INDEX = ContextIndex(
    ["The contractor signed two contracts. A contract binds.", "Unlocked doors, at a tract."]
)


@pytest.mark.parametrize(
    ("form", "near"),
    [
        ("contract", ("contractor", "contracts", "tract")),
        ("locked", ("unlocked",)),
        ("zebra", ()),
        ("at", ()),
    ],
)
def test_words_near_begin_or_end_alike_and_have_one_order(form, near):
    assert INDEX.words_near(form) == near


@each_case(
    ("forms", "found"),
    [
        (["two", "contracts", "a"], True),  # over the end of a sentence
        (["contract", "binds", "unlocked"], False),  # but of no context
        (["signed", "contracts"], False),
        (["tract"], True),
        (["act"], False),
    ],
)
def test_a_sequence_of_words_is_in_one_context(forms, found):
    assert INDEX.has_sequence(forms) is found


@pytest.mark.parametrize(
    ("piece", "found"), [("^con", True), ("act$", True), ("^act", False), ("ind$", False)]
)
def test_a_piece_is_of_one_word(piece, found):
    assert INDEX.has_piece(piece) is found
