import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ragstone.datasets.rankings.source import Texts, padded

words = st.text(max_size=30) | st.sampled_from(["", "a", "a\nb", "\ud800", "12345678", "123456789"])
lists = st.lists(words, max_size=12)


@given(lists)
def test_texts_come_back_as_they_were(strings: list[str]) -> None:
    texts = Texts.of(strings)
    assert texts.strings() == strings
    assert [texts.text(place) for place in range(len(strings))] == strings
    joined = Texts.joint(padded(texts.joined().tobytes()), texts.lengths)
    assert joined.strings() == strings
    assert joined.joined().tobytes() == texts.joined().tobytes()
    changed = [n for n, text in enumerate(strings) if n == 0 or text != strings[n - 1]]
    assert texts.changes().tolist() == changed


def test_a_byte_that_is_not_utf8_is_kept_apart() -> None:
    content = np.frombuffer(b"\xff" * 8 + b"\xe9\xe8" + b"\xff" * 8, np.uint8)
    texts = Texts(content, np.array([8, 9]), np.array([1, 1]))
    assert texts.strings() == ["\udce9", "\udce8"]


@given(lists, lists)
def test_equal_texts_have_equal_hashes_whatever_stands_beside_them(
    one: list[str], two: list[str]
) -> None:
    together, alone = Texts.of(one + two).hashes(), Texts.of(one).hashes()
    assert together[: len(one)].tolist() == alone.tolist()


@given(st.lists(st.tuples(words, words), max_size=12))
def test_texts_are_compared_byte_by_byte(pairs: list[tuple[str, str]]) -> None:
    one, two = Texts.of([a for a, _ in pairs]), Texts.of([b for _, b in pairs])
    assert one.equal(two).tolist() == [a == b for a, b in pairs]
    assert (one.hashes() == two.hashes()).tolist() == [a == b for a, b in pairs]


@given(lists)
def test_falling_keys_order_as_bytes_do(strings: list[str]) -> None:
    order = np.lexsort(Texts.of(strings).falling())
    texts = [strings[place].encode("utf-8", "surrogatepass") for place in order.tolist()]
    assert texts == sorted(texts, reverse=True)
