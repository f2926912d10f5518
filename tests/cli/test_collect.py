"""`ragstone collect`: what is asked and saved, and how that is judged; and recorded failures."""

import json
from pathlib import Path

from tests.cases import each_case
from tests.cli.collected import asked, rows, target

from ragstone.datasets import load


def test_answers_of_a_chat_are_saved_and_read_back(ragstone, demo_url, questions, tmp_path) -> None:
    said = ragstone("collect", str(questions), "--api-url", demo_url, "-o", "out.jsonl")
    assert said.code == 0, said.err
    first, second = load(tmp_path / "out.jsonl").samples
    assert first.response
    assert (first.relevance, first.tags["level"]) == ({"101": 1.0}, 1)
    assert (second.relevance, second.reference) == (None, "A guild.")
    said = ragstone("run", "out.jsonl", "-m", "faithfulness", "hit", "--no-export", "--json", "-")
    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert told["target"] is None
    assert told["metrics"]["faithfulness"]["n"] == 2
    assert told["metrics"]["hit@5"]["scored"] == 1


def test_a_search_has_a_ranking_and_no_answer(ragstone, demo_url, questions, tmp_path) -> None:
    arguments = ("--mode", "search", "--k", "3", "-t", "0.1", "-o", "out.jsonl")
    said = ragstone("collect", str(questions), "--api-url", demo_url, *arguments)
    assert said.code == 0, said.err
    sample = load(tmp_path / "out.jsonl").samples[0]
    assert "101" in sample.ranked_ids
    assert (sample.response, sample.contexts) == (None, None)


def test_without_a_name_the_file_is_named_after_mode_k_and_time(ragstone, failing) -> None:
    data = rows(Path("a.jsonl"), "pq")
    assert ragstone("collect", data, "--target", failing, "--k", "3").code == 0
    [made] = Path("responses").iterdir()
    assert made.match("chat_responses_k3_????????_??????.jsonl")
    assert [sample.response for sample in load(made).samples] == ["p", "q"]


@each_case(
    ("name", "why"),
    [
        ("o.json", "Error: -o o.json: the file must be .jsonl; use o.jsonl\n"),
        ("./a.jsonl", "is an input file, so it cannot be written"),
        ("mine.jsonl", "already exists"),
    ],
)
def test_what_cannot_be_written_is_refused_first(ragstone, failing, tmp_path, name, why) -> None:
    (tmp_path / "mine.jsonl").write_text("precious")
    said = ragstone("collect", rows(tmp_path / "a.jsonl", "p"), "--target", failing, "-o", name)
    assert said.refuses(why)
    assert asked(tmp_path) == []
    assert (tmp_path / "mine.jsonl").read_text() == "precious"


CRASHING = """
import os, signal, time
from pathlib import Path

def ask(query):
    with Path("asked.txt").open("a") as file:
        file.write(query + "\\n")
    if "tower" in query and not Path("mended").exists():
        time.sleep(1)  # the first row is recorded meanwhile
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)
    return {"response": "yes", "contexts": ["c"]}
"""


def test_after_a_crash_the_same_command_goes_on(ragstone, questions, tmp_path) -> None:
    name = target(tmp_path, CRASHING, "broken_off_once")
    options = ("--target", name, "--concurrency", "1", "-o", "out.jsonl")
    assert ragstone("collect", str(questions), *options).code == 130
    other = ragstone("collect", rows(tmp_path / "b.jsonl", "x"), *options)
    assert other.refuses("already exists")
    (tmp_path / "mended").touch()
    said = ragstone("collect", str(questions), *options)
    assert said.code == 0, said.err
    assert [each.response for each in load(tmp_path / "out.jsonl").samples] == ["yes", "yes"]
    asked = (tmp_path / "asked.txt").read_text(encoding="utf-8").splitlines()
    assert [query.split()[0] for query in asked] == ["How", "Who", "Who"]


def test_a_call_that_failed_is_saved_and_fails_when_it_is_judged(ragstone, failing) -> None:
    Path("failing.txt").write_text("b")
    share = ("--max-failure-rate", "1")
    data = rows(Path("a.jsonl"), "ab")
    collected = ragstone("collect", data, "--target", failing, *share, "-o", "o.jsonl")
    assert collected.code == 0, collected.err
    said = ragstone("o.jsonl", "-m", "faithfulness", "--no-export", "--json", "-", *share)
    told = json.loads(said.out)["metrics"]["faithfulness"]
    assert told["failed"] == 1
    assert f"the file records a failed call: {failing[:20]}" in said.err
    assert "an outage" in Path("o.jsonl").read_text()
