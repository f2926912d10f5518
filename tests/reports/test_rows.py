import io
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragstone.errors import UsageError
from ragstone.reports.tables import STDOUT, write_json, write_rows
from ragstone.results.run import Run
from ragstone.types.sample import Context, Sample

MakeRun = Callable[..., Run]


def refuse(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


def strict(text: str) -> dict[str, object]:
    return json.loads(text, parse_constant=refuse)


def test_a_line_a_row(make_run: MakeRun, tmp_path: Path) -> None:
    write_rows(make_run(), tmp_path / "rows.jsonl")
    lines = (tmp_path / "rows.jsonl").read_bytes().decode("ascii").split("\n")
    assert lines[-1] == ""
    rows = [strict(line) for line in lines[:-1]]
    assert [row["id"] for row in rows] == ["q1", "q2", "q3", "q4"]
    assert rows == [json.loads(json.dumps(row.to_dict())) for row in make_run().rows]
    scores = [row["scores"]["faithfulness"] for row in rows]  # type: ignore[index]
    assert [score["state"] for score in scores] == ["scored", "scored", "undefined", "failed"]
    assert [score["value"] for score in scores] == [0.5, 0.0, None, None]


def test_the_summary_is_one_object(make_run: MakeRun) -> None:
    stream = io.StringIO()
    write_json(make_run(), stream)
    summary = strict(stream.getvalue())
    assert summary == json.loads(json.dumps(make_run().to_dict()))
    assert summary["metrics"]["faithfulness"]["mean"] == 0.25  # type: ignore[index]
    assert summary["metrics"]["faithfulness"]["causes"] == {"timeout": 1}  # type: ignore[index]


def test_a_mean_over_nothing_is_null(make_run: MakeRun) -> None:
    stream = io.StringIO()
    write_json(make_run(rows=[]), stream)
    metrics = strict(stream.getvalue())["metrics"]
    assert [metric["mean"] for metric in metrics.values()] == [None] * 3  # type: ignore[union-attr]


def test_a_dash_is_standard_output(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_rows(make_run(), STDOUT)
    assert [strict(line)["id"] for line in capsys.readouterr().out.splitlines()] == [
        "q1",
        "q2",
        "q3",
        "q4",
    ]


def test_numbers_that_json_lacks_are_null(make_run: MakeRun) -> None:
    given_ = Sample(
        id="a", query="q", contexts=(Context(score=float("nan")),), tags={"n": float("inf")}
    )
    stream = io.StringIO()
    write_rows(make_run([replace(make_run().rows[0], sample=given_)]), stream)
    row = strict(stream.getvalue())
    assert row["contexts"] == [{"text": "", "id": None, "score": None}]
    assert row["tags"] == {"n": None}


def test_what_cannot_be_written_is_said(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_json(make_run(), tmp_path)


@given(st.text(st.characters(), min_size=1))
def test_any_text_comes_back_as_it_was(hostile_run: Callable[[str], Run], text: str) -> None:
    stream = io.StringIO()
    write_rows(hostile_run(text), stream)
    stream.getvalue().encode("ascii")
    assert len(stream.getvalue().split("\n")) == 3
    assert strict(stream.getvalue().split("\n")[0])["response"] == text
    write_json(hostile_run(text), stream := io.StringIO())
    assert strict(stream.getvalue())["judge_note"] == text
