import sys
from collections.abc import Mapping

import polars as pl
import pytest
from tests.cases import each_case

from ragstone import UsageError, evaluate
from ragstone.datasets import samples_of

ROWS = [
    {"query": "How fast?", "response": "It charges in 35 minutes.", "contexts": ["In 22 minutes."]},
    {"query": "How big?", "response": "It has 6 inches.", "contexts": ["It has 6 inches."]},
]


class Stream:
    """A frame that only exports Arrow's C stream."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return pl.DataFrame(ROWS).__arrow_c_stream__(requested_schema)


class Pandas(Stream):
    """A frame with the method of pandas."""

    def to_dict(self, *, orient: str) -> list[dict[str, object]]:
        assert orient == "records"
        return [{**row, "size": float("nan")} for row in ROWS]


@each_case("frame", [pl.DataFrame(ROWS), Stream(), Pandas()])
def test_a_data_frame_is_evaluated_like_its_rows(frame: Stream) -> None:
    run = evaluate(frame, metrics="faithfulness")
    assert [row.sample for row in run.rows] == list(samples_of(ROWS).samples)
    assert len(evaluate(frame, metrics="faithfulness", limit=1).rows) == 1


def test_what_cannot_be_read_as_a_frame_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    class Splits(dict[str, object]):
        """A DatasetDict of Hugging Face datasets."""

        column_names: Mapping[str, object] = {}

    with pytest.raises(Exception, match="no rows"):
        evaluate(pl.DataFrame({"query": []}), metrics="faithfulness")
    with pytest.raises(UsageError, match="several data sets; pass one of its splits"):
        evaluate(Splits(test=ROWS), metrics="faithfulness")
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match=r"reading a Stream needs polars: pip install"):
        evaluate(Stream(), metrics="faithfulness")
