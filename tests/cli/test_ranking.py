import json
import re
from pathlib import Path

import polars as pl
import pytest
from tests.cli.conftest import Command

QRELS = "q1 0 a 1\nq2 0 c 2\nq3 0 d 1\n"
A = "q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\nq2 Q0 c 1 1 x\n"
B = "q1 Q0 a 1 2 x\nq2 Q0 c 1 1 x\nq3 Q0 d 1 1 x\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in (("qrels", QRELS), ("a.run", A), ("b.run", B)):
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize("command", [("run",), ("rank",), ()])
def test_a_ranking_is_evaluated_and_printed(
    command: tuple[str, ...], files: Path, ragstone: Command
) -> None:
    said = ragstone(*command, "--qrels", "qrels", "--ranking", "a.run", "-m", "mrr", "-k", "5")
    assert said.code == 0
    assert re.search(r"mrr@5 +0\.5000", said.out)
    assert "3 queries are judged in qrels, 2 ranked; 2 are both" in said.out
    assert "Worst by mrr@5\nq3  0.0000\nq1  0.5000\n" in said.out
    assert not (files / ".ragstone").exists()


def test_two_rankings_are_compared_query_by_query(files: Path, ragstone: Command) -> None:
    both = ("--ranking", "a.run", "--ranking", "b.run")
    said = ragstone("rank", "--qrels", "qrels", *both, "-m", "mrr", "--json", "-")
    assert said.code == 0
    found = json.loads(said.out)
    moved = found["comparison"]["metrics"]["mrr@5"]
    assert (moved["n"], moved["wins"], moved["ties"]) == (3, 2, 1)
    assert moved["difference"] == pytest.approx(0.5)
    assert found["a"]["metrics"]["mrr@5"]["mean"] == 0.5
    assert "What moved" in said.err


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_each_querys_values_are_written(ending: str, files: Path, ragstone: Command) -> None:
    name = f"rows.{ending}"
    said = ragstone(
        *("rank", "--qrels", "qrels", "--ranking", "a.run", "--missing", "skip"),
        *("-m", "mrr", "hit", "--k", "1,5", "--rows", name),
    )
    assert said.code == 0
    assert f"wrote {name}" in said.out
    if ending == "jsonl":
        rows = [json.loads(line) for line in (files / name).read_text().splitlines()]
        values = [row["scores"]["mrr@5"]["value"] for row in rows]
        assert rows[2]["scores"]["hit@1"]["state"] == "undefined"
    else:
        read = pl.read_csv if ending == "csv" else pl.read_parquet
        frame = read(files / name)
        assert frame.columns[:3] == ["id", "query", "scores.mrr@1.value"]
        values = frame["scores.mrr@5.value"].to_list()
    assert values == [0.5, 1.0, None]


def test_gates_decide_the_exit_code(files: Path, ragstone: Command) -> None:
    asked = ("rank", "--qrels", "qrels", "--ranking", "a.run", "-m", "mrr")
    assert ragstone(*asked, "--fail-under", "mrr=0.5").code == 0
    said = ragstone(*asked, "--fail-under", "mrr=60%")
    assert said.code == 1
    assert "Gate FAILED: mrr@5" in said.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--ranking", "none"), "there is no file none"),
        (("--ranking", "a.run", "-m", "faithfulness"), "faithfulness needs"),
        (("--ranking", "a.run", "--rows", "rows.xlsx"), "values are written as"),
        (("--ranking", "a.run", "--json", "a.run"), "is read, and cannot be written"),
        (("--ranking", "a.run", "--map", "x"), "--map x: write FIELD=COLUMN"),
        (("--ranking", "a.run", "--k", "0"), "whole number from 1"),
        (("--ranking", "a.run", "-m", "mrr", "--fail-under", "ndcg=1"), "is not run"),
        ((), "Missing option '--ranking'"),
    ],
)
def test_what_cannot_be_done_is_exit_2(
    arguments: tuple[str, ...], told: str, files: Path, ragstone: Command
) -> None:
    said = ragstone("rank", "--qrels", "qrels", *arguments)
    assert said.code == 2
    assert told in said.err


def test_a_damaged_file_is_told_with_its_line(files: Path, ragstone: Command) -> None:
    (files / "a.run").write_text(A + "q1 Q0 a 3 0.5 x\n")
    said = ragstone("rank", "--qrels", "qrels", "--ranking", "a.run")
    assert said.code == 2
    assert "a.run: 1 problem" in said.err
    assert "line 4: document a of query q1 stands at line 2 already" in said.err
