"""`ragstone questions check`."""

import json
from pathlib import Path

import pytest
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
def docs(tmp_path: Path) -> Path:
    path = tmp_path / "chunks.jsonl"
    path.write_text(
        "\n".join(json.dumps({"id": name, "text": text}) for name, text in TEXTS.items())
    )
    return path


def write(path: Path, rows: list[dict]) -> str:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("suffix", [".jsonl", ".xlsx"])
def test_rows_are_checked_and_written(ragstone, docs: Path, tmp_path: Path, suffix: str) -> None:
    data = write(tmp_path / "q.jsonl", ROWS)
    fixed = f"fixed{suffix}"
    said = ragstone(
        "questions", "check", data, "--docs", str(docs), "--write", fixed, "--html", "c.html",
        "--json", "c.json",
    )  # fmt: skip
    assert said.code == 1, said.err
    assert "4 rows, checked with offline against 5 documents (5 chunks)" in said.out
    assert "2 valid (50.0%), 1 valid with other relevant ids (25.0%), 1 rejected" in said.out
    assert "error in row bad: What does a new battery cost?" in said.out
    assert "the documents do not support 'A service point replaces it for 95 euros.'" in said.out
    kept = load(fixed).samples
    assert [(row.id, row.relevance) for row in kept] == [
        ("good", {"charge": 1}), ("moved", {"sim": 1}), ("warned", {"charge": 1}),
    ]  # fmt: skip
    (left,) = load(f"fixed-rejected{suffix}").samples
    assert str(left.tags["rejected_because"]).startswith(
        "unsupported: the documents do not support"
    )
    found = json.loads(Path("c.json").read_text())
    assert found["counts"] == {"unsupported": 1, "wrong_id": 1, "vague": 1}
    assert [row["status"] for row in found["rows"]] == ["valid", "corrected", "rejected", "valid"]
    assert found["rows"][0]["support"][0]["text"] == TEXTS["charge"].partition(". ")[0] + "."
    page = Path("c.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert '<mark class="evidence">A service point replaces it for 59 euros' in page


def test_a_good_set_exits_with_0(ragstone, docs: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "q.jsonl", [ROWS[0]])
    said = ragstone(
        "questions", "check", data, "--docs", str(docs), "--write", "f.xlsx", "--json", "-"
    )
    assert said.code == 0, said.err
    assert json.loads(said.out)["valid"] == 1
    assert "No findings." in said.err
    assert not Path("f-rejected.xlsx").exists()


def test_what_cannot_be_used_is_refused_before_anything_is_written(
    ragstone, docs: Path, tmp_path: Path
) -> None:
    data = write(tmp_path / "q.jsonl", ROWS)
    (tmp_path / "empty").mkdir()
    bad = tmp_path / "bad"
    bad.mkdir()
    for name in ("a.md", "b.md", "c.md"):
        (bad / name).write_bytes(b"\xff" * 9)
    for arguments, message in (
        ((data, "--docs", str(tmp_path / "empty")), "there are no documents; documents are .txt"),
        ((data, "--docs", str(bad)), "3 problems"),
        ((data, "--docs", data), "q.jsonl"),
        ((str(tmp_path / "x.jsonl"), "--docs", str(docs)), "there is no file"),
        ((data,), "Missing option '--docs'"),
        (
            (data, "--docs", str(docs), "--write", "f.csv"),
            ".csv cannot be written; use .jsonl, .xlsx",
        ),
        ((data, "--docs", str(docs), "--write", data), "is an input file"),
        ((data, "--docs", str(docs), "--html", "f.csv"), "use .html"),
    ):
        said = ragstone("questions", "check", *arguments)
        assert said.code == 2, arguments
        assert message in said.err + said.out, (arguments, said.err)
    assert not list(tmp_path.glob("f*"))


def test_a_dry_run_makes_no_calls(ragstone, docs: Path, tmp_path: Path) -> None:
    data = write(tmp_path / "q.jsonl", ROWS)
    said = ragstone("questions", "check", data, "--docs", str(docs), "--dry-run",
                    "--judge", "openai:gpt-4o-mini")  # fmt: skip
    assert said.code == 0
    assert "Dry run: no calls were made. Checking 4 rows with openai:gpt-4o-mini: " in said.out
    assert "(an estimate)" in said.out


def test_rows_that_the_judge_did_not_answer_are_no_pass(
    ragstone, docs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9")
    data = write(tmp_path / "q.jsonl", ROWS[:1])
    Path("judge.yaml").write_text("retries: 0\n")
    said = ragstone("questions", "check", data, "--docs", str(docs), "--model", "m",
                    "--config", "judge.yaml", "--write", "f.jsonl")  # fmt: skip
    assert said.code == 3
    assert "1 row of 1 not checked; the first: not checked: extract_claims: unreachable" in said.err
    assert not Path("f.jsonl").exists()


def test_both_files_are_written_or_none(ragstone, docs: Path, tmp_path: Path) -> None:
    long = {**ROWS[2], "reference": "It costs 95 euros. " * 2000}
    data = write(tmp_path / "q.jsonl", [ROWS[0], long])
    said = ragstone("questions", "check", data, "--docs", str(docs), "--write", "f.xlsx")
    assert said.code == 2
    assert "an Excel cell has at most 32,767" in said.err
    assert not list(tmp_path.glob("f*"))
