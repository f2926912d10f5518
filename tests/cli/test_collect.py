"""`ragstone collect`: what is asked, what is saved of it, and how that is judged."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from tests.cli.collected import FAILING, asked, rows, target

from ragstone.cli.commands.collect import command
from ragstone.datasets import load
from ragstone.evaluation.collect import ENDING, collection_settings
from ragstone.types.config import Plan


def saved(path: Path) -> dict[str, list[dict[str, object]]]:
    return json.loads(path.read_text(encoding="utf-8"))


def test_answers_of_a_chat_are_saved_and_read_back(ragstone, demo_url, questions, tmp_path) -> None:
    said = ragstone("collect", str(questions), "--api-url", demo_url, "-o", "out.json")
    assert said.code == 0, said.err
    assert said.out == "wrote out.json: 2 rows\nJudge them with: ragstone run out.json\n"
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
    assert "Exit code 3: more rows failed than --max-failure-rate 10% allows" in said.err
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
    assert "is an input file, so it cannot be written" in said.err


def test_its_page_of_help_groups_the_options() -> None:
    said = CliRunner().invoke(command, ["--help"]).output
    assert all(f"{heading}:" in said for heading in ("Data", "RAG system", "Result"))


@pytest.mark.parametrize(
    ("name", "fix"),
    [
        ("o.jsonl", "use -o o.json, then `ragstone convert o.json o.jsonl`"),
        ("my o.xlsx", "use -o 'my o.json', then `ragstone convert 'my o.json' 'my o.xlsx'`"),
        ("o", "use -o o.json"),
        (".", "use -o responses.json"),
    ],
)
def test_a_file_that_could_not_be_judged_is_refused_first(
    ragstone, failing, tmp_path, name: str, fix: str
) -> None:
    said = ragstone("collect", rows(tmp_path / "a.jsonl", "p"), "--target", failing, "-o", name)
    assert said.code == 2
    assert said.err == (
        f"Error: -o {name}: the file must be .json, because failures and request settings are "
        f"saved with the responses; {fix}\n"
    )
    assert asked(tmp_path) == []


def test_where_all_failed_the_reason_is_told_and_the_metrics_fail_with_it(
    ragstone, failing, tmp_path
) -> None:
    (tmp_path / "failing.txt").write_text("p q", encoding="utf-8")
    data = rows(tmp_path / "a.jsonl", "pq")
    said = ragstone("collect", data, "--target", failing, "-o", "out.json")
    assert "  target_error, first: " in said.out
    assert "raised ValueError: an outage" in said.out
    said = ragstone("run", "out.json", "-m", "faithfulness", "--no-export")
    assert said.code == 3
    assert "an outage" in said.out


# `ragstone collect` once more: what goes on, what is asked again, and what is begun anew.


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
    assert f"1 of 2 answers are saved in {part.relative_to(tmp_path)}" in said.err
    with part.open("a", encoding="utf-8") as file:
        file.write('{"index": 1, "id"')  # as a crash leaves a line
    (tmp_path / "mended").touch()
    said = ragstone(*arguments)
    assert said.code == 0, said.err
    assert "1 of 2 rows are done" in said.out
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
    assert (
        "Run the same command to retry failed rows, or add --fresh to call the target again "
        "for all rows." in said.out
    )
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
    assert f"2 answers for rows beyond --limit remain in out.json{ENDING}" in said.out
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
    assert (
        "out.json already exists; choose another file with -o, or replace it with --fresh"
        in said.err
    )
    assert (asked(tmp_path), (tmp_path / "out.json").read_bytes()) == ([], before)
    assert not (tmp_path / f"out.json{ENDING}").exists()
    assert ragstone(*arguments, "--fresh").code == 3
    assert asked(tmp_path) == ["x"]


def test_two_collections_of_one_second_are_two_files(ragstone, failing, tmp_path) -> None:
    data = rows(tmp_path / "a.jsonl", "p")
    for _ in range(3):
        assert ragstone("collect", data, "--target", failing).code == 0
    assert len(list((tmp_path / "responses").glob("*.json"))) == 3


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


def test_rows_that_fail_in_a_row_stop_the_collection(ragstone, tmp_path: Path) -> None:
    queries = [f"q{place}" for place in range(100)]
    (tmp_path / "failing.txt").write_text("\n".join(queries))
    (tmp_path / "data.jsonl").write_text("\n".join(json.dumps({"query": q}) for q in queries))
    name = target(tmp_path, FAILING, "collected_in_a_row")
    arguments = ("collect", "data.jsonl", "--target", name, "-o", "out.json")
    said = ragstone(*arguments)
    assert said.code == 3
    assert "Exit code 3: 20 consecutive rows failed (target_error): " in said.err
    assert "0 of 100 answers are saved in out.json.part; run the same command" in said.err
    (tmp_path / "failing.txt").write_text("")
    assert ragstone(*arguments).code == 0
    assert len(saved(tmp_path / "out.json")["responses"]) == 100


def test_rows_that_fail_again_are_asked_last(ragstone, tmp_path: Path) -> None:
    queries = [f"q{place}" for place in range(60)]
    (tmp_path / "failing.txt").write_text("\n".join(queries[:20]))
    (tmp_path / "data.jsonl").write_text("\n".join(json.dumps({"query": q}) for q in queries))
    name = target(tmp_path, FAILING, "collected_last")
    arguments = ("collect", "data.jsonl", "--target", name, "-o", "out.json", "--concurrency", "1")
    assert ragstone(*arguments).code == 3
    assert ragstone(*arguments).code == 3
    responses = saved(tmp_path / "out.json")["responses"]
    assert ["failures" in row for row in responses] == [True] * 20 + [False] * 40


def test_options_that_the_target_does_not_use_are_reported(ragstone, questions, tmp_path) -> None:
    body = "def ask(query):\n    return {'response': query, 'contexts': ['c']}\n"
    name = target(tmp_path, body, "plain_target")
    given = ("collect", str(questions), "--target", name, "-o", "out.json")
    said = ragstone(*given, "--max-retries", "3", "--timeout", "50")
    assert said.code == 0, said.err
    assert f"--max-retries has no effect: {name} does not use it" in said.err
    assert "--timeout" not in said.err
