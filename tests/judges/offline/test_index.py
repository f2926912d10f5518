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
    ("forms", "stands"),
    [
        (["two", "contracts", "a"], True),  # over the end of a sentence
        (["contract", "binds", "unlocked"], False),  # but of no context
        (["signed", "contracts"], False),
        (["tract"], True),
        (["act"], False),
    ],
)
def test_a_row_of_words_stands_in_one_context(forms, stands):
    assert INDEX.has_row(forms) is stands


@pytest.mark.parametrize(
    ("piece", "stands"), [("^con", True), ("act$", True), ("^act", False), ("ind$", False)]
)
def test_a_piece_is_of_one_word(piece, stands):
    assert INDEX.has_piece(piece) is stands
