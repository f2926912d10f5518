"""What the values of a stored run are written as is what they were before."""

import csv
import errno
import io
import json
import os
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case
from tests.reports.ranked import ranked_run

from ragstone._internal.files import check_writable, write_file
from ragstone._internal.text import MARK
from ragstone.errors import UsageError
from ragstone.reports.tables import (
    BATCH,
    STDOUT,
    check_table,
    csv_safe,
    write_claims,
    write_json,
    write_rows,
)
from ragstone.results import ranking_run as ranked_values
from ragstone.results.ranking_run import RankingScores
from ragstone.results.run import Run
from ragstone.store import Store, save_ranking
from ragstone.types.claim import Evidence, JudgedClaim, Label
from ragstone.types.sample import Context, Sample
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


def printed(write: Callable[[], None]) -> str:
    with redirect_stdout(io.StringIO()) as stream:
        write()
    return stream.getvalue()


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
        "ranking": "3",
        "latency_ms": "100.0",
        "judge_calls": "0",
        "cost_usd": "0.0",
        "outcome": "not supported",
        "found": "found",
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
    whole = printed(lambda: write_rows(run, STDOUT))
    for name in ("rows.jsonl", "rows"):
        write_rows(run, tmp_path / name)
        assert (tmp_path / name).read_text(encoding="ascii") == whole


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


# What the values of a stored run are written as is what they were before.


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_stored_runs_values_are_written_alike(
    ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranked_values, "BLOCK", 4)
    run = ranked_run(10)
    with Store.open(tmp_path / "runs.db") as store:
        save_ranking(store, run)
        write_rows(run, tmp_path / f"a.{ending}")
        write_rows(store.load("r1"), tmp_path / f"b.{ending}")
    assert (tmp_path / f"a.{ending}").read_text() == (tmp_path / f"b.{ending}").read_text()


