import pytest

from ragstone.judges.offline.bounds import read_bound


@pytest.mark.parametrize(
    ("before", "bound", "is_about"),
    [
        ("It weighs ", "", False),
        ("at most ", "<", False),
        ("Up to $", "<", False),
        ("no more than ", "<", False),
        ("a maximum of ", "<", False),
        ("bis zu ", "<", False),
        ("weniger als ", "<", False),
        ("jusqu'à ", "<", False),
        ("moins de ", "<", False),
        ("como mucho ", "<", False),
        ("hasta ", "<", False),
        ("fino a ", "<", False),
        ("al massimo ", "<", False),
        ("niet meer dan ", "<", False),
        ("не более ", "<", False),
        ("最多", "<", False),
        ("at least ", ">", False),
        ("Over ", ">", False),
        ("mindestens ", ">", False),
        ("mehr als ", ">", False),
        ("au moins ", ">", False),
        ("al menos ", ">", False),
        ("más de ", ">", False),
        ("almeno ", ">", False),
        ("minstens ", ">", False),
        ("at least about ", ">", True),
        ("about ", "", True),
        ("approx. ", "", True),
        ("c. ", "", True),
        ("(ca. ", "", True),
        ("rund ", "", True),
        ("environ ", "", True),
        ("cerca de ", "", True),
        ("около ", "", True),
        ("sekitar ", "", True),
        ("~", "", True),
        ("约", "", True),
    ],
)
def test_words_before_a_number_bound_or_round_it(before, bound, is_about):
    assert read_bound(f"{before}12 g", len(before)) == (bound, is_about)
