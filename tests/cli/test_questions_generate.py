"""`ragstone questions generate`, with a judge on a real socket."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.testsets.question_server import QuestionServer, write_documents

from ragstone.datasets import load
from ragstone.testsets.documents import read_documents

MODEL = ("--model", "m", "--config", "judge.yaml")
"""Other settings of the judge are in a config file; fresh.yaml has no cache."""


@pytest.fixture
def author(ragstone, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[QuestionServer]:
    found = QuestionServer()
    found.start()
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setenv("OPENAI_BASE_URL", found.url)
    write_documents(tmp_path / "docs")
    Path("judge.yaml").write_text("retries: 0\n", encoding="utf-8")
    Path("fresh.yaml").write_text("retries: 0\ncache: false\n", encoding="utf-8")
    yield found
    found.stop()


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


@each_case("suffix", [".jsonl", ".xlsx"])
def test_a_set_is_ready_to_be_run(ragstone, author: QuestionServer, suffix: str) -> None:
    name = f"set{suffix}"
    said = ragstone("questions", "generate", "docs", "--n", "20", *MODEL, "-o", name)
    assert said.code == 0, said.err
    assert said.out == f"wrote {name}: 20 of 20\n"
    assert "20 questions from 48 chunks of 6 documents with openai:m: " in said.err
    rows = load(name).samples
    assert Counter(row.tags["type"] for row in rows) == {
        "single": 10, "multi": 4, "compare": 2, "unanswerable": 4,
    }  # fmt: skip
    corpus = read_documents("docs")
    for row in rows:
        for span in json.loads(str(row.tags["evidence"])):
            text = corpus.documents[span["document"]].text
            assert text[span["start"] : span["end"]] == span["text"]
        assert (row.relevance is None) == (row.reference_claims is None)
    record = json.loads(Path(f"{name}.provenance.json").read_text(encoding="utf-8"))
    assert (record["judge"], record["seed"], record["n"]) == ("openai:m", 0, 20)
    assert [each["name"] for each in record["documents"]] == [*corpus.documents]
    assert [each["sha256"] for each in record["documents"]] == [
        each.sha256 for each in corpus.documents.values()
    ]
    assert record["prompts"].keys() == record["judge_setups"].keys()
    assert len(record["prompts"]) == 4


def test_fewer_are_explained_and_kept_aside(ragstone, author: QuestionServer) -> None:
    def fault(asked):
        bad = asked.kind == "verify" and "Price" in (asked.fence("claims") or "")
        return (
            {"verdicts": [{"claim": n, "label": "CONTRADICTED"} for n in (1, 2)]} if bad else None
        )

    author.fault = fault
    args = ("docs", "--n", "96", "--types", "single=1", *MODEL)  # all sentences
    said = ragstone("questions", "generate", *args, "--json", "counts.json")
    assert said.code == 3
    counts = json.loads(Path("counts.json").read_text(encoding="utf-8"))
    made = counts["questions"]
    assert 30 <= made <= 84  # twelve are about a price, others near duplicates
    assert said.out.startswith(f"wrote questions.jsonl: {made} of 96: ")
    assert f"missing: {96 - made} single" in said.out
    rejected = lines("questions-rejected.jsonl")
    assert dict(Counter(each["reason"] for each in rejected)) == counts["rejected"]
    wrong = [each for each in rejected if each["reason"] == "unsupported"]
    assert all("Price" in each["reference"] for each in wrong)
    assert wrong[0]["detail"].startswith("CONTRADICTED: ")


def test_nothing_verified_writes_no_file(ragstone, author: QuestionServer) -> None:
    author.fault = lambda asked: "I am not sure." if asked.kind == "write" else None
    said = ragstone("questions", "generate", "docs", "--n", "5", *MODEL)
    assert said.code == 3
    assert said.out.startswith("nothing was written: 0 of 5: 5 without a reply")
    assert "failed 5 times in the same way" in said.out
    assert "write_questions: malformed" in said.err
    assert not Path("questions.jsonl").exists()
    assert Path("questions-rejected.jsonl").exists()


def test_a_spent_budget_keeps_what_is_proven_and_the_next_call_continues(
    ragstone, author: QuestionServer
) -> None:
    args = ("questions", "generate", "docs", "--n", "30", *MODEL)
    said = ragstone(*args, "--max-calls", "60")
    assert said.code == 3
    assert "the budget of 60 calls (max_calls) is spent" in said.out
    assert 0 < len(load("questions.jsonl").samples) < 30
    assert ragstone(*args).out == "wrote questions.jsonl: 30 of 30\n"
    assert max(Counter(each.prompt for each in author.asked).values()) == 1
    whole = Path("questions.jsonl").read_bytes()
    fewer = ragstone(*args, "--max-calls", "60", "--config", "fresh.yaml")
    assert fewer.code == 3
    assert fewer.out.startswith("nothing was written: ")
    assert "questions.jsonl was not changed (30 questions)." in fewer.err
    assert Path("questions.jsonl").read_bytes() == whole


def test_a_dry_run_makes_no_calls(ragstone, author: QuestionServer) -> None:
    said = ragstone("questions", "generate", "docs", *MODEL, "--dry-run", "--chunks", "c.jsonl")
    assert said.code == 0, said.err
    assert said.out.startswith("Dry run: no calls were made. 100 questions from 48 chunks")
    assert not author.asked
    assert not Path("c.jsonl").exists()


def test_languages_that_are_not_checked_are_noted(ragstone, author: QuestionServer) -> None:
    args = ("--languages", "German,de,Klingon", "--dry-run")
    said = ragstone("questions", "generate", "docs", *MODEL, *args)
    assert said.code == 0, said.err
    assert "whether questions are in German, Klingon is not checked; it is for these" in said.err


def test_chunks_can_be_indexed_and_read_again(ragstone, author: QuestionServer) -> None:
    args = ("--n", "6", *MODEL, "--types", "single=1")
    assert ragstone("questions", "generate", "docs", *args, "--chunks", "c.jsonl").code == 0
    chunks = lines("c.jsonl")
    assert [each["id"] for each in chunks] == [*read_documents("docs").by_id]
    said = ragstone("questions", "generate", "c.jsonl", *args, "-o", "again.jsonl")
    assert said.code == 0, said.err
    assert {key for row in load("again.jsonl").samples for key in row.relevance or ()} <= {
        each["id"] for each in chunks
    }


def test_a_file_of_somebody_else_is_not_replaced(ragstone, author: QuestionServer) -> None:
    out = Path("questions.jsonl")
    out.write_text("{}", encoding="utf-8")
    args = ("questions", "generate", "docs", "--n", "3", *MODEL)
    refused = ragstone(*args)
    assert refused.code == 2
    assert "was not generated or was changed since" in refused.err
    assert not author.asked
    out.unlink()
    assert ragstone(*args).code == ragstone(*args).code == 0
    assert ragstone(*args, "-o", "questions.xlsx").code == 0  # it has a record of its own
    assert ragstone(*args).code == 0
    out.write_text(out.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    assert ragstone(*args).code == 2


def test_other_files_of_somebody_else_are_not_replaced(ragstone, author: QuestionServer) -> None:
    args = ("questions", "generate", "docs", "--n", "3", *MODEL, "--chunks", "c.jsonl")
    for name in ("questions-rejected.jsonl", "questions.jsonl.provenance.json", "c.jsonl"):
        Path(name).write_text('{"mine": 1}\n', encoding="utf-8")
        refused = ragstone(*args)
        assert refused.code == 2
        assert f"{name} exists, and was not generated" in refused.err
        Path(name).unlink()
    assert not author.asked
    author.fault = lambda asked: "No." if asked.kind == "write" else None
    assert ragstone(*args).code == 3
    assert Path("questions-rejected.jsonl").exists()
    author.fault = lambda _asked: None
    assert ragstone(*args, "--config", "fresh.yaml").code == 0
    assert not Path("questions-rejected.jsonl").exists()


def test_the_examples_of_the_help_run(ragstone, author: QuestionServer) -> None:
    text = ragstone("questions", "generate", "--help").out
    examples = [
        line.split() for line in text.splitlines() if "ragstone questions generate d" in line
    ]
    assert len(examples) >= 3
    for example in examples:
        said = ragstone(*example[1:], "--dry-run")
        assert said.code == 0, said.err


@each_case(
    ("arguments", "why"),
    [
        (("nothing",), "there is no file nothing"),
        (("empty",), "there are no documents"),
        (("docs", "--types", "single=0", *MODEL), "the shares of the types add up to 0"),
        (("docs", "--types", "many=1", *MODEL), "no type of question named 'many'"),
        (("docs",), "which needs a language model; name one, such as openai:gpt-4o-mini, or check"),
        (
            ("docs", "--judge", "openai:m,offline", "--dry-run"),
            "cannot write and verify questions (write_questions",
        ),
        (("docs", *MODEL, "-o", "docs/set.jsonl"), "docs, an input folder"),
        (("docs", *MODEL, "-o", "set.pdf"), ".pdf cannot be written"),
        (("docs", *MODEL, "--chunks", "c.csv"), "the file must be .jsonl; use c.jsonl"),
        (("docs", *MODEL, "-o", "a.jsonl", "--chunks", "a.jsonl"), "would be written twice"),
        (("docs", *MODEL, "--chunks", "folder.jsonl"), "folder.jsonl is a folder"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_call(
    ragstone, author: QuestionServer, arguments: tuple[str, ...], why: str
) -> None:
    for name in ("empty", "folder.jsonl"):
        Path(name).mkdir(exist_ok=True)
    said = ragstone("questions", "generate", *arguments)
    assert (said.code, said.out) == (2, "")
    assert why in said.err
    assert not author.asked


def launched(author: QuestionServer, folder: Path) -> "subprocess.Popen[str]":
    environment = {**os.environ, "OPENAI_BASE_URL": author.url}
    words = ["-m", "ragstone", "questions", "generate", "docs", "--n", "40", *MODEL]
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for(author: QuestionServer, replies: int, process: "subprocess.Popen[str]") -> None:
    while len(author.finished) < replies:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


def test_after_a_crash_only_the_calls_in_flight_are_repeated(
    ragstone, author: QuestionServer, tmp_path: Path
) -> None:
    author.delay = 0.03
    for replies in (30, 90):
        with launched(author, tmp_path) as process:
            wait_for(author, replies, process)
            process.kill()
    with launched(author, tmp_path) as process:
        out, err = process.communicate()
    assert (process.returncode, out) == (0, "wrote questions.jsonl: 40 of 40\n"), err
    repeated = Counter(each.prompt for each in author.asked)
    assert sum(repeated.values()) - len(repeated) <= 2 * 8  # two crashes, eight at once
    crashed = Path("questions.jsonl").read_bytes()
    author.delay = 0.0
    assert (
        ragstone(
            "questions", "generate", "docs", "--n", "40", *MODEL, "--config", "fresh.yaml"
        ).code
        == 0
    )
    assert Path("questions.jsonl").read_bytes() == crashed


def test_ctrl_c_keeps_what_is_proven(author: QuestionServer, tmp_path: Path) -> None:
    author.delay = 0.05
    with launched(author, tmp_path) as process:
        wait_for(author, 60, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert "it was interrupted" in out
    assert "Interrupted; run the same command again to continue." in err
    assert 0 < len(load("questions.jsonl").samples) < 40
