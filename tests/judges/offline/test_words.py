from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.judges.offline.words import (
    UNKNOWN,
    fold,
    guess_language,
    split_forms,
    split_words,
    stem,
    word_weights,
)


@given(st.text())
def test_both_splitters_agree_and_words_stand_in_the_text(text):
    words = split_words(text)
    assert [word.form for word in words] == [form for form in split_forms(text) if form]
    assert all(text[word.start :].startswith(word.shown) for word in words)


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
        ("charges", "charging"),
        ("stopped", "stopping"),
        ("internationale", "internationalen"),
        ("кипятильник", "кипятильники"),
    ],
)
def test_forms_of_one_word_have_one_stem(one, other):
    assert stem(one) == stem(other)


@each_case(("one", "other"), [("red", "read"), ("lock", "unlock"), ("2019", "2018"), ("a4", "a3")])
def test_other_words_have_other_stems(one, other):
    assert stem(one) != stem(other)


def test_the_rarer_a_word_the_more_it_weighs():
    weights = word_weights()
    assert weights["the"] < weights["said"] < weights["contract"] < 1
    assert all(0 <= weight <= 1 for weight in weights.values())


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
