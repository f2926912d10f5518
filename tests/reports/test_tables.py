import csv
import io
import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from tests.cases import each_case

from ragstone.errors import UsageError
from ragstone.reports.table_rows import BATCH
from ragstone.reports.tables import STDOUT, check_table, csv_safe, write_claims, write_rows
from ragstone.results.run import Run
from ragstone.types.claim import Evidence, JudgedClaim, Label
from ragstone.types.score import Score

MakeRun = Callable[..., Run]


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    """A run whose first sample has a claim with evidence, and tags of several types."""
    quotes = (
        Evidence(context=1, quote="75 minutes", verified=True),
        Evidence(context=0, quote="never", verified=False),
    )
    judged = JudgedClaim(
        text="It charges in 60 minutes.",
        span=None,
        label=Label.CONTRADICTED,
        reason="75",
        confidence=0.75,
        evidence=quotes,
    )
    first, *others = make_run().rows
    tags = {"page": 3, "share": 0.5, "new": True, "mixed": "a", "-2": -2}
    sample = first.sample.model_copy(update={"tags": tags})
    score = Score.scored(-0.5, claims=(judged,)).model_copy(update={"passed": False})
    scores = {**first.scores, "faithfulness": score}
    second = others[0].sample.model_copy(
        update={"tags": {"page": 4, "share": 1, "new": False, "mixed": 1, "-2": None}}
    )
    rows = [
        replace(first, sample=sample, scores=scores),
        replace(others[0], sample=second),
        *others[1:],
    ]
    return make_run(rows)


def csv_lines(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream, strict=True))


