import json
from collections.abc import Callable
from pathlib import Path

import openpyxl

Command = Callable[..., object]


def test_the_demo_prints_the_table_and_writes_two_workbooks(
    ragstone: Command, tmp_path: Path
) -> None:
    said = ragstone("demo")
    assert said.code == 0, said.err
    for name in ("hit@5", "recall@5", "precision@5", "f1@5", "mrr@5", "faithfulness"):
        assert name in said.out
    books = sorted((tmp_path / "results").glob("*.xlsx"))
    assert [path.name.split("_k5")[0] for path in books] == [
        "generation_combined",
        "retrieval_combined",
    ]
    for path in books:
        assert openpyxl.load_workbook(path).sheetnames[0] == "Summary"


def test_the_demo_can_be_short_and_leave_nothing(ragstone: Command, tmp_path: Path) -> None:
    said = ragstone("demo", "--limit", "3", "--no-export", "--no-store", "-v")
    assert said.code == 0
    assert not list(tmp_path.iterdir())


def test_two_demos_are_stored_and_can_be_compared(ragstone: Command) -> None:
    for retriever in ("good", "worse"):
        assert ragstone("demo", "--no-export", "--retriever", retriever).code == 0
    first = ragstone("runs", "--json", "-").out
    runs = [run["run_id"] for run in json.loads(first)]
    said = ragstone("compare", runs[1], runs[0], "--fail-on-regression")
    assert said.code == 1, said.err
    assert "hit@5" in said.out
    target = "demo, good retriever", "demo, worse retriever"
    again = ragstone("demo", "--no-export", "--retriever", "worse")
    assert again.code == 0
    assert f"{target[1]}: " in again.out
    changes = json.loads(ragstone("compare", runs[1], runs[0], "--json", "-").out)["changes"]
    assert [(each["name"], each["a"], each["b"]) for each in changes] == [("target", *target)]
    same = json.loads(ragstone("compare", runs[0], "last", "--json", "-").out)
    assert same["changes"] == []  # another port is no change
