import re
from decimal import Decimal
from uuid import UUID

import numpy as np
import pytest
from tests.cases import each_case

from ragstone.datasets import samples_of
from ragstone.errors import InputError, UsageError
from ragstone.types.config import Source
from ragstone.types.sample import Context, Sample


def test_mappings_and_samples_stand_side_by_side():
    sample = Sample(id="a", query="a", tags={"x": None})
    dataset = samples_of(
        [{"Question": "b", "point_ids": [1], "contexts": [Context(text="c")]}, sample],
        name="mine",
    )
    assert dataset.samples == (
        Sample(id="1", query="b", relevance={"1": 1.0}, contexts=(Context(text="c"),)),
        sample,
    )
    assert dataset.source == Source(name="mine", rows=2)


def test_what_pandas_and_numpy_make():
    row = {"query": "a", "response": float("nan"), "point_ids": np.array([1, 2]), "n": np.int64(3)}
    (sample,) = samples_of([row]).samples
    assert sample.response is None
    assert sample.relevance == {"1": 1.0, "2": 1.0}
    assert repr(sample.tags["n"]) == "3"


def test_uuids_and_decimals():
    name = UUID(int=5)
    row = {"id": name, "query": "a", "point_ids": [name, Decimal("12345678901234567.0")]}
    more = {"cost": Decimal("0.25"), "n": Decimal(3), "none": Decimal("NaN"), "s": Decimal("sNaN")}
    (sample,) = samples_of([row | more]).samples
    assert sample.id == str(name)
    assert sample.relevance == {str(name): 1.0, "12345678901234567": 1.0}
    assert sample.tags == {"cost": 0.25, "n": 3}


def test_columns_say_which_field_a_name_is():
    rows = [{"Frage": "a", "ids": 1}, {"Frage": "b"}, Sample(id="c", query="c")]
    first, second, third = samples_of(rows, columns={"query": "frage", "point_ids": "ids"}).samples
    assert (first.query, first.relevance, first.tags) == ("a", {"1": 1.0}, {})
    assert (second.query, second.relevance, third.query) == ("b", None, "c")


def test_columns_do_not_concern_samples():
    sample = Sample(id="a", query="a")
    assert samples_of([sample], columns={"query": "Frage"}).samples == (sample,)


def test_messages_tell_of_columns_as_python_does():
    with pytest.raises(
        UsageError, match=re.escape("columns={'query': 'Frage'}: there is no column")
    ):
        samples_of([{"a": "b"}], columns={"query": "Frage"})
    with pytest.raises(InputError, match=re.escape("map one with columns={'query': 'COLUMN'}")):
        samples_of([{"a": "b"}])
    with pytest.raises(InputError, match=re.escape("choose one: columns={'query': 'COLUMN'}")):
        samples_of([{"query": "b", "question": "a"}])


def test_a_number_is_the_same_id_in_every_form():
    for form in ("5", "5.0", 5, 5.0, "[5.0]", '["5.0"]', ["5.0"], [{"id": "5.00"}]):
        (sample,) = samples_of([{"query": "q", "retrieved_ids": form}]).samples
        assert sample.ranked_ids == ("5",)


@each_case(
    ("rows", "said"),
    [
        ([], "there are no rows"),
        ([5], "row 1: expected a mapping of field names to values, got int"),
        ([{5: "a"}], "row 1: the field name 5 is not text; put it in quotes"),
        ([{"query": "a"}, {}], "row 2, column query: there is no query"),
        (
            [{"query": "a", "when": object()}],
            "row 1, column when: values of type object are not supported",
        ),
        ([{"query": "a", "point_ids": {"b": float("nan")}}], "row 1, column point_ids: nan is no"),
        ([Sample(id="1", query="a"), {"id": 1, "query": "b"}], "row 2, sample 1: the id '1'"),
        ([Sample(id="1", query="a")] * 2, "row 2, sample 1: the id '1' is already used in row 1"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(rows: list[object], said: str):
    with pytest.raises(InputError) as caught:
        samples_of(rows, name="mine")
    assert caught.value.file == "mine"
    assert str(caught.value.problems[0]).startswith(said)
