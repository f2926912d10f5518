from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import TypeAdapter

from ragstone.results.compare import Outcome, compare, outcomes_of
from ragstone.types.claim import Label
from ragstone.types.row import Row

RUNS = Any


class Texts(list[Row]):
    """Rows that are there as JSON too."""

    def read_as(self, adapter: TypeAdapter[Outcome]) -> Iterator[Outcome]:
        rows = TypeAdapter(Row)
        return (adapter.validate_json(rows.dump_json(row)) for row in self)


def test_outcomes_read_from_json_tell_the_same_as_the_rows(runs: RUNS) -> None:
    claim = runs.claim("It floats.", Label.SUPPORTED, "why")
    tags = [{"source": "x", "n": 1}, {"source": "y", "n": None}, {}]
    a = runs.of({"faithfulness": [runs.claimed(1.0, claim), None, 0.5]}, tags=tags)
    b = runs.of({"faithfulness": [0.5, runs.failed(), 0.25]}, tags=tags, run_id="b")
    light = [replace(run, rows=Texts(run.rows)) for run in (a, b)]
    assert all(isinstance(each, Outcome) for run in light for each in outcomes_of(run))
    assert outcomes_of(a) is a.rows
    assert compare(*light) == compare(a, b)
    assert compare(*light, cluster="source") == compare(a, b, cluster="source")
