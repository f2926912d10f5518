"""`ragstone questions check`."""

import json
from pathlib import Path

import pytest
from tests.cli.collected import json_lines
from tests.cli.conftest import Command, Said
from tests.testsets.test_check import TEXTS

from ragstone.datasets import load

ROWS = [
    {"id": "good", "query": "How many watts does the Tarn 4 take?",
     "reference": "The Tarn 4 charges at up to 45 W.", "relevance": ["charge"]},
    {"id": "moved", "query": "How many SIM cards fit in?",
     "reference": "The tray holds two nano SIM cards.", "relevance": ["camera"]},
    {"id": "bad", "query": "What does a new battery cost?<script>alert(1)</script>",
     "reference": "A service point replaces it for 95 euros.", "relevance": ["battery"]},
    {"id": "warned", "query": "How long does it take?", "reference": "It takes 58 minutes.",
     "relevance": ["charge"]},
]  # fmt: skip


@pytest.fixture
def check(ragstone: Command, tmp_path: Path) -> Command:
    """Check rows against the documents."""
    texts = [{"id": name, "text": text} for name, text in TEXTS.items()]
    docs = json_lines(tmp_path / "chunks.jsonl", texts)

    def run(rows: list[dict], *options: str) -> Said:
        data = json_lines(tmp_path / "q.jsonl", rows)
        return ragstone("questions", "check", data, "--docs", docs, *options)

    return run


@pytest.mark.parametrize("suffix", [".jsonl", ".xlsx"])
def test_rows_are_checked_and_written(check: Command, suffix: str) -> None:
    fixed = f"fixed{suffix}"
    said = check(ROWS, "--write", fixed, "--html", "c.html", "--json", "c.json")
    assert said.code == 1, said.err
    assert "2 valid (50.0%), 1 valid with other relevant ids (25.0%), 1 rejected" in said.out
    assert "error in row bad: What does a new battery cost?" in said.out
    kept = [(row.id, row.relevance) for row in load(fixed).samples]
    assert kept == [("good", {"charge": 1}), ("moved", {"sim": 1}), ("warned", {"charge": 1})]
    (left,) = load(f"fixed-rejected{suffix}").samples
    why = str(left.tags["rejected_because"])
    assert why.startswith("unsupported: the documents do not support")
    found = json.loads(Path("c.json").read_text())
    assert [row["status"] for row in found["rows"]] == ["valid", "corrected", "rejected", "valid"]
    page = Path("c.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert '<mark class="evidence">A service point replaces it for 59 euros' in page


def test_a_good_set_exits_with_0(check: Command) -> None:
    said = check([ROWS[0]], "--write", "f.xlsx", "--json", "-")
    assert said.code == 0, said.err
    assert json.loads(said.out)["valid"] == 1
    assert not Path("f-rejected.xlsx").exists()


def test_both_files_are_written_or_none(check: Command) -> None:
    long = {**ROWS[2], "reference": "It costs 95 euros. " * 2000}
    assert check([ROWS[0], long], "--write", "f.xlsx").refuses("an Excel cell has at most 32,767")
    assert not list(Path().glob("f*"))


def test_what_cannot_be_used_is_refused_before_anything_is_written(ragstone, check) -> None:
    json_lines("q.jsonl", ROWS)
    Path("empty").mkdir()
    for arguments, message in (
        ("q.jsonl --docs empty", "there are no documents; documents are .txt"),
        ("q.jsonl --docs chunks.jsonl --write f.csv", ".csv cannot be written; use .jsonl, .xlsx"),
        ("q.jsonl --docs chunks.jsonl --write q.jsonl", "is an input file"),
    ):
        assert ragstone("questions", "check", *arguments.split()).refuses(message), arguments
    assert not list(Path().glob("f*"))


def test_rows_that_the_judge_did_not_answer_are_no_pass(check: Command, monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    Path("judge.yaml").write_text("retries: 0\n")
    said = check(ROWS[:1], "--model", "m", "--config", "judge.yaml", "--write", "f.jsonl")
    assert said.code == 3
    assert "1 row of 1 not checked; the first: not checked: extract_claims: unreachable" in said.err
    assert not Path("f.jsonl").exists()


def test_a_dry_run_makes_no_calls(check: Command) -> None:
    said = check(ROWS, "--dry-run", "--judge", "openai:gpt-4o-mini")
    assert said.code == 0
    assert "Dry run: no calls were made. Checking 4 rows with openai:gpt-4o-mini: " in said.out
