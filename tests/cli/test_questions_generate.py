"""`ragstone questions generate`, with a judge on a real socket."""

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.cases import each_case
from tests.cli.conftest import Command
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


@pytest.fixture
def generate(ragstone: Command, author: QuestionServer) -> Command:
    """Generate questions from documents."""
    return partial(ragstone, "questions", "generate")


def lines(name: str) -> list[dict]:
    return [json.loads(line) for line in Path(name).read_text(encoding="utf-8").splitlines()]


@each_case("suffix", [".jsonl", ".xlsx"])
def test_a_set_is_ready_to_be_run(generate: Command, suffix: str) -> None:
    name = f"set{suffix}"
    said = generate("docs", "--n", "20", *MODEL, "-o", name)
    assert (said.code, said.out) == (0, f"wrote {name}: 20 of 20\n"), said.err
    assert "20 questions from 48 chunks of 6 documents with openai:m: " in said.err
    rows = load(name).samples
    kinds = {"single": 10, "multi": 4, "compare": 2, "unanswerable": 4}
    assert Counter(row.tags["type"] for row in rows) == kinds
    corpus = read_documents("docs")
    for row in rows:
        for span in json.loads(str(row.tags["evidence"])):
            text = corpus.documents[span["document"]].text
            assert text[span["start"] : span["end"]] == span["text"]
        assert (row.relevance is None) == (row.reference_claims is None)
    record = json.loads(Path(f"{name}.provenance.json").read_text(encoding="utf-8"))
    assert (record["judge"], record["seed"], record["n"]) == ("openai:m", 0, 20)


def test_nothing_verified_writes_no_file(generate: Command, author: QuestionServer) -> None:
    author.fault = lambda asked: "I am not sure." if asked.kind == "write" else None
    said = generate("docs", "--n", "5", *MODEL, "--json", "counts.json")
    assert said.code == 3
    assert said.out.startswith("nothing was written: 0 of 5: 5 without a reply")
    assert not Path("questions.jsonl").exists()
    counts = json.loads(Path("counts.json").read_text(encoding="utf-8"))
    assert (counts["questions"], len(lines("questions-rejected.jsonl"))) == (0, 5)


def test_a_spent_budget_keeps_what_is_proven_and_the_next_call_continues(generate, author) -> None:
    args = ("docs", "--n", "12", *MODEL)
    said = generate(*args, "--max-calls", "36")
    assert said.code == 3
    assert "the budget of 36 calls (max_calls) is spent" in said.out
    assert 0 < len(load("questions.jsonl").samples) < 12
    assert generate(*args).out == "wrote questions.jsonl: 12 of 12\n"
    assert max(Counter(each.prompt for each in author.asked).values()) == 1
    whole = Path("questions.jsonl").read_bytes()
    assert generate(*args, "--max-calls", "36", "--config", "fresh.yaml").code == 3
    assert Path("questions.jsonl").read_bytes() == whole, "fewer do not replace more"


def test_a_dry_run_makes_no_calls(generate: Command, author: QuestionServer) -> None:
    said = generate("docs", *MODEL, "--dry-run", "--chunks", "c.jsonl")
    assert said.code == 0, said.err
    assert said.out.startswith("Dry run: no calls were made. 100 questions from 48 chunks")
    assert not author.asked
    assert not Path("c.jsonl").exists()


def test_chunks_can_be_indexed_and_read_again(generate: Command) -> None:
    args = ("--n", "6", *MODEL, "--types", "single=1")
    assert generate("docs", *args, "--chunks", "c.jsonl").code == 0
    chunks = {each["id"] for each in lines("c.jsonl")}
    assert chunks == {*read_documents("docs").by_id}
    said = generate("c.jsonl", *args, "-o", "again.jsonl")
    assert said.code == 0, said.err
    assert {key for row in load("again.jsonl").samples for key in row.relevance or ()} <= chunks


def test_files_of_somebody_else_are_not_replaced(generate, author: QuestionServer) -> None:
    args = ("docs", "--n", "3", *MODEL, "--chunks", "c.jsonl")
    names = ("questions.jsonl", "questions-rejected.jsonl", "questions.jsonl.provenance.json")
    for name in (*names, "c.jsonl"):
        Path(name).write_text('{"mine": 1}\n', encoding="utf-8")
        assert generate(*args).refuses(f"{name} exists, and was not generated"), name
        Path(name).unlink()
    assert not author.asked
    author.fault = lambda asked: "No." if asked.kind == "write" else None
    assert generate(*args).code == 3
    assert Path("questions-rejected.jsonl").exists()
    author.fault = lambda _asked: None
    assert generate(*args, "--config", "fresh.yaml").code == 0
    assert not Path("questions-rejected.jsonl").exists()
    with Path("questions.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    assert generate(*args).refuses("was changed since")


@each_case(
    ("arguments", "why"),
    [
        ("empty", "there are no documents"),
        ("docs", "needs a language model; name one, such as openai:gpt-4o-mini, or check"),
        ("docs --model m -o docs/set.jsonl", "docs, an input folder"),
    ],
)
def test_what_cannot_be_done_is_refused_before_any_call(generate, author, arguments, why) -> None:
    for name in ("empty", "folder.jsonl"):
        Path(name).mkdir(exist_ok=True)
    said = generate(*arguments.split())
    assert said.refuses(why)
    assert said.out == ""
    assert not author.asked


def test_ctrl_c_keeps_what_is_proven(author: QuestionServer, tmp_path: Path) -> None:
    author.delay = 0.05
    words = ["-m", "ragstone", "questions", "generate", "docs", "--n", "40", *MODEL]
    environment = {**os.environ, "OPENAI_BASE_URL": author.url}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, *words]
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process:
        while len(author.finished) < 60:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 130, err
    assert "it was interrupted" in out
    assert "Interrupted; run the same command again to continue." in err
    assert 0 < len(load("questions.jsonl").samples) < 40
