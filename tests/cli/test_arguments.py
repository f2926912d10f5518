from pathlib import Path

import pytest
from tests.cases import each_case

from ragstone.cli import COMMANDS, completed


@each_case(
    ("typed", "read"),
    [
        ("", "run"),
        ("--metric=hit recall -v", "run --metric=hit --metric recall -v"),
        ("--help", "--help"),
        ("--version", "--version"),
        ("demo --limit 3", "demo --limit 3"),
        ("data.xlsx", "run data.xlsx"),
        ("--metric hit --k 5", "run --metric hit --k 5"),
        ("--metric hit recall --k 5", "run --metric hit --metric recall --k 5"),
        ("run -m hit recall mrr@10 -v", "run -m hit -m recall -m mrr@10 -v"),
        ("run -m hit data.xlsx", "run -m hit data.xlsx"),
        ("run -m all -m hit recall", "run -m all -m hit -m recall"),
        (
            "-m precision@5,denominator=retrieved f1",
            "run -m precision@5,denominator=retrieved -m f1",
        ),
        ("run -m hit --limit 5 recall", "run -m hit --limit 5 recall"),
        ("--list-metrics", "run --list-metrics"),
    ],
)
def test_what_is_typed_becomes_what_click_reads(typed: str, read: str) -> None:
    assert completed(typed.split(), COMMANDS) == read.split()


def test_a_word_that_is_a_file_is_no_metric(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("answers").write_text("", encoding="utf-8")
    assert completed(["-m", "hit", "answers"], COMMANDS) == ["run", "-m", "hit", "answers"]
