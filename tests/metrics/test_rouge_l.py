import json
from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.metrics.text import RougeL

pytest.importorskip("rapidfuzz", reason="the extra `text` is not installed")

GOLDEN = json.loads((Path(__file__).parents[1] / "golden/rouge_l.json").read_text("utf-8"))


# in common, in order: police the gunman = 3 words; P = 3/4, R = 3/4
# turned round ("the gunman kill police"): the gunman = 2 words; 2/4
# of another length: 3 words of 3, of 4: P = 1, R = 3/4, 2PR/(P+R) = 6/7
@each_case(
    ("response", "value"),
    [
        ("Police killed the gunman.", 3 / 4),
        ("the gunman kill police", 2 / 4),
        ("police: the gunman", 6 / 7),
        ("nothing shared", 0),
        ("?!", 0),
    ],
)
def test_the_worked_example(response: str, value: float) -> None:
    assert RougeL().compare(response, "police kill the gunman").value == pytest.approx(value)


def test_details_are_precision_and_recall() -> None:
    found = RougeL().compare("police the gunman", "police kill the gunman")
    assert found.detail == {"precision": 1.0, "recall": 0.75}


@each_case("row", GOLDEN["rows"], ids=lambda row: row["response"][:20])
def test_it_is_rouge_scores_number_on_ascii(row: dict[str, str]) -> None:
    found = RougeL().compare(row["response"], row["reference"])
    assert found.value == pytest.approx(row["f"], abs=1e-12)
    assert found.detail == {
        "precision": pytest.approx(row["precision"]),
        "recall": pytest.approx(row["recall"]),
    }


@pytest.mark.parametrize(
    ("response", "reference"),
    [
        ("Die STRASSE ist lang", "die Straße: sehr lang"),
        ("बैटरी बीस घंटे", "बैटरी दस घंटे, चलती"),
        ("Батарея 20 часов", "«Батарея» - 30 часов да"),
    ],
)
def test_words_of_every_script_that_has_spaces(response: str, reference: str) -> None:
    found = RougeL().compare(response, reference)
    assert found.detail["recall"] in (2 / 4, 3 / 4)


def test_a_reference_without_words_is_undefined() -> None:
    assert RougeL().compare("yes", "?!").reason == "the reference has no words"
