import subprocess
import sys
import tracemalloc
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case

from ragstone.judges.embeddings import compare_texts


def test_the_worked_example() -> None:
    # " abc ": " ab" "abc" "bc " " abc" "abc " " abc "                 6 n-grams
    # " abd ": " ab" "abd" "bd " " abd" "abd " " abd "                 6, of which 1 is shared
    # " ab ":  " ab" "ab " " ab "                                      3, of which 1 is shared
    assert compare_texts("abc", ["abd", "ab", "xyz"]) == pytest.approx((1 / 6, 1 / sqrt(18), 0.0))


@each_case(
    ("text", "other"),
    [
        *(("The Case, is BLUE!", "the case is blue"), ("Straße", "STRASSE"), ("?!", "?!")),
        *(("ＡＢＣ　１２３", "abc 123"), ("¿Qué?", "qué"), ("電池は？", "電池は")),
    ],
)
def test_case_width_and_punctuation_count_for_nothing(text: str, other: str) -> None:
    assert compare_texts(text, [other]) == (1.0,)


@each_case(
    ("near", "text", "far"),
    [
        ("How long does it charge?", "How long does charging take?", "Who wrote the book?"),
        ("电池要充多久?", "电池充电需要多久?", "谁写了这本书?"),
        ("แบตเตอรี่ชาร์จนานเท่าไร", "ชาร์จแบตเตอรี่ใช้เวลานานเท่าไร", "ใครเขียนหนังสือ"),
    ],
)
def test_it_tells_near_from_far_in_every_script(near: str, text: str, far: str) -> None:
    nearer, farther = compare_texts(text, [near, far])
    assert nearer > 0.25
    assert farther < 0.15


def test_blank_texts_are_like_nothing() -> None:
    for blank in ("", " \n\t", "\u3000"):
        assert compare_texts(blank, [blank, "text"]) == (0.0, 0.0)
        assert compare_texts("text", [blank]) == (0.0,)
    assert compare_texts("text", []) == ()


TEXT = st.text(st.characters(exclude_categories=())).filter(str.strip)


@given(TEXT, TEXT)
def test_it_is_a_share_alike_both_ways_and_1_for_the_same(text: str, other: str) -> None:
    same, there = compare_texts(text, [text, other])
    assert same == 1.0
    assert 0.0 <= there <= 1.0
    assert (there,) == compare_texts(other, [text])


def test_it_is_the_same_in_every_process() -> None:
    code = (
        "from ragstone.judges.embeddings import compare_texts;"
        "print(compare_texts('a blue case', ['blue cases', 'ein Gehäuse', '青い']))"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(printed) == 1


def test_many_texts_are_compared_in_little_memory() -> None:
    others = [f"{number} is some text with words. " * 20 for number in range(200)]
    tracemalloc.start()
    compare_texts("some text", others)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 600_000
