import json
import math
from typing import Any

import pytest
from pydantic import ValidationError
from tests.cases import each_case

from ragstone._internal.fields import document_id
from ragstone.types.sample import Context, Sample


def sample(**fields: Any) -> Sample:
    return Sample(id="q1", query="How long does it last?", **fields)


@each_case(
    ("value", "text"),
    [
        (5, "5"), (5.0, "5"), ("5", "5"), (" 5 ", "5"), (-0.0, "0"), (5.5, "5.5"),
        (10**20, "100000000000000000000"), ("Straße-7", "Straße-7"), ("文書１", "文書１"),
        ("5.0", "5"), (" -12.00 ", "-12"), ("007.0", "007"), ("50", "50"), ("5.10", "5.10"),
        ("v5.0", "v5.0"), ("1.0.0", "1.0.0"), (".0", ".0"), ("５.0", "５.0"),
    ],
)  # fmt: skip
def test_a_number_and_its_text_are_the_same_id(value: object, text: str) -> None:
    assert document_id(value) == text


@each_case("value", [True, None, [1], {"id": 1}, b"5", math.nan, math.inf, -math.inf])
def test_what_is_no_id_is_refused(value: object) -> None:
    with pytest.raises(ValueError, match="is not a document id"):
        document_id(value)
    with pytest.raises(ValueError, match="blank"):
        document_id(" \n")


def test_the_ranking_goes_before_the_contexts() -> None:
    contexts, ranking = (Context(id="1", text="a"),), (Context(id="2"), Context(id="3"))
    assert sample().ranked is None
    assert sample().ranked_ids == ()
    assert sample(contexts=contexts).ranked_ids == ("1",)
    assert sample(contexts=contexts, ranking=ranking).ranked_ids == ("2", "3")
    assert sample(contexts=contexts, ranking=()).ranked_ids == ()


def test_an_id_is_there_once_however_it_is_written() -> None:
    with pytest.raises(ValidationError, match="two of these ids are the same"):
        sample(relevance={5: 1, "5": 0})
    given = sample(contexts=[{"id": 5.0, "text": "a"}], relevance={5: 2})
    assert (given.ranked_ids, given.relevance) == (("5",), {"5": 2.0})


@each_case("number", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(number: float) -> None:
    for grade in (number, "high", None):
        with pytest.raises(ValidationError):
            sample(relevance={"1": grade})
    assert Context(id="1", score=number).score is None
    assert sample(tags={"n": number, "m": 1.5}).tags == {"n": None, "m": 1.5}


def test_a_sample_is_json_and_back() -> None:
    given = sample(
        response="20 h", contexts=(Context(id=1, text="ä\n", score=0.5),), relevance={"ü": 0},
        reference_claims=("a",), tags={"d": None},
    )  # fmt: skip
    text = json.dumps(given.model_dump(mode="json"), allow_nan=False)
    assert Sample.model_validate(json.loads(text)) == given


@each_case(
    ("given", "reference"),
    [
        ("a", "a"), (["a", "b"], ("a", "b")), (["a"], "a"),
        ([], None), (None, None), ("", ""),
    ],
)  # fmt: skip
def test_a_reference_is_a_text_or_several_accepted_answers(given: Any, reference: object) -> None:
    made = sample(reference=given)
    assert made.reference == reference
    assert Sample.model_validate(json.loads(json.dumps(made.model_dump(mode="json")))) == made
    assert made.reference_cell == ('["a", "b"]' if isinstance(reference, tuple) else reference)
    with pytest.raises(ValidationError, match="the value is blank"):
        sample(reference=["a", " "])


@each_case(
    ("fields", "closest"),
    [
        # 2 * 1 / (2 + 3) against 2 * 1 / (2 + 1)
        ({"response": "In 1890.", "reference": ["the year 1890", "1890"]}, "1890"),
        ({"response": "Il dure 24 mois", "reference": ["12 mois", "24 mois"]}, "24 mois"),
        ({"response": "電池二十", "reference": ["三十", "二十"]}, "二十"),
        ({"response": " ", "contexts": [{"text": "It is b."}], "reference": ["a", "b"]}, "b"),
        ({"ranking": [{"text": "It is b."}], "reference": ["a", "b"]}, "b"),
        ({"response": "x"}, None),
    ],
)
def test_the_closest_reference_shares_the_most_words(
    fields: dict[str, Any], closest: object
) -> None:
    assert sample(**fields).closest_reference == closest
