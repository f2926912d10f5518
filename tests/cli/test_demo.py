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
    said = ragstone("demo", "--limit", "3", "--no-export", "-v")
    assert said.code == 0
    assert not list(tmp_path.iterdir())
