from tests.cases import each_case

from ragstone.judges.offline.index import ContextIndex

INDEX = ContextIndex(
    ["The contractor signed two contracts. A contract binds.", "Unlocked doors, at a tract."]
)


@each_case(
    ("stems", "found"),
    [
        (("two", "contract", "a"), True),  # over the end of a sentence
        (("contract", "bind", "unlock"), False),  # but within a context
        (("sign", "contract"), False),
        (("tract",), True),
        (("act",), False),
    ],
)
def test_a_sequence_of_words_is_in_one_context(stems, found):
    assert INDEX.has_sequence(stems) is found


def test_a_piece_is_of_one_word():
    assert [INDEX.has_piece(piece) for piece in ("^con", "act$", "^act", "ind$")] == [
        True,
        True,
        False,
        True,
    ]
