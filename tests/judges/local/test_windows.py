import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.judges.local.chunks import Window, stretches_of, windows_of


def starts(text: str) -> list[int]:
    """A token is a word here."""
    return [match.start() for match in re.finditer(r"\S+", text)]


def windows(contexts: list[str], room: int, *, join: bool = False) -> list[Window]:
    return windows_of(contexts, stretches_of(contexts, starts, room), room, join=join)


def test_contexts_have_windows_of_their_own() -> None:
    contexts = ["One two. Three.", "Four five."]
    assert [each.text for each in windows(contexts, 10)] == contexts


def test_short_contexts_share_a_window_where_they_are_joined() -> None:
    [window] = windows(["One two. Three.", "Four five."], 10, join=True)
    assert window.text == "One two. Three.\nFour five."
    assert [each.context for each in window.stretches] == [0, 0, 1]


def test_a_short_last_sentence_is_repeated_in_the_next_window() -> None:
    texts = [each.text for each in windows(["A b c d e f. G h. I j k l m n. O p."], 8)]
    assert texts == ["A b c d e f. G h.", "G h. I j k l m n.", "O p."]


def test_a_long_one_is_not() -> None:
    texts = [each.text for each in windows(["A b c d. E f g h. I j k l."], 8)]
    assert texts == ["A b c d. E f g h.", "I j k l."]


def test_a_sentence_longer_than_the_room_is_cut_between_tokens() -> None:
    texts = [each.text.strip() for each in windows(["a b c d e f g h i j"], 4)]
    assert texts == ["a b c d", "e f g h", "i j"]


def test_blank_contexts_make_no_window() -> None:
    assert windows(["", "  "], 4) == []


@given(
    st.lists(st.text(alphabet="aB. \n", max_size=80), max_size=4), st.integers(3, 20), st.booleans()
)
def test_no_token_is_lost_and_no_window_is_too_long(
    contexts: list[str], room: int, join: bool
) -> None:
    made = windows(contexts, room, join=join)
    covered = {
        (each.context, place)
        for window in made
        for each in window.stretches
        for place in range(each.start, each.end)
    }
    for number, context in enumerate(contexts):
        for start in starts(context):
            assert (number, start) in covered
    for window in made:
        assert sum(each.tokens for each in window.stretches) <= room


@pytest.mark.parametrize("room", [3, 5, 100])
def test_places_are_those_of_the_whole_contexts(room: int) -> None:
    contexts = ["First one. Second one here.", "Third."]
    for window in windows(contexts, room):
        for each in window.stretches:
            assert contexts[each.context][each.start : each.end].strip() in window.text
