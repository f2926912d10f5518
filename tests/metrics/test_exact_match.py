from tests.cases import each_case

from ragstone.metrics import get
from ragstone.metrics.text import ExactMatch


@each_case(
    ("response", "reference", "value", "strict"),
    [
        ("20 hours", "20 hours", 1, 1),
        ("  20  Hours ", "20 hours", 1, 0),
        ("２０ hours", "20 hours", 1, 0),
        ("20 hours.", "20 hours", 0, 0),
        ("20 hours", "21 hours", 0, 0),
    ],
)
def test_the_worked_example(response: str, reference: str, value: float, strict: float) -> None:
    assert ExactMatch().compare(response, reference).value == value
    assert ExactMatch(strict=True).compare(response, reference).value == strict


def test_its_name_says_when_it_is_strict() -> None:
    assert str(ExactMatch(strict=True)) == "exact_match,strict=true"
    assert get("exact_match,strict=true") == ExactMatch(strict=True)
