"""`ragstone collect` once more: what goes on, what is asked again, and what is begun anew."""

import json

import pytest
from tests.cli.collected import FAILING, asked, rows, target

from ragstone.datasets import load
from ragstone.evaluation.collect import ENDING, collection_settings
from ragstone.types.config import Plan


def test_after_a_crash_the_same_command_goes_on(ragstone, questions, tmp_path) -> None:
    body = (
        "import os, signal, time\n"
        "from pathlib import Path\n\n"
        "def ask(query):\n"
        "    with Path('asked.txt').open('a') as file:\n"
        "        file.write(query + '\\n')\n"
        "    if 'tower' in query and not Path('mended').exists():\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(1)\n"
        "    return {'response': 'yes', 'contexts': ['c']}\n"
    )
    name = target(tmp_path, body, "broken_off_once")
    arguments = ("collect", str(questions), "--target", name, "--concurrency", "1")
    said = ragstone(*arguments)
    part = next((tmp_path / "responses").glob(f"chat_responses_k5_*.json{ENDING}"))
    assert said.code == 130
    assert f"1 of 2 answers are kept in {part.relative_to(tmp_path)}" in said.err
    with part.open("a", encoding="utf-8") as file:
        file.write('{"index": 1, "id"')  # as a crash leaves a line
    (tmp_path / "mended").touch()
    said = ragstone(*arguments)
    assert said.code == 0, said.err
    assert "1 of 2 rows are there" in said.out
    assert load(part.with_suffix("")).samples[1].response == "yes"
    asked = (tmp_path / "asked.txt").read_text(encoding="utf-8").splitlines()
    assert [query.split()[0] for query in asked] == ["How", "Who", "Who"]
    assert not part.exists()


def test_answers_to_something_else_are_not_gone_on_with(ragstone, questions, tmp_path) -> None:
    name = target(tmp_path, "def ask(query):\n    return {'response': 'yes'}\n", "says_yes")
    part = tmp_path / f"out.json{ENDING}"
    part.write_text('{"mode": "search"}\n', encoding="utf-8")
    arguments = ("collect", str(questions), "--target", name, "-o", "out.json")
    said = ragstone(*arguments)
    assert said.code == 2
    assert "responses collected with other settings: " in said.err
    said = ragstone(*arguments, "--fresh", "--max-failure-rate", "100%")
    assert said.code == 0, said.err


def test_a_changed_question_is_not_gone_on_with(ragstone, questions, tmp_path) -> None:
    name = target(tmp_path, "def ask(query):\n    return {'response': 'yes'}\n", "says_yes_too")
    head = collection_settings(name, plan=Plan(), mode="chat")
    line = {"index": 0, "id": "1", "query": "another", "response": "yes"}
    part = tmp_path / f"out.json{ENDING}"
    part.write_text(f"{json.dumps(head)}\n{json.dumps(line)}\n", encoding="utf-8")
    said = ragstone("collect", str(questions), "--target", name, "-o", "out.json")
    assert said.code == 2
    assert "contains a response to 'another', but row 1 of the data is now 'How long" in said.err


def test_after_an_outage_only_what_failed_is_asked_again(ragstone, failing, tmp_path) -> None:
    data = rows(tmp_path / "a.jsonl", "pqrs")
    (tmp_path / "failing.txt").write_text("q s", encoding="utf-8")
    arguments = ("collect", data, "--target", failing, "-o", "out.json")
    said = ragstone(*arguments)
    assert said.code == 3
    assert "The same command asks again for what failed; with --fresh, for all rows." in said.out
    assert asked(tmp_path) == list("pqrs")
    (tmp_path / "failing.txt").write_text("", encoding="utf-8")
    assert ragstone(*arguments).code == 0
    assert asked(tmp_path) == list("qs")
    assert [sample.response for sample in load(tmp_path / "out.json").samples] == list("pqrs")
    assert not (tmp_path / f"out.json{ENDING}").exists()


