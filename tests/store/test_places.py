from ragstone.store import RowIndexSet


def test_places_are_a_set_of_whole_numbers() -> None:
    places = RowIndexSet.of([3, 0, 9, 3])
    assert list(places) == [0, 3, 9]
    assert len(places) == 3
    assert [place in places for place in (0, 1, 9, 10, -1, "0")] == [True, False, True] + [
        False
    ] * 3


def test_there_may_be_none() -> None:
    assert not RowIndexSet()
    assert 0 not in RowIndexSet.of([])
