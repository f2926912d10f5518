import re
from itertools import product

from tests.cases import each_case

from ragstone.judges.offline.quantities import ABOUT, AT_LEAST, AT_MOST, read_bound


@each_case(
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


_PART = re.compile(r"\(\?:([^()]*)\)(\??)|(\\.|[^\\|])(\??)")
"""What a pattern of words is made of: `(?:of|to)` or a letter, each perhaps left out."""


def written(pattern):
    """Return all that a pattern of words matches."""
    parts = list(_PART.finditer(pattern))
    assert "".join(part[0] for part in parts) == pattern
    said = [alternatives(part[1]) if part[1] else [part[3].removeprefix("\\")] for part in parts]
    left_out = [[""] if part[2] or part[4] else [] for part in parts]
    return ["".join(chosen) for chosen in product(*map(list.__add__, said, left_out))]


def alternatives(pattern):
    """Return all that a pattern of alternatives matches; none of its groups is within another."""
    return [text for each in re.split(r"\|(?![^(]*\))", pattern) for text in written(each)]


EVERY = [
    (text, bound, not bound)
    for pattern, bound in ((AT_MOST, "<"), (AT_LEAST, ">"), (ABOUT, ""))
    for text in alternatives(pattern)
]


def test_the_patterns_are_expanded_to_all_that_they_match():
    texts = [text for text, _, _ in EVERY]
    assert {"no more than", "never higher than", "at the most", "approx", "approx."} <= set(texts)
    assert all(re.fullmatch(f"{AT_MOST}|{AT_LEAST}|{ABOUT}", text) for text in texts)
    assert len(texts) > len(f"{AT_MOST}|{AT_LEAST}|{ABOUT}".split("|"))


@each_case(("words", "bound", "is_about"), EVERY)
def test_all_that_the_patterns_match_is_seen(words, bound, is_about):
    for start, currency in product(("", "It is ", "Es ist für "), ("", "$")):
        before = f"{start}{words} {currency}"
        assert read_bound(f"{before}12 g", len(before)) == (bound, is_about), before
        assert read_bound(f"{before}12 g".upper(), len(before)) == (bound, is_about), before
