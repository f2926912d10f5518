from typing import Any

from pydantic import TypeAdapter

from ragstone.claims import Label
from ragstone.comparison import OUTCOME, compare
from ragstone.rows import Row

RUNS = Any


def test_outcomes_read_from_json_tell_the_same_as_the_rows(runs: RUNS) -> None:
    claim = runs.claim("It floats.", Label.SUPPORTED, "why")
    tags = [{"source": "x", "n": 1}, {"source": "y", "n": None}, {}]
    a = runs.of({"faithfulness": [runs.claimed(1.0, claim), None, 0.5]}, tags=tags)
    b = runs.of({"faithfulness": [0.5, runs.failed(), 0.25]}, tags=tags, run_id="b")
    texts = {
        run.manifest.run_id: [TypeAdapter(Row).dump_json(row) for row in run.rows] for run in (a, b)
    }

    def light(run: Any) -> Any:
        return (OUTCOME.validate_json(text) for text in texts[run.manifest.run_id])

    assert compare(a, b, reading=light) == compare(a, b)
    assert compare(a, b, reading=light, cluster="source") == compare(a, b, cluster="source")
