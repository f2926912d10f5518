import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.judges.offline.languages import UNKNOWN, guess_language
from ragstone.judges.offline.words import (
    fold,
    is_opposite_form,
    similarity,
    split_forms,
    split_words,
)


@given(st.text())
def test_both_splitters_agree_and_words_stand_in_the_text(text):
    words = split_words(text)
    assert [word.form for word in words] == [form for form in split_forms(text) if form]
    assert all(text[word.start : word.end].startswith(word.shown) for word in words)


@each_case(
    ("text", "forms"),
    [
        ("The phone’s lid, don't!", ["the", "phone", "lid", "don't"]),
        ("L'homme qu'il", ["l", "homme", "qu", "il"]),
        ("Müller ÜBER Straße", ["muller", "uber", "strasse"]),
        ("नहीं हटाई", ["नहीं", "हटाई"]),
        ("防水壳", ["防水", "水壳"]),
        ("水", ["水"]),
        ("HX-200", ["hx", "200"]),
        ("The dog's lid isn't an A_B", ["the", "dog", "lid", "isn't", "an", "a", "b"]),
        ("x" * 70 + " y", ["x" * 64, "y"]),
    ],
)
def test_words_of_several_scripts(text, forms):
    assert [word.form for word in split_words(text)] == forms
    assert split_forms(text) == forms


@each_case(
    ("one", "other"),
    [
        ("battery", "batteries"),
        ("removed", "removable"),
        ("charges", "charging"),
        ("laufzeit", "akkulaufzeit"),
        ("batery", "battery"),
        ("кипятит", "кипятится"),
        ("بطاريه", "البطاريه"),
    ],
)
def test_forms_of_one_word_are_alike(one, other):
    assert similarity(one, other) == similarity(other, one) > 0.7


@pytest.mark.parametrize(
    ("one", "other"),
    [("lock", "unlock"), ("connect", "disconnect"), ("red", "read")],
)
def test_a_word_turned_round_is_not_alike(one, other):
    assert similarity(one, other) == 0


@each_case(
    ("one", "other"),
    [
        ("display", "play"),
        ("import", "port"),
        ("discount", "count"),
        ("inside", "side"),
        ("income", "come"),
        ("regardless", "regard"),
        ("online", "line"),
        ("unless", "less"),
        ("unit", "it"),
    ],
)
def test_a_beginning_alone_turns_nothing(one, other):
    assert not is_opposite_form(one, other)


def test_opposites_by_their_making():
    assert is_opposite_form("possible", "impossible")
    assert is_opposite_form("disconnected", "connect")
    assert not is_opposite_form("cover", "covers")
    assert not is_opposite_form("a", "una")


@given(st.text(max_size=20), st.text(max_size=20))
def test_similarity_is_a_share_and_symmetric(one, other):
    assert 0 <= similarity(one, other) <= 1
    assert similarity(one, other) == similarity(other, one)
    assert similarity(one, one) == 1


@given(st.text())
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@each_case(
    ("text", "name"),
    [
        ("The lid of the kettle is red.", "en"),
        ("Der Deckel des Kessels ist rot.", "de"),
        ("Le couvercle de la bouilloire est rouge.", "fr"),
        ("La tapa del hervidor es roja y está en la mesa.", "es"),
        ("Крышка чайника не красная.", "ru"),
        ("这个盖子是红色的。", "zh"),
        ("ふたは赤いです。", "ja"),
        ("뚜껑은 빨간색입니다.", "ko"),
        ("ฝาเป็นสีแดง", "th"),
        ("Bình này là của tôi và không có nắp.", "vi"),
        ("غطاء الغلاية من المعدن", "ar"),
        ("ढक्कन लाल है।", "hi"),
    ],
)
def test_languages_are_guessed(text, name):
    assert guess_language(text, tuple(word.form for word in split_words(text))).name == name


def test_a_language_that_is_not_known_has_no_lists():
    assert guess_language("qwxyz jklmp", ("qwxyz", "jklmp")) is UNKNOWN
    assert guess_language("", ()) is UNKNOWN
