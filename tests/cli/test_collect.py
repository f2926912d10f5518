"""`ragstone collect`: what is asked and saved, and how that is judged; and recorded failures."""

import json

import pytest
from tests.cli.collected import asked, rows, target

from ragstone.datasets import load


def test_answers_of_a_chat_are_saved_and_read_back(ragstone, demo_url, questions, tmp_path) -> None:
    said = ragstone("collect", str(questions), "--api-url", demo_url, "-o", "out.jsonl")
    assert said.code == 0, said.err
    assert said.out.endswith("wrote out.jsonl\n")
    first, second = load(tmp_path / "out.jsonl").samples
    assert first.response
    assert first.contexts[0].id
    assert (first.relevance, first.tags["level"]) == ({"101": 1.0}, 1)
    assert (second.relevance, second.reference) == (None, "A guild.")


def test_a_search_has_a_ranking_and_no_answer(ragstone, demo_url, questions, tmp_path) -> None:
    arguments = ("--mode", "search", "--k", "3", "-t", "0.1", "-o", "out.jsonl")
    said = ragstone("collect", str(questions), "--api-url", demo_url, *arguments)
    assert said.code == 0, said.err
    sample = load(tmp_path / "out.jsonl").samples[0]
    assert "101" in sample.ranked_ids
    assert (sample.response, sample.contexts) == (None, None)
    said = ragstone("run", "out.jsonl", "-m", "hit", "--no-export")
    assert said.code == 0, said.err


def test_saved_answers_are_judged_without_asking_again(ragstone, demo_url, questions) -> None:
    ragstone("collect", str(questions), "--api-url", demo_url, "-o", "out.jsonl")
    said = ragstone("run", "out.jsonl", "-m", "faithfulness", "hit", "--no-export", "--json", "-")
    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert told["target"] is None
    assert told["metrics"]["faithfulness"]["n"] == 2
    assert told["metrics"]["hit@5"]["scored"] == 1


def test_without_a_name_the_file_is_named_after_mode_k_and_time(
    ragstone, failing, tmp_path
) -> None:
    data = rows(tmp_path / "a.jsonl", "pq")
    assert ragstone("collect", data, "--target", failing, "--k", "3").code == 0
    [made] = (tmp_path / "responses").iterdir()
    assert made.match("chat_responses_k3_????????_??????.jsonl")
    assert [sample.response for sample in load(made).samples] == ["p", "q"]


def test_the_data_are_never_written_over(ragstone, tmp_path) -> None:
    (tmp_path / "questions.jsonl").write_text('{"query": "q"}', encoding="utf-8")
    said = ragstone("collect", "questions.jsonl", "-o", "./questions.jsonl")
    assert said.code == 2
    assert "is an input file, so it cannot be written" in said.err


@pytest.mark.parametrize("name", ["o.json", "o.xlsx", "o"])
def test_a_file_that_could_not_be_judged_is_refused_first(
    ragstone, failing, tmp_path, name: str
) -> None:
    said = ragstone("collect", rows(tmp_path / "a.jsonl", "p"), "--target", failing, "-o", name)
    assert said.code == 2
    assert said.err == f"Error: -o {name}: the file must be .jsonl; use o.jsonl\n"
    assert asked(tmp_path) == []


def test_after_a_crash_the_same_command_goes_on(ragstone, questions, tmp_path) -> None:
    body = (
        "import os, signal, time\n"
        "from pathlib import Path\n\n"
        "def ask(query):\n"
        "    with Path('asked.txt').open('a') as file:\n"
        "        file.write(query + '\\n')\n"
        "    if 'tower' in query and not Path('mended').exists():\n"
        "        time.sleep(2)  # the first row is recorded meanwhile\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(1)\n"
        "    return {'response': 'yes', 'contexts': ['c']}\n"
    )
    name = target(tmp_path, body, "broken_off_once")
    arguments = ("collect", str(questions), "--target", name, "--concurrency", "1")
    assert ragstone(*arguments, "-o", "out.jsonl").code == 130
    other = ragstone("collect", rows(tmp_path / "b.jsonl", "x"), *arguments[2:], "-o", "out.jsonl")
    assert (other.code, "already exists" in other.err) == (2, True)
    (tmp_path / "mended").touch()
    said = ragstone(*arguments, "-o", "out.jsonl")
    assert said.code == 0, said.err
    assert [each.response for each in load(tmp_path / "out.jsonl").samples] == ["yes", "yes"]
    asked = (tmp_path / "asked.txt").read_text(encoding="utf-8").splitlines()
    assert [query.split()[0] for query in asked] == ["How", "Who", "Who"]


def test_a_call_that_failed_is_saved_and_fails_when_it_is_judged(ragstone, tmp_path) -> None:
    body = (
        "def ask(query):\n"
        "    if query == 'b':\n"
        "        raise ValueError('out of order')\n"
        "    return {'response': 'It is red.', 'contexts': ['It is red.']}\n"
    )
    name = target(tmp_path, body, "fails_for_b")
    share = ("--max-failure-rate", "1")
    collected = ragstone(
        "collect", rows(tmp_path / "a.jsonl", "ab"), "--target", name, *share, "-o", "o.jsonl"
    )
    assert collected.code == 0, collected.err
    said = ragstone("o.jsonl", "-m", "faithfulness", "--no-export", "--json", "-", *share)
    told = json.loads(said.out)["metrics"]["faithfulness"]
    assert (told["scored"], told["undefined"], told["failed"]) == (1, 0, 1)
    assert "the file records a failed call: fails_for_b:ask raise" in said.err
    assert "out of order" in (tmp_path / "o.jsonl").read_text()


def test_answers_that_were_saved_are_not_replaced(ragstone, failing, tmp_path) -> None:
    data = rows(tmp_path / "a.jsonl", "p")
    (tmp_path / "o.jsonl").write_text("precious")
    said = ragstone("collect", data, "--target", failing, "-o", "o.jsonl")
    assert (said.code, "already exists" in said.err) == (2, True)
    assert (tmp_path / "o.jsonl").read_text() == "precious"


# Calls that failed by what another tool's file says: no score, and what helps.


def test_calls_that_failed_in_another_tools_file_are_failed(ragstone, tmp_path) -> None:
    run = {"run_type": "chain", "inputs": {"question": "q"}}
    given = {"answer": "The sky is blue.", "documents": ["The sky is blue."]}
    good = json.dumps({**run, "outputs": given})
    bad = json.dumps({**run, "outputs": None, "error": "TimeoutError()"})
    (tmp_path / "runs.jsonl").write_text("\n".join([good] * 3 + [bad] * 7), encoding="utf-8")
    arguments = ("runs.jsonl", "-m", "faithfulness", "--fail-under", "faithfulness=0.8")
    said = ragstone("run", *arguments, "--no-export")
    assert said.code == 3
    assert "TimeoutError()" in said.out
    assert "7 of 10 scores of faithfulness failed, more than 10%" in said.err
    words = " ".join(said.out.split())
    told = "Next: 7 scores failed because runs.jsonl records failed calls: collect"
    assert told in words
    assert "--retry-failed" not in words
