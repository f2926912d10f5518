"""`ragstone collect`: what is asked, what is saved of it, and how that is judged."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.collected import asked, rows, target

from ragstone.cli.commands.collect import command
from ragstone.datasets import load
from ragstone.evaluation.collect import ENDING


def saved(path: Path) -> dict[str, list[dict[str, object]]]:
    return json.loads(path.read_text(encoding="utf-8"))


def test_answers_of_a_chat_are_saved_and_read_back(ragstone, demo_url, questions, tmp_path) -> None:
    said = ragstone("collect", str(questions), "--api-url", demo_url, "-o", "out.json")
    assert said.code == 0, said.err
    assert said.out == "wrote out.json: 2 rows\nJudge them: ragstone run out.json\n"
    made = saved(tmp_path / "out.json")
    told = made["metadata"]
    assert told["mode"] == "chat"
    assert (told["top_k"], told["total_queries"], told["failed_queries"]) == (5, 2, 0)
    first, second = made["responses"]
    assert first["ground_truth_ids"] == [101]
    assert (second["ground_truth_ids"], second["ground_truth_answer"]) == (None, "A guild.")
    assert len(first["retrieved_contexts"]) == len(first["retrieved_ids"])
    loaded = load(tmp_path / "out.json")
    assert loaded.collected
    assert loaded.samples[0].response == first["response"]
    assert loaded.samples[0].contexts[0].id == first["retrieved_ids"][0]
    assert loaded.samples[0].relevance == {"101": 1.0}
    assert loaded.samples[0].tags == {"level": 1}
    assert not (tmp_path / f"out.json{ENDING}").exists()


def test_a_search_has_a_ranking_and_no_answer(ragstone, demo_url, questions, tmp_path) -> None:
    arguments = ("--mode", "search", "--k", "3", "-t", "0.1", "-o", "out.json")
    said = ragstone("collect", str(questions), "--api-url", demo_url, *arguments)
    assert said.code == 0, said.err
    made = saved(tmp_path / "out.json")
    assert (made["metadata"]["mode"], made["metadata"]["score_threshold"]) == ("search", 0.1)
    assert made["responses"][0]["response"] is None
    sample = load(tmp_path / "out.json").samples[0]
    assert "101" in sample.ranked_ids
    assert sample.contexts is None


def test_saved_answers_are_judged_without_asking_again(ragstone, demo_url, questions) -> None:
    ragstone("collect", str(questions), "--api-url", demo_url, "-o", "out.json")
    said = ragstone("run", "out.json", "-m", "faithfulness", "hit", "--no-export", "--json", "-")
    assert said.code == 0, said.err
    told = json.loads(said.out)
    assert told["target"] is None
    assert told["metrics"]["faithfulness"]["n"] == 2
    assert told["metrics"]["hit@5"]["scored"] == 1


def test_a_metric_that_needs_an_answer_is_refused_for_a_search(
    ragstone, demo_url, questions
) -> None:
    ragstone("collect", str(questions), "--api-url", demo_url, "--mode", "search", "-o", "s.json")
    said = ragstone("run", "s.json", "-m", "faithfulness", "--no-export")
    assert said.code == 2
    assert (
        "cannot run faithfulness: s.json was collected with --mode search, so no row has response; "
        "collect with --mode chat"
    ) in said.err
    said = ragstone("run", "s.json", "-m", "hit", "--no-export")
    assert said.code == 0, said.err


def test_a_failed_row_is_saved_with_its_cause_and_fails_its_metrics(
    ragstone, questions, tmp_path
) -> None:
    body = (
        "def ask(query):\n"
        "    if 'tower' in query:\n"
        "        raise ValueError('no tower here')\n"
        "    return {'response': 'In 22 minutes.', 'contexts': ['It takes 22 minutes.']}\n"
    )
    name = target(tmp_path, body, "fails_for_one")
    said = ragstone("collect", str(questions), "--target", name, "-o", "out.json")
    assert said.code == 3
    assert "wrote out.json: 2 rows; 1 failed (" in said.out
    assert "Exit code 3: more than --max-failure-rate 10% allows failed" in said.err
    made = saved(tmp_path / "out.json")
    assert made["metadata"]["failed_queries"] == 1
    assert "no tower here" in str(made["responses"][1]["failures"])
    said = ragstone("run", "out.json", "-m", "faithfulness", "--no-export", "--rows", "-")
    rows = [json.loads(line) for line in said.out.splitlines() if line.startswith("{")]
    states = [row["scores"]["faithfulness"]["state"] for row in rows]
    assert states == ["scored", "failed"]
    assert "no tower here" in rows[1]["scores"]["faithfulness"]["reason"]


def test_the_data_are_never_written_over(ragstone, tmp_path) -> None:
    (tmp_path / "questions.json").write_text('[{"query": "q"}]', encoding="utf-8")
    said = ragstone("collect", "questions.json", "-o", "./questions.json")
    assert said.code == 2
    assert "is read, and cannot be written" in said.err


def test_its_page_of_help_groups_the_options() -> None:
    said = CliRunner().invoke(command, ["--help"]).output
    assert all(f"{heading}:" in said for heading in ("Data", "RAG system", "Result"))


@pytest.mark.parametrize("name", ["o.jsonl", "o.xlsx", "o"])
def test_a_file_that_could_not_be_judged_is_refused_first(
    ragstone, failing, tmp_path, name: str
) -> None:
    said = ragstone("collect", rows(tmp_path / "a.jsonl", "p"), "--target", failing, "-o", name)
    assert said.code == 2
    assert said.err == f"Error: -o {name}: saved responses are JSON; name a file .json\n"
    assert asked(tmp_path) == []


def test_where_all_failed_the_reason_is_told_and_the_metrics_fail_with_it(
    ragstone, failing, tmp_path
) -> None:
    (tmp_path / "failing.txt").write_text("p q", encoding="utf-8")
    data = rows(tmp_path / "a.jsonl", "pq")
    said = ragstone("collect", data, "--target", failing, "-o", "out.json")
    assert "  unreachable, first: " in said.out
    assert "raised ValueError: an outage" in said.out
    said = ragstone("run", "out.json", "-m", "faithfulness", "--no-export")
    assert said.code == 3
    assert "an outage" in said.out
