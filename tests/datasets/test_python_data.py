import numpy as np
import pytest

from ragstone.datasets import samples_of
from ragstone.errors import InputError
from ragstone.plan import Source
from ragstone.samples import Context, Sample


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


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "there are no rows"),
        ([5], "row 1: this is of type int, not an object"),
        ([{5: "a"}], "row 1: the name 5 is no text; put it in quotes"),
        ([{"query": "a"}, {}], "row 2, column query: there is no query"),
        (
            [{"query": "a", "when": object()}],
            "row 1, column when: a value of type object is no plain",
        ),
        ([{"query": "a", "point_ids": {"b": float("nan")}}], "row 1, column point_ids: nan is no"),
        ([Sample(id="1", query="a"), {"id": 1, "query": "b"}], "row 2, sample 1: the id '1'"),
        ([Sample(id="1", query="a")] * 2, "row 2, sample 1: the id '1' is that of row 1 too"),
    ],
)
def test_what_is_wrong_is_told_with_its_place(rows: list[object], said: str):
    with pytest.raises(InputError) as caught:
        samples_of(rows, name="mine")
    assert caught.value.file == "mine"
    assert str(caught.value.problems[0]).startswith(said)