def test_rows_as_csv(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "rows.CSV"
    write_rows(run, path)
    assert path.read_bytes().startswith(b"\xef\xbb\xbfid,query,response,reference,contexts,")
    first, *_, last = csv_lines(path)
    assert first == {
        "id": "q1",
        "query": "How long does battery 1 last?",
        "response": "It lasts 20 hours. It charges in 60 minutes.",
        "reference": "20 hours",
        "contexts": "2",
        "latency_ms": "100.0",
        "judge_calls": "0",
        "cost_usd": "0.0",
        "tags.page": "3",
        "tags.share": "0.5",
        "tags.new": "true",
        "tags.mixed": "a",
        "tags.-2": "-2",
        "tags.difficulty": "",
        "tags.source_files": "",
        "scores.hit@5.value": "1.0",
        "scores.hit@5.state": "scored",
        "scores.hit@5.passed": "",
        "scores.hit@5.reason": "",
        "scores.hit@5.cause": "",
        "scores.hit@5.fallback": "false",
        **{key: first[key] for key in first if key.startswith("scores.f1@5.")},
        "scores.faithfulness.value": "-0.5",
        "scores.faithfulness.state": "scored",
        "scores.faithfulness.passed": "false",
        "scores.faithfulness.reason": "",
        "scores.faithfulness.cause": "",
        "scores.faithfulness.fallback": "false",
    }
    told = [last[f"scores.faithfulness.{name}"] for name in ("value", "state", "cause", "reason")]
    assert told == ["", "failed", "timeout", "no answer within 30 s"]


def test_rows_as_parquet_have_types(run: Run, tmp_path: Path) -> None:
    write_rows(run, tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    types = {
        "id": pl.String,
        "contexts": pl.Int64,
        "latency_ms": pl.Float64,
        "tags.page": pl.Int64,
        "tags.share": pl.Float64,
        "tags.new": pl.Boolean,
        "tags.mixed": pl.String,
        "tags.-2": pl.Int64,
        "tags.difficulty": pl.String,
        "scores.faithfulness.value": pl.Float64,
        "scores.faithfulness.state": pl.String,
        "scores.faithfulness.passed": pl.Boolean,
        "scores.faithfulness.cause": pl.String,
    }
    assert {name: frame.schema[name] for name in types} == types
    assert frame["tags.page"].to_list() == [3, 4, None, None]
    assert frame["tags.share"].to_list() == [0.5, 1.0, None, None]
    assert frame["tags.new"].to_list() == [True, False, None, None]
    assert frame["tags.mixed"].to_list() == ["a", "1", None, None]
    assert frame["scores.faithfulness.value"].to_list() == [-0.5, 0.0, None, None]
    assert frame["scores.faithfulness.cause"].to_list() == [None, None, None, "timeout"]
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_parquet_is_written_in_batches(run: Run, tmp_path: Path) -> None:
    row = run.rows[0]
    many = [
        replace(row, index=number, sample=row.sample.model_copy(update={"id": f"{number}"}))
        for number in range(2 * BATCH + 1)
    ]
    write_rows(replace(run, rows=many), tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert frame["id"].to_list() == [f"{number}" for number in range(2 * BATCH + 1)]


@pytest.mark.parametrize("name", ["^.*$", "*", "", "a.b", "0", "="])
def test_any_name_of_a_tag_is_a_column(make_run: MakeRun, tmp_path: Path, name: str) -> None:
    row = make_run().rows[0]
    rows = [replace(row, sample=row.sample.model_copy(update={"tags": {name: 2**70}}))]
    write_rows(make_run(rows), tmp_path / "rows.parquet")
    assert pl.read_parquet(tmp_path / "rows.parquet")[f"tags.{name}"].to_list() == [f"{2**70}"]
    write_rows(make_run(rows), tmp_path / "rows.csv")
    assert csv_lines(tmp_path / "rows.csv")[0][f"tags.{name}"] == f"{2**70}"


def test_rows_of_any_other_ending_are_whole(run: Run, tmp_path: Path) -> None:
    write_rows(run, whole := io.StringIO())
    for name in ("rows.jsonl", "rows"):
        write_rows(run, tmp_path / name)
        assert (tmp_path / name).read_text(encoding="ascii") == whole.getvalue()
    write_rows(run, stream := io.StringIO())
    assert stream.getvalue() == whole.getvalue()


CLAIM = {
    "id": "q1",
    "metric": "faithfulness",
    "against": "contexts",
    "number": 1,
    "claim": "It charges in 60 minutes.",
    "label": "CONTRADICTED",
    "reason": "75",
    "confidence": 0.75,
    "quotes": 2,
    "quote": "75 minutes",
    "context": 2,
    "verified": True,
    "judge": None,
}


def test_claims_in_every_format(
    run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_claims(run, tmp_path / "claims.jsonl")
    lines = (tmp_path / "claims.jsonl").read_text(encoding="ascii").splitlines()
    assert json.loads(lines[0]) == CLAIM
    assert len(lines) == 2
    write_claims(run, STDOUT)
    assert capsys.readouterr().out.splitlines() == lines
    write_claims(run, stream := io.StringIO())
    assert stream.getvalue().splitlines() == lines
    write_claims(run, tmp_path / "claims.parquet")
    frame = pl.read_parquet(tmp_path / "claims.parquet")
    assert frame.to_dicts() == [json.loads(line) for line in lines]
    assert frame.schema["verified"] == pl.Boolean
    write_claims(run, tmp_path / "claims.csv")
    assert csv_lines(tmp_path / "claims.csv")[0] == {
        name: "true" if value is True else "" if value is None else f"{value}"
        for name, value in CLAIM.items()
    }


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_a_run_without_rows(make_run: MakeRun, tmp_path: Path, ending: str) -> None:
    write_claims(make_run([]), tmp_path / f"claims.{ending}")
    write_rows(make_run([]), tmp_path / f"rows.{ending}")
    assert len(list(tmp_path.iterdir())) == 2
    if ending == "parquet":
        assert pl.read_parquet(tmp_path / "claims.parquet").columns == list(CLAIM)


@each_case(
    ("text", "expected"),
    [
        ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
        ("+1", "'+1"),
        ("-1", "'-1"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\r=1", "'\n=1"),
        ("＝1", "'＝1"),
        ("a=1", "a=1"),
        ("'=1", "'=1"),
        ("", ""),
    ],
)
def test_a_text_that_is_a_formula_gets_a_quote(text: str, expected: str) -> None:
    assert csv_safe(text) == expected


def test_parquet_without_polars_says_what_to_install(
    make_run: MakeRun, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(UsageError, match=r"pip install 'ragstone\[parquet\]'"):
        check_table(tmp_path / "rows.parquet")
    with pytest.raises(UsageError, match=r"pip install 'ragstone\[parquet\]'"):
        write_rows(make_run(), tmp_path / "rows.PARQUET")
    check_table(tmp_path / "rows.csv")
    write_claims(make_run(), tmp_path / "claims.csv")


def test_what_cannot_be_written_is_said(make_run: MakeRun, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        path = tmp_path / f"folder.{ending}"
        path.mkdir()
        with pytest.raises(UsageError, match="cannot be written"):
            write_claims(make_run(), path)
        with pytest.raises(UsageError, match="cannot be written"):
            write_rows(make_run(), path)
    assert len(list(tmp_path.iterdir())) == 3
