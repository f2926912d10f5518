import pytest
from tests.cases import each_case

from ragstone.metrics.text import ChrF

pytest.importorskip("sacrebleu", reason="the extra `text` is not installed")


# ab, abc:  2/2 and 1/1 of the response's characters and pairs, 2/3 and 1/2 of the reference's:
#           P = 1, R = 7/12, 5PR / (4P + R) = 7/11
# abc, ab:  P = 7/12, R = 1: 7/8. Spaces are left out. A single word is no match for chrF++:
#           P = (1 + 1 + 0) / 3, R = (2/3 + 1/2 + 0) / 3
@each_case(
    ("response", "reference", "words", "value"),
    [
        ("ab", "abc", 0, 7 / 11),
        ("abc", "ab", 0, 7 / 8),
        ("a b", "a bc", 0, 7 / 11),
        ("AB", "abc", 0, 0),
        ("ab", "abc", 1, 5 * 2 / 3 * 7 / 18 / (4 * 2 / 3 + 7 / 18)),
        ("电池", "电池可", 0, 7 / 11),
    ],
)
def test_the_worked_example(response: str, reference: str, words: int, value: float) -> None:
    found = ChrF(word_order=words).compare(response, reference).value
    assert found == pytest.approx(value, abs=1e-12)
