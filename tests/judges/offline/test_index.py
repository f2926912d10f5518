from tests.cases import each_case

from ragstone.judges.offline.matching import ContextIndex

INDEX = ContextIndex(["The contractor signed two contracts. A contract binds.", "At a tract."])


@each_case(("piece", "found"), [("^con", True), ("act$", True), ("^act", False), ("ind$", True)])
def test_a_piece_is_of_one_word(piece, found):
    assert (piece in INDEX.marked_words) is found