def test_fewer_rows_lose_no_answer_to_others(ragstone, failing, tmp_path) -> None:
    data = rows(tmp_path / "a.jsonl", "pqrs")
    (tmp_path / "failing.txt").write_text("s", encoding="utf-8")
    arguments = ("collect", data, "--target", failing, "-o", "out.json")
    ragstone(*arguments)
    asked(tmp_path)
    said = ragstone(*arguments, "--limit", "2")
    assert (said.code, asked(tmp_path)) == (0, [])
    assert f"2 answers to rows beyond --limit stay in out.json{ENDING}" in said.out
    ragstone(*arguments)
    assert asked(tmp_path) == ["s"]


def test_collections_without_a_name_are_told_apart_by_data_and_target(
    ragstone, failing, tmp_path
) -> None:
    (tmp_path / "failing.txt").write_text("r", encoding="utf-8")
    for name, queries in (("a.jsonl", "pqr"), ("b.jsonl", "pq")):
        ragstone("collect", rows(tmp_path / name, queries), "--target", failing)
    assert asked(tmp_path) == sorted("pqrpq")
    other = target(tmp_path, FAILING, "failing_otherwise")
    ragstone("collect", "a.jsonl", "--target", other)
    assert asked(tmp_path) == list("pqr")
    assert len(list((tmp_path / "responses").glob("*.json"))) == 3
    ragstone("collect", "a.jsonl", "--target", failing)
    assert asked(tmp_path) == ["r"]
    assert len(list((tmp_path / "responses").glob("*.json"))) == 3


def test_a_collection_begun_anew_is_not_refused_the_next_time(ragstone, failing, tmp_path) -> None:
    arguments = ("collect", rows(tmp_path / "a.jsonl", "pq"), "--target", failing)
    (tmp_path / "failing.txt").write_text("q", encoding="utf-8")
    ragstone(*arguments)
    rows(tmp_path / "a.jsonl", "xy")
    assert "use --fresh to start again" in ragstone(*arguments).err
    assert ragstone(*arguments, "--fresh").code == 0
    assert ragstone(*arguments).code == 0
    assert asked(tmp_path) == sorted("pqxyxy")
    assert list((tmp_path / "responses").glob(f"*{ENDING}")) == []


@pytest.mark.parametrize("wrong", ["failing_nowhere:ask", "http://127.0.0.1:9"])
def test_a_target_that_cannot_be_asked_loses_nothing(
    ragstone, failing, tmp_path, wrong: str
) -> None:
    data = rows(tmp_path / "a.jsonl", "pq")
    (tmp_path / "failing.txt").write_text("q", encoding="utf-8")
    ragstone("collect", data, "--target", failing, "-o", "out.json")
    asked(tmp_path)
    said = ragstone("collect", data, "--target", wrong, "-o", "out.json", "--fresh")
    assert said.code == 2
    ragstone("collect", data, "--target", failing, "-o", "out.json")
    assert asked(tmp_path) == ["q"]


def test_a_whole_file_is_written_anew_only_if_that_is_said(ragstone, failing, tmp_path) -> None:
    data = rows(tmp_path / "a.jsonl", "pq")
    assert ragstone("collect", data, "--target", failing, "-o", "out.json").code == 0
    before = (tmp_path / "out.json").read_bytes()
    asked(tmp_path)
    (tmp_path / "failing.txt").write_text("x", encoding="utf-8")
    arguments = ("collect", rows(tmp_path / "b.jsonl", "x"), "--target", failing, "-o", "out.json")
    said = ragstone(*arguments)
    assert said.code == 2
    assert "out.json already exists; use another -o, or replace it with --fresh" in said.err
    assert (asked(tmp_path), (tmp_path / "out.json").read_bytes()) == ([], before)
    assert not (tmp_path / f"out.json{ENDING}").exists()
    assert ragstone(*arguments, "--fresh").code == 3
    assert asked(tmp_path) == ["x"]


def test_two_collections_of_one_second_are_two_files(ragstone, failing, tmp_path) -> None:
    data = rows(tmp_path / "a.jsonl", "p")
    for _ in range(3):
        assert ragstone("collect", data, "--target", failing).code == 0
    assert len(list((tmp_path / "responses").glob("*.json"))) == 3