def test_a_failed_value_is_null_and_says_why(tmp_path: Path) -> None:
    run = ranked_run(10)
    write_rows(run, tmp_path / "rows.jsonl")
    first, second, *_ = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert json.loads(first)["scores"]["ndcg@5"]["state"] == "undefined"
    assert json.loads(second)["scores"] == {
        "hit@5": {"value": 0.0, "state": "scored", "reason": None},
        "ndcg@5": {
            "value": None,
            "state": "failed",
            "reason": "it raised",
            "cause": "metric_error",
        },
    }
    write_rows(run, tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert frame["scores.ndcg@5.value"].to_list() == [None, None, *(n / 10 for n in range(2, 10))]
    assert frame["scores.hit@5.value"].null_count() == 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_half_a_character_is_no_hindrance(ending: str, tmp_path: Path) -> None:
    run = ranked_run(3)
    assert isinstance(run.rows, RankingScores)
    rows = replace(run.rows, ids=["q0", "half \ud83d", "q2"], texts={"q2": "what \ud83d?"})
    write_rows(replace(run, rows=rows), tmp_path / f"rows.{ending}")
    if ending == "parquet":
        frame = pl.read_parquet(tmp_path / "rows.parquet")
        assert frame["id"].to_list() == ["q0", f"half {MARK}", "q2"]
        assert frame["query"].to_list()[2] == f"what {MARK}?"


def test_there_are_no_claims(tmp_path: Path) -> None:
    write_claims(ranked_run(10), tmp_path / "claims.csv")
    assert len((tmp_path / "claims.csv").read_text().splitlines()) == 1


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
    outcomes = [(row.pop("outcome"), row.pop("found")) for row in rows]
    assert outcomes == [
        ("not supported", "found"),
        ("not supported", "not found"),
        ("not judged", "unknown"),
        ("not judged", "found"),
    ]
    assert rows == [json.loads(json.dumps(row.to_dict())) for row in make_run().rows]
    scores = [row["scores"]["faithfulness"] for row in rows]  # type: ignore[index]
    assert [score["state"] for score in scores] == ["scored", "scored", "undefined", "failed"]
    assert [score["value"] for score in scores] == [0.5, 0.0, None, None]


def test_the_summary_is_one_object(make_run: MakeRun) -> None:
    summary = strict(printed(lambda: write_json(make_run(), STDOUT)))
    assert list(summary.pop("worst")) == ["faithfulness"]  # type: ignore[call-overload]
    assert summary == json.loads(json.dumps(make_run().to_dict()))
    assert summary["metrics"]["faithfulness"]["mean"] == 0.25  # type: ignore[index]
    assert summary["metrics"]["faithfulness"]["causes"] == {"timeout": 1}  # type: ignore[index]


def test_a_mean_over_nothing_is_null(make_run: MakeRun) -> None:
    metrics = strict(printed(lambda: write_json(make_run(rows=[]), STDOUT)))["metrics"]
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
    run = make_run([replace(make_run().rows[0], sample=given_)])
    row = strict(printed(lambda: write_rows(run, STDOUT)))
    assert row["contexts"] == [{"text": "", "id": None, "score": None}]
    assert row["tags"] == {"n": None}


def test_what_cannot_be_written_is_said_of_rows(make_run: MakeRun, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written"):
        write_json(make_run(), tmp_path)


@given(st.text(st.characters(), min_size=1))
def test_any_text_comes_back_as_it_was(hostile_run: Callable[[str], Run], text: str) -> None:
    rows = printed(lambda: write_rows(hostile_run(text), STDOUT))
    rows.encode("ascii")
    assert len(rows.split("\n")) == 3
    assert strict(rows.split("\n")[0])["response"] == text
    summary = strict(printed(lambda: write_json(hostile_run(text), STDOUT)))
    assert summary["judge_note"] == text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write(path: Path) -> None:
    path.write_text("new")


def test_a_file_is_replaced_and_missing_folders_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "x.txt"
    assert write_file(path, write) == path
    path.write_text("old")
    write_file(path, write)
    assert path.read_text() == "new"
    assert names(path.parent) == ["x.txt"]


def test_what_breaks_off_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")

    def half(temporary: Path) -> None:
        temporary.write_text("ne")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(path, half)
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x.txt"]


def test_keep_finds_a_name_that_is_free(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("old")
    assert write_file(path, write, keep=True).name == "x-2.txt"
    assert write_file(path, write, keep=True).name == "x-3.txt"
    assert path.read_text() == "old"
    assert names(tmp_path) == ["x-2.txt", "x-3.txt", "x.txt"]


class Linkless(type(Path())):
    """A path on a file system without hard links."""

    def hardlink_to(self, target: object) -> None:
        del target
        raise OSError(errno.EPERM, "Operation not permitted")


def test_keep_works_without_hard_links(tmp_path: Path) -> None:
    path = Linkless(tmp_path / "x.txt")
    assert write_file(path, write, keep=True).name == "x.txt"
    assert write_file(path, write, keep=True).name == "x-2.txt"
    assert names(tmp_path) == ["x-2.txt", "x.txt"]


def test_a_new_file_is_readable_as_any_other(tmp_path: Path) -> None:
    write_file(tmp_path / "x.txt", write)
    write(tmp_path / "plain.txt")
    assert (tmp_path / "x.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


def test_a_refusal_names_the_file_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match=r"x\.txt cannot be written: .+; choose another path"):
        write_file(tmp_path / "file" / "x.txt", write)
    with pytest.raises(UsageError, match="name too long"):
        write_file(tmp_path / f"{'x' * 300}.txt", write)


def test_a_file_can_be_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    check_writable(tmp_path / "none" / "yet" / "x.txt")
    assert names(tmp_path) == ["file"]
    with pytest.raises(UsageError, match="is a folder; name a file in it"):
        check_writable(tmp_path)
    with pytest.raises(UsageError, match="is not a folder; choose another path"):
        check_writable(tmp_path / "file" / "x.txt")
    with pytest.raises(UsageError, match="cannot be written"):
        check_writable(tmp_path / f"{'x' * 300}" / "x.txt")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="is not writable"):
        check_writable(tmp_path / "x.txt")
