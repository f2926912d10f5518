import math

import pytest
from tests.cases import each_case

from ragstone.metrics import get
from ragstone.metrics.text import Bleu

pytest.importorskip("sacrebleu", reason="the extra `text` is not installed")


# sat on a mat:  5/6 words, 3/5 pairs, 2/4 threes, 1/3 fours: the fourth root of 1/12
# the cat sat:   all match, but 3 words of 6: exp(1 - 6/3)
# the cat x y:   2/4 words, 1/3 pairs, half of 1/2 threes, a quarter of 1/1: of 1/96, exp(1 - 6/4)
# the the the:   clipped to the reference's two: 2/3; half of 1/2, a quarter of 1/1; exp(1 - 6/3)
@each_case(
    ("response", "value"),
    [
        ("the cat sat on a mat", (1 / 12) ** (1 / 4)),
        ("the cat sat", math.exp(-1)),
        ("the cat x y", (1 / 96) ** (1 / 4) * math.exp(-1 / 2)),
        ("the the the", (2 / 3 * 1 / 4 * 1 / 4) ** (1 / 3) * math.exp(-1)),
        ("The Cat", 0.0),
        ("the cat sat on the mat", 1.0),
    ],
)
def test_the_worked_example(response: str, value: float) -> None:
    found = Bleu().compare(response, "the cat sat on the mat").value
    assert found == pytest.approx(value, abs=1e-12)


def test_a_tokenizer_of_characters_finds_words_where_no_spaces_stand() -> None:
    response, reference = "电池可用二十小时", "电池可用三十小时"
    assert Bleu().compare(response, reference).value == 0
    # 7/8 characters, 5/7 pairs, 3/6 threes, 1/5 fours
    found = get("bleu,tokenizer=zh")
    assert isinstance(found, Bleu)
    value = found.compare(response, reference).value
    assert value == pytest.approx((7 / 8 * 5 / 7 * 3 / 6 * 1 / 5) ** (1 / 4))


def test_a_reference_without_words_is_undefined() -> None:
    assert Bleu().compare("yes", "<skipped>").reason == "the reference has no words"
