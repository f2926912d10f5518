import pytest

from ragstone.judges.offline.spellings import is_same_spelt


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tyre", "tire"),
        ("cheque", "check"),
        ("sulphur", "sulfur"),
        ("caesium", "cesium"),
        ("recieve", "receive"),  # two letters turned round
        ("pajamas", "pyjamas"),  # one letter for another
        ("moustache", "mustache"),  # one more
        ("yoghurt", "yogurt"),
        ("mustache", "mustaches"),  # one more at the end
    ],
)
def test_two_writings_of_one_word(one, other):
    assert is_same_spelt(one, other)
    assert is_same_spelt(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("black", "block"),
        ("cold", "gold"),
        ("winter", "hinter"),  # another first letter
        ("summer", "simmers"),  # two letters
        ("red", "bed"),
        ("car", "care"),
        ("", "a"),
    ],
)
def test_two_words(one, other):
    assert not is_same_spelt(one, other)
    assert not is_same_spelt(other, one)


def test_names_are_not_told_by_one_letter():
    assert is_same_spelt("marina", "martina")
    assert not is_same_spelt("marina", "martina", is_name=True)
    assert is_same_spelt("sophia", "sofia", is_name=True)
