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
from tempfile import TemporaryDirectory

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cases import each_case
from tests.reports.conftest import MakeRun, claim
from tests.reports.ranked import ranked_run
from tests.results.conftest import Runs

from ragstone._internal.files import check_writable, write_file
from ragstone._internal.text import MARK
from ragstone.errors import UsageError
from ragstone.reports.tables import (
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
from ragstone.types.claim import Evidence, Label
from ragstone.types.sample import Context, Sample
from ragstone.types.score import Score


@pytest.fixture
def run(make_run: MakeRun) -> Run:
    """A run whose first sample has a claim with evidence, and tags of several types."""
    quotes = [
        Evidence(context=place, quote=text, verified=bool(place))
        for place, text in ((1, "75 minutes"), (0, "never"))
    ]
    judged = claim(Label.CONTRADICTED, "It charges in 60 minutes.", "75")
    judged = judged.model_copy(update={"confidence": 0.75, "evidence": tuple(quotes)})
    score = Score.scored(-0.5, claims=(judged,)).model_copy(update={"passed": False})
    rows = make_run().rows
    rows[0] = replace(rows[0], scores={**rows[0].scores, "faithfulness": score})
    tags = {"page": (3, 4), "share": (0.5, 1), "new": (True, False), "mixed": ("a", 1)}
    for place in (0, 1):
        given = {name: values[place] for name, values in tags.items()} | {"-2": (-2, None)[place]}
        sample = rows[place].sample.model_copy(update={"tags": given})
        rows[place] = replace(rows[place], sample=sample)
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
    assert [*first.items()][:18] == [
        *(("id", "q1"), ("query", "How long does battery 1 last?")),
        ("response", "It lasts 20 hours. It charges in 60 minutes."),
        *(("reference", "20 hours"), ("contexts", "2"), ("ranking", "3"), ("latency_ms", "100.0")),
        *(("judge_calls", "0"), ("cost_usd", "0.0"), ("outcome", "not supported")),
        *(("found", "found"), ("tags.page", "3"), ("tags.share", "0.5"), ("tags.new", "true")),
        *(("tags.mixed", "a"), ("tags.-2", "-2"), ("tags.difficulty", "")),
        ("tags.source_files", ""),
    ]
    parts = ("value", "state", "passed", "reason", "cause", "fallback")
    names = [f"scores.{name}.{part}" for name in run.metrics for part in parts]
    assert list(first)[18:] == names
    assert [first[name] for name in names[:6]] == ["1.0", "scored", "", "", "", "false"]
    assert [first[name] for name in names[12:]] == ["-0.5", "scored", "false", "", "", "false"]
    failed = ["", "failed", "", "no answer within 30 s", "timeout", "false"]
    assert [last[name] for name in names[12:]] == failed


def test_rows_as_parquet_have_types(run: Run, tmp_path: Path) -> None:
    write_rows(run, tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    expected = {
        "id": (pl.String, ["q1", "q2", "q3", "q4"]),
        "contexts": (pl.Int64, [2, 2, 2, None]),
        "latency_ms": (pl.Float64, [100.0, 110.0, 120.0, None]),
        "tags.page": (pl.Int64, [3, 4, None, None]),
        "tags.share": (pl.Float64, [0.5, 1.0, None, None]),
        "tags.new": (pl.Boolean, [True, False, None, None]),
        "tags.mixed": (pl.String, ["a", "1", None, None]),
        "tags.-2": (pl.Int64, [-2, None, None, None]),
        "tags.difficulty": (pl.String, [None, None, "easy", "easy"]),
        "scores.faithfulness.value": (pl.Float64, [-0.5, 0.0, None, None]),
        "scores.faithfulness.passed": (pl.Boolean, [False, None, None, None]),
        "scores.faithfulness.cause": (pl.String, [None, None, None, "timeout"]),
    }
    assert {name: (frame.schema[name], frame[name].to_list()) for name in expected} == expected
    assert [path.name for path in tmp_path.iterdir()] == ["rows.parquet"]


def test_parquet_is_written_in_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragstone.reports.tables.BATCH", 3)
    write_rows(Runs.of({"f1@5": [1] * 7}), tmp_path / "rows.parquet")
    ids = pl.read_parquet(tmp_path / "rows.parquet")["id"].to_list()
    assert ids == [f"q{number}" for number in range(7)]


def test_any_name_of_a_tag_is_a_column(make_run: MakeRun, tmp_path: Path) -> None:
    row = make_run().rows[0]
    tags = dict.fromkeys(("^.*$", "*", "", "a.b", "0", "="), 2**70)
    run = make_run([replace(row, sample=row.sample.model_copy(update={"tags": tags}))])
    write_rows(run, tmp_path / "rows.parquet")
    write_rows(run, tmp_path / "rows.csv")
    for found in (
        pl.read_parquet(tmp_path / "rows.parquet").to_dicts()[0],
        csv_lines(tmp_path / "rows.csv")[0],
    ):
        assert {found[f"tags.{name}"] for name in tags} == {f"{2**70}"}


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


def test_claims_in_every_format(run: Run, tmp_path: Path) -> None:
    write_claims(run, tmp_path / "claims.jsonl")
    lines = (tmp_path / "claims.jsonl").read_text(encoding="ascii").splitlines()
    assert json.loads(lines[0]) == CLAIM
    assert len(lines) == 2
    assert printed(lambda: write_claims(run, STDOUT)).splitlines() == lines
    write_claims(run, tmp_path / "claims.parquet")
    frame = pl.read_parquet(tmp_path / "claims.parquet")
    assert frame.to_dicts() == [json.loads(line) for line in lines]
    assert frame.schema["verified"] == pl.Boolean
    write_claims(run, tmp_path / "claims.csv")
    assert csv_lines(tmp_path / "claims.csv")[0] == {
        name: "true" if value is True else "" if value is None else f"{value}"
        for name, value in CLAIM.items()
    }


def test_a_run_without_rows_is_a_file_without_claims(make_run: MakeRun, tmp_path: Path) -> None:
    for ending in ("csv", "parquet", "jsonl"):
        write_claims(make_run([]), tmp_path / f"claims.{ending}")
        write_rows(make_run([]), tmp_path / f"rows.{ending}")
    assert pl.read_parquet(tmp_path / "claims.parquet").columns == list(CLAIM)
    metrics = strict(printed(lambda: write_json(make_run([]), STDOUT)))["metrics"]
    assert [metric["mean"] for metric in metrics.values()] == [None] * 3  # type: ignore[attr-defined]
    write_claims(ranked_run(10), tmp_path / "claims.csv")
    assert len((tmp_path / "claims.csv").read_text().splitlines()) == 1


def test_a_text_that_is_a_formula_gets_a_quote() -> None:
    for text in ("=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "＝1"):
        assert csv_safe(text) == f"'{text}"
    assert csv_safe("\r=1") == "'\n=1"
    for text in ("a=1", "'=1", ""):
        assert csv_safe(text) == text


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
        for write in (write_claims, write_rows, write_json):
            with pytest.raises(UsageError, match="cannot be written"):
                write(make_run(), path)
    assert len(list(tmp_path.iterdir())) == 3


# What the values of a stored run are written as is what they were before.


def test_a_stored_run_is_written_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranked_values, "BLOCK", 4)
    run = ranked_run(10)
    with Store.open(tmp_path / "runs.db") as store:
        save_ranking(store, run)
        for ending in ("csv", "jsonl"):
            write_rows(run, tmp_path / f"a.{ending}")
            write_rows(store.load("r1"), tmp_path / f"b.{ending}")
            written = (tmp_path / f"a.{ending}").read_text()
            assert written == (tmp_path / f"b.{ending}").read_text()


def test_a_failed_value_is_null_and_says_why(tmp_path: Path) -> None:
    run = ranked_run(10)
    write_rows(run, tmp_path / "rows.jsonl")
    first, second, *_ = (tmp_path / "rows.jsonl").read_text().splitlines()
    assert json.loads(first)["scores"]["ndcg@5"]["state"] == "undefined"
    why = {"state": "failed", "reason": "it raised", "cause": "metric_error"}
    assert json.loads(second)["scores"] == {
        "hit@5": {"value": 0.0, "state": "scored", "reason": None},
        "ndcg@5": {"value": None, **why},
    }
    write_rows(run, tmp_path / "rows.parquet")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert frame["scores.ndcg@5.value"].to_list() == [None, None, *(n / 10 for n in range(2, 10))]


def test_half_a_character_is_no_hindrance(tmp_path: Path) -> None:
    run = ranked_run(3)
    assert isinstance(run.rows, RankingScores)
    rows = replace(run.rows, ids=["q0", "half \ud83d", "q2"], texts={"q2": "what \ud83d?"})
    for ending in ("csv", "jsonl", "parquet"):
        write_rows(replace(run, rows=rows), tmp_path / f"rows.{ending}")
    frame = pl.read_parquet(tmp_path / "rows.parquet")
    assert frame["id"].to_list() == ["q0", f"half {MARK}", "q2"]
    assert frame["query"].to_list()[2] == f"what {MARK}?"


def refuse(name: str) -> float:
    raise AssertionError(f"{name} is no JSON")


def strict(text: str) -> dict[str, object]:
    return json.loads(text, parse_constant=refuse)


def test_a_line_a_row(make_run: MakeRun, tmp_path: Path) -> None:
    for name in ("rows.jsonl", "rows"):
        write_rows(make_run(), tmp_path / name)
        text = (tmp_path / name).read_bytes().decode("ascii")
        assert text == printed(lambda: write_rows(make_run(), STDOUT))
    rows = [strict(line) for line in text.splitlines()]
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


def test_numbers_that_json_lacks_are_null(make_run: MakeRun) -> None:
    contexts, tags = (Context(score=float("nan")),), {"n": float("inf")}
    sample = Sample(id="a", query="q", contexts=contexts, tags=tags)
    run = make_run([replace(make_run().rows[0], sample=sample)])
    row = strict(printed(lambda: write_rows(run, STDOUT)))
    assert row["contexts"] == [{"text": "", "id": None, "score": None}]
    assert row["tags"] == {"n": None}


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
    write(tmp_path / "plain.txt")
    assert path.stat().st_mode == (tmp_path / "plain.txt").stat().st_mode


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


class Linkless(type(Path())):
    """A path on a file system without hard links."""

    def hardlink_to(self, target: object) -> None:
        del target
        raise OSError(errno.EPERM, "Operation not permitted")


@each_case("kind", [Path, Linkless])
def test_keep_finds_a_name_that_is_free(kind: type[Path]) -> None:
    with TemporaryDirectory() as folder:
        path = kind(folder) / "x.txt"
        path.write_text("old")
        assert write_file(path, write, keep=True).name == "x-2.txt"
        assert write_file(path, write, keep=True).name == "x-3.txt"
        assert path.read_text() == "old"
        assert names(Path(folder)) == ["x-2.txt", "x-3.txt", "x.txt"]


def test_a_refusal_names_the_file_and_the_reason(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    within, long = tmp_path / "file" / "x.txt", tmp_path / f"{'x' * 300}" / "x.txt"
    with pytest.raises(UsageError, match=r"x\.txt cannot be written: .+; choose another path"):
        write_file(within, write)
    with pytest.raises(UsageError, match="name too long"):
        write_file(tmp_path / f"{'x' * 300}.txt", write)
    check_writable(tmp_path / "none" / "yet" / "x.txt")  # before the work
    assert names(tmp_path) == ["file"]
    for path, why in (
        (tmp_path, "is a folder; name a file in it"),
        (within, "is not a folder; choose another path"),
        (long, "cannot be written"),
    ):
        with pytest.raises(UsageError, match=why):
            check_writable(path)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(UsageError, match="is not writable"):
        check_writable(tmp_path / "x.txt")
