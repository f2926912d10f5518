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


@given(st.text("aB1 .,'’-_ßÜé防水नहीं\u0301\ud800"))
def test_both_splitters_agree_and_words_stand_in_the_text(text):
    words = split_words(text)
    assert [word.form for word in words] == [form for form in split_forms(text) if form]
    assert all(text[word.start :].startswith(word.shown) for word in words)
    assert fold(fold(text)) == fold(text)


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
    ("one", "other", "same"),
    [
        *(("battery", "batteries", True), ("charges", "charging", True)),
        *(("stopped", "stopping", True), ("internationale", "internationalen", True)),
        *(("кипятильник", "кипятильники", True), ("red", "read", False)),
        *(("lock", "unlock", False), ("2019", "2018", False), ("a4", "a3", False)),
    ],
)
def test_forms_of_one_word_have_one_stem_and_other_words_another(one, other, same):
    assert (stem(one) == stem(other)) is same


def test_the_rarer_a_word_the_more_it_weighs():
    weights = word_weights()
    assert weights["the"] < weights["said"] < weights["contract"] < 1
    assert all(0 <= weight <= 1 for weight in weights.values())


@each_case(
    ("text", "name"),
    [
        ("The lid of the kettle is red.", "en"),
        ("Der Deckel des Kessels ist rot.", "de"),
        ("Le couvercle de la bouilloire est rouge.", "fr"),
        ("La tapa del hervidor es roja y está en la mesa.", "es"),
        *(("Крышка чайника не красная.", "ru"), ("这个盖子是红色的。", "zh")),
        *(("ふたは赤いです。", "ja"), ("뚜껑은 빨간색입니다.", "ko"), ("ฝาเป็นสีแดง", "th")),
        ("Bình này là của tôi và không có nắp.", "vi"),
        *(("غطاء الغلاية من المعدن", "ar"), ("ढक्कन लाल है।", "hi")),
    ],
)
def test_languages_are_guessed(text, name):
    assert guess_language(text, tuple(word.form for word in split_words(text))).name == name
    assert guess_language("qwxyz jklmp", ("qwxyz", "jklmp")) is UNKNOWN
